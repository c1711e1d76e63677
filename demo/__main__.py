"""`script/demo [events]`: run a scenario of the demo. Exit status 0 only if every count is exact."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import requests

from config import embedded
from config.embedded.locks import exclusive
from config.embedded.var import var_dir
from demo.announcement import Announcement
from demo.checks import Checks, accounts
from demo.installation import DemoFailed, Installation
from demo.keywords import SETTINGS, Keywords, Service
from demo.receivers import HTTPReceiver, Reply, SMTPReceiver
from demo.receivers.github import GitHub
from demo.report import Count, say
from demo.scenario import Scenario
from demo.services import services

_LAST_LINES = 15


def reminders(opened: ExitStack) -> None:
    enter = opened.enter_context
    mail, pager, moved = enter(SMTPReceiver()), enter(HTTPReceiver()), enter(HTTPReceiver(Reply(404)))
    others, shop, source = enter(services()), enter(HTTPReceiver()), enter(HTTPReceiver(GitHub(accounts()).answer))
    leading = {name: url for service in others for name, url in service.settings.items()}
    site = _started(opened, EMAIL_URL=mail.url, GITHUB_URL=source.origin, **leading)
    say(f"  mail server           {mail.url}")
    say(f"  webhook receivers     {pager.url} and {moved.url}, which answers 404")
    labels = ", ".join(service.label for service in others)
    say(f"  other services        {labels}, GitHub and a shop, on local servers")
    counts = Scenario(site, mail, pager, moved, others).run() + Checks(site, shop).run()
    _conclude(counts + Announcement(site).run())


def events(opened: ExitStack) -> None:
    service = Service()
    receiver = opened.enter_context(HTTPReceiver(service.answer))
    site = _started(opened, DEMO_SERVICE=receiver.origin, **SETTINGS)
    _conclude(Keywords(site, service).run())


SCENARIOS = {"": reminders, "events": events}


def main() -> int:
    began = time.monotonic()
    scenario = SCENARIOS.get(" ".join(sys.argv[1:]))
    if scenario is None:
        sys.exit("script/demo, or script/demo events")
    say("Carillon's demo, with a real database, broker, worker and beat, and with real receivers.")
    say("Nothing leaves this machine.\n")
    with ExitStack() as opened:
        scenario(opened)
    say(f"\nEverything arrived once. It took {time.monotonic() - began:.0f} s.")
    return 0


def _started(opened: ExitStack, **settings: str) -> Installation:
    """An installation that runs until `opened` is closed."""
    began = time.monotonic()
    site = Installation("demo", **settings)
    opened.enter_context(_reporting_failure(site))
    opened.enter_context(site)
    site.start(site.web, site.worker, site.beat)
    say(f"Everything is ready after {time.monotonic() - began:.1f} s")
    say(f"  web, worker and beat  {site.url}, on an empty database")
    return site


def _conclude(counts: list[Count]) -> None:
    """Show the counts. Raises DemoFailed where one is wrong."""
    say("\nCounted")
    for count in counts:
        say(f"  {'ok   ' if count.exact else 'WRONG'}  {count}")
    if wrong := [str(count) for count in counts if not count.exact]:
        raise DemoFailed("; ".join(wrong))


@contextmanager
def _reporting_failure(site: Installation) -> Iterator[None]:
    """Report a failure with the last lines of each process."""
    try:
        yield
    except (DemoFailed, KeyError, requests.RequestException) as failure:
        for name, lines in site.logs.items():
            if lines:
                say(f"\n── the last lines of {name}")
                say("\n".join(list(lines)[-_LAST_LINES:]))
        say(f"\nThe demo failed: {failure.args[0]}")
        sys.exit(1)


def _stop_once(*_: object) -> None:
    """The first signal stops everything; another one must not interrupt that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _lock() -> int:
    """A descriptor that holds the lock of the demo."""
    var_dir().mkdir(parents=True, exist_ok=True)
    lock = exclusive(var_dir() / "demo")
    if lock is None:
        sys.exit("A demo runs in this checkout already.")
    return lock


if __name__ == "__main__":
    signal.signal(signal.SIGINT, _stop_once)
    signal.signal(signal.SIGTERM, _stop_once)
    lock = _lock()
    try:
        status = main()
    except KeyboardInterrupt:
        say("\nInterrupted. Everything is stopped.")
        status = 130
    finally:
        embedded.leave()
        os.close(lock)
    sys.exit(status)
