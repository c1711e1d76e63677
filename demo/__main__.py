"""Set the stage, play, count. Exit status 0 only if every count is exact."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import requests

from config import embedded
from config.embedded.locks import exclusive
from config.embedded.var import var_dir
from demo.play import Play
from demo.receivers import HTTPReceiver, Reply, SMTPReceiver
from demo.report import say
from demo.services import services
from demo.stage import Stage, StageFailed

_LAST_WORDS = 15


def main() -> int:
    began = time.monotonic()
    say("Carillon's demo: one reminder, from sign-up to delivery, with a real database, broker, worker and beat,")
    say("and with real receivers, which this program starts itself. Nothing leaves this machine.\n")
    with SMTPReceiver() as mail, HTTPReceiver() as pager, HTTPReceiver(Reply(404)) as moved, services() as others:
        leading = {name: url for service in others for name, url in service.settings.items()}
        stage = Stage("demo", EMAIL_URL=mail.url, **leading)
        with _telling_why(stage), stage:
            stage.start(stage.web, stage.worker, stage.beat)
            say(f"The stage is set after {time.monotonic() - began:.1f} s")
            say(f"  web, worker and beat  {stage.url}, on an empty database")
            say(f"  mail server           {mail.url}")
            say(f"  webhook receivers     {pager.url} and {moved.url}, which answers 404")
            say(f"  other services        {', '.join(service.label for service in others)}, played by servers here")
            counts = Play(stage, mail, pager, moved, others).run()
            say("\nCounted")
            for count in counts:
                say(f"  {'ok   ' if count.exact else 'WRONG'}  {count}")
            if wrong := [str(count) for count in counts if not count.exact]:
                raise StageFailed("; ".join(wrong))
    say(f"\nAll of it happened, and each channel got it once. It took {time.monotonic() - began:.0f} s.")
    return 0


@contextmanager
def _telling_why(stage: Stage) -> Iterator[None]:
    """What failed is said together with the last lines of each process."""
    try:
        yield
    except (StageFailed, KeyError, requests.RequestException) as failure:
        for name, lines in stage.logs.items():
            if lines:
                say(f"\n── the last lines of {name}")
                say("\n".join(list(lines)[-_LAST_WORDS:]))
        say(f"\nThe demo failed: {failure.args[0]}")
        sys.exit(1)


def _stop_once(*_: object) -> None:
    """The first signal unwinds everything; another one must not interrupt the unwinding."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _alone() -> int:
    """A descriptor that holds the demo's lock: two on one stage would count each other's."""
    var_dir().mkdir(parents=True, exist_ok=True)
    lock = exclusive(var_dir() / "playing")
    if lock is None:
        sys.exit("A demo runs in this checkout already.")
    return lock


if __name__ == "__main__":
    signal.signal(signal.SIGINT, _stop_once)
    signal.signal(signal.SIGTERM, _stop_once)
    lock = _alone()
    try:
        status = main()
    except KeyboardInterrupt:
        say("\nInterrupted. Everything is stopped.")
        status = 130
    finally:
        embedded.leave()
        os.close(lock)
    sys.exit(status)
