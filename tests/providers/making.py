"""What the tests of providers and of the door make."""

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
from notifications.message import Message
from notifications.net import http
from notifications.net.http import Response

KEY = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
DEADLINE = 0.4
SLACK = 1.5  # for a busy machine; a deadline that does not hold is later by far more
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
def service(kind: str, url: str) -> Iterator[None]:
    """The service of a provider with one address of its own is at `url`."""
    with override_settings(SERVICE_URLS={kind: url}):
        yield


@contextmanager
def stand_in(kind: str, answer: Callable[[Received], Answer]) -> Iterator[HTTPReceiver]:
    """A local server stands where the service is."""
    with HTTPReceiver(answer) as receiver, service(kind, receiver.origin):
        yield receiver


def out_of_reach(kind: str) -> Iterator[None]:
    """The service cannot be reached, each time for another reason."""
    for url in (f"http://127.0.0.1:{closed_port()}", "http://nowhere.invalid", "http://10.0.0.1"):
        with service(kind, url):
            yield


@contextmanager
def raw_server(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """A TCP server on the loopback that lets `talk` do with each connection what no HTTP or SMTP library would."""
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
    """What of a page is markup: its elements, in order, with the names of their attributes."""
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
