"""Messages, servers and helpers for the tests of providers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.message import EmailMessage
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

from django.test import override_settings

from demo.receivers import HTTPReceiver, Received
from demo.receivers.http import Answer
from notifications.messages.message import Message
from notifications.net import http
from notifications.net.http import Response
from notifications.reasons import DeliveryCode
from work.reasons import Reason

KEY = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
DEADLINE = 0.4
SLACK = 4.0  # for a busy machine; without a deadline the tests take far longer
SLOT = datetime(2026, 3, 29, 7, 0, tzinfo=UTC)


def make_message(**overrides: Any) -> Message:
    values: dict[str, Any] = {
        "key": KEY,
        "subject": "Water the plants",
        "body": "The ferns too. ☂",
        "recipient": "Ada",
        "slot": SLOT,
    }
    return Message(**{**values, **overrides})


@contextmanager
def services_at(url: str) -> Iterator[None]:
    """The services with a fixed host are at `url`."""
    with override_settings(SERVICE_URLS=dict.fromkeys(("telegram", "discord", "slack", "github"), url)):
        yield


@contextmanager
def served(answer: Callable[[Received], Answer] | None) -> Iterator[HTTPReceiver]:
    """A local server that answers like a service; the ones with a fixed host are there too."""
    with HTTPReceiver(answer) as receiver, services_at(receiver.origin):
        yield receiver


@contextmanager
def raw_server(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """A TCP server on the loopback that passes each connection to `talk`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    try:
                        talk(client)
                    except OSError:
                        continue

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


_closed = socket.socket()
_closed.bind(("127.0.0.1", 0))


def closed_port() -> int:
    """A port that nothing listens on. It stays taken, so that no other process gets it meanwhile."""
    return int(_closed.getsockname()[1])


def post(url: str, deadline: float = 5.0, **headers: str) -> Response:
    return http.request("POST", url, body=b"{}", headers=headers, deadline=deadline)


def took(call: Callable[[], Any]) -> float:
    start = time.monotonic()
    call()
    return time.monotonic() - start


def read_request(client: socket.socket) -> None:
    while not client.recv(65536).endswith(b"{}"):
        pass


def text_of(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content())


def shape_of(page: str) -> list[str]:
    """The elements of a page in order, with the names of their attributes."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append(" ".join([tag, *(name for name, _ in attrs)]))

        def handle_endtag(self, tag: str) -> None:
            found.append(f"/{tag}")

        def handle_comment(self, data: str) -> None:
            found.append("comment")

    Reader().feed(page)
    return found


def answered(service: str, status: int, code: DeliveryCode = DeliveryCode.HTTP) -> Reason:
    """The reason for an answer that only its status describes."""
    return Reason(code, service=service, status=status)
