"""`script/bench providers [--sends N] [--json]`: CPU of a send, in µs, against the plain call of the library beneath.

Ours is `provider.send`: address guard, deadline, limits, escapes, signature and all, down to the answer. The peer posts
what ours posted by `requests.Session.post`, writes an equal mail with `email` and `smtplib`, over a connection that
stays open too, or calls Apprise's service, which opens one for each message. Each sends to a server of its own on the
loopback. CPU is that of the sending thread. Connections are those of all providers together: ours opens one each, and
for mails one more for every hundred.
"""

from __future__ import annotations

import argparse
import os
import smtplib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import partial
from importlib.util import find_spec, module_from_spec
from statistics import median
from typing import Any
from uuid import UUID

os.environ["ALLOWED_NETWORKS"] = "127.0.0.0/8"

BLOCK = 25
"""Sends from one change between ours and the peer to the next: the machine's speed drifts."""

Pair = tuple[Callable[[], Any], Callable[[], Any], Callable[[], tuple[int, int]]]
"""Send by ours, send by the peer, and how many connections each has opened."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench providers")
    parser.add_argument("--sends", type=int, default=1_000, help="of each provider, and of each peer")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    from bench.environment import report, set_up

    set_up()
    ours: dict[str, Any] = {}
    peer: dict[str, Any] = {}
    connections = []
    for kind in ("webhook", "telegram", "discord", "slack", "ntfy", "email", "apprise"):
        with {"email": mails, "apprise": pushes}.get(kind, partial(posts, kind))() as (send, plain, opened):
            own, bare = measure(send, plain, options.sends)
            ours[kind], peer[kind] = round(own * 1e6), round(bare * 1e6)
            connections.append(opened())
    ours["connections"], peer["connections"] = map(sum, zip(*connections, strict=True))
    ratios = {kind: round(ours[kind] / peer[kind], 2) for kind in peer if kind != "connections"}
    report("providers", 0, ours, {"plain": peer}, ratios)


def measure(send: Callable[[], Any], plain: Callable[[], Any], sends: int) -> tuple[float, float]:
    """Seconds of CPU that one send takes: the medians over blocks, which take turns."""
    own, bare = [], []
    send(), plain()
    for _ in range(max(3, sends // BLOCK)):
        own.append(cpu(send))
        bare.append(cpu(plain))
    return median(own), median(bare)


def cpu(call: Callable[[], Any]) -> float:
    started = time.thread_time()
    for _ in range(BLOCK):
        call()
    return (time.thread_time() - started) / BLOCK


def message() -> Any:
    from notifications.messages.message import Message

    return Message(
        key=UUID("01890a5d-ac96-774b-bcce-b302099a8057"),
        subject="Water the plants",
        body="The ferns on the balcony too: half a can each, and none for the moss.\n" * 3,
        recipient="Ada",
        slot=datetime(2026, 3, 29, 7, tzinfo=UTC),
    )


@contextmanager
def posts(kind: str) -> Iterator[Pair]:
    """Send over HTTP; the peer posts the very bytes and headers that ours did."""
    import requests
    from django.test import override_settings

    from demo.receivers import HTTPReceiver, discord, ntfy, slack, telegram
    from notifications import providers
    from notifications.messages.message import Delivered

    forms = {
        "webhook": (None, {"url": "{origin}/hooks/carillon"}),
        "telegram": (telegram.answer, {"token": telegram.TOKEN, "chat": "1"}),
        "discord": (discord.answer, {"url": f"https://discord.com/api/webhooks/{discord.WEBHOOK}"}),
        "slack": (slack.answer, {"url": f"https://hooks.slack.com/services/{slack.WEBHOOK}"}),
        "ntfy": (ntfy.answer, {"server": "{origin}", "topic": ntfy.OPEN}),
    }
    answer, fields = forms[kind]
    with (
        HTTPReceiver(answer) as receiver,
        HTTPReceiver(answer) as other,
        override_settings(SERVICE_URLS={kind: receiver.origin}),
    ):
        provider = providers.get(kind)
        form = provider.form({name: value.replace("{origin}", receiver.origin) for name, value in fields.items()})
        if not form.is_valid():
            raise SystemExit(f"The form of {kind} does not take what it should: {form.errors.as_json()}")
        destination, said = provider.destination(form.cleaned_data), message()

        def send() -> None:
            outcome = provider.send(said, destination)
            if not isinstance(outcome, Delivered):
                raise SystemExit(f"{kind} did not deliver: {outcome}")

        send()
        [seen] = receiver.requests
        own = {"content-length", "host", "connection", "accept-encoding"}
        headers = {name: value for name, value in seen.headers.items() if name.lower() not in own}
        with requests.Session() as session:

            def plain() -> None:
                session.post(other.origin + seen.path, data=seen.body, headers=headers, timeout=20).raise_for_status()

            yield send, plain, lambda: (receiver.connections, other.connections)


@contextmanager
def pushes() -> Iterator[Pair]:
    """Send by a service of Apprise; the peer is the service itself, made once."""
    from demo.receivers import HTTPReceiver, gotify
    from notifications import providers
    from notifications.messages.message import Delivered

    with HTTPReceiver(gotify.answer) as receiver, HTTPReceiver(gotify.answer) as other:
        provider, said = providers.get("apprise"), message()
        destination = provider.destination({"url": f"gotify://127.0.0.1:{receiver.port}/{gotify.TOKEN}"})
        kind = untouched("gotify").NotifyGotify
        service = kind(**kind.parse_url(f"gotify://127.0.0.1:{other.port}/{gotify.TOKEN}"))
        service.throttle = lambda *_, **__: None  # it would sleep

        def send() -> None:
            outcome = provider.send(said, destination)
            if not isinstance(outcome, Delivered):
                raise SystemExit(f"Apprise did not deliver: {outcome}")

        def plain() -> None:
            if not service.notify(body=said.body, title=said.subject):
                raise SystemExit("Apprise did not deliver by itself")

        yield send, plain, lambda: (receiver.connections, other.connections)


def untouched(name: str) -> Any:
    """The module of an Apprise service with the real `requests`, which the loaded one does not have."""
    spec = find_spec(f"apprise.plugins.{name}")
    if spec is None or spec.loader is None:
        raise SystemExit(f"Apprise has no {name} any more")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def mails() -> Iterator[Pair]:
    """Send by email; the peer writes the same text and the same HTML."""
    from django.template.loader import render_to_string
    from django.test import override_settings

    from demo.receivers import SMTPReceiver
    from notifications import providers
    from notifications.messages.message import Delivered, Destination

    with SMTPReceiver() as receiver, SMTPReceiver() as other:
        server = {
            "EMAIL_BACKEND": "notifications.net.smtp.Backend",
            "EMAIL_HOST": "127.0.0.1",
            "EMAIL_PORT": receiver.port,
        }
        provider, ada, said = providers.get("email"), Destination({"address": "ada@example.org"}), message()
        page = render_to_string("notifications/mail.html", {"subject": said.subject, "message": said})

        def send() -> None:
            if not isinstance(provider.send(said, ada), Delivered):
                raise SystemExit("The mail server did not take a mail")

        with override_settings(**server), smtplib.SMTP("127.0.0.1", other.port) as session:

            def plain() -> None:
                mail = EmailMessage()
                mail["Subject"], mail["From"], mail["To"] = said.subject, "carillon@localhost", "ada@example.org"
                mail["Message-ID"] = f"<{said.key}@localhost>"
                mail.set_content(said.body)
                mail.add_alternative(page, subtype="html")
                session.send_message(mail)

            yield send, plain, lambda: (receiver.connections, other.connections)


if __name__ == "__main__":
    main()
