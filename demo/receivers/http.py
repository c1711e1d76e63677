"""An HTTP server that records what it gets and answers as it is told."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from standardwebhooks import Webhook


@dataclass(frozen=True)
class Received:
    """One request. `at` is the aware UTC instant of its first byte, `client` the sender's address and port."""

    at: datetime
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    client: tuple[str, int]

    def verified(self, secret: str) -> Any:
        """Return the JSON document, its signature verified. Raises standardwebhooks.WebhookVerificationError."""
        return Webhook(secret).verify(self.body, dict(self.headers))


@dataclass(frozen=True)
class Reply:
    """An ordinary answer."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"ok"

    def give(self, handler: _Handler) -> None:
        """Write it."""
        handler.send_response(self.status)
        for name, value in self.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(self.body)))
        handler.end_headers()
        handler.wfile.write(self.body)


def in_json(status: int, document: object, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status, {"Content-Type": "application/json", **(headers or {})}, json.dumps(document).encode())


@dataclass(frozen=True)
class Hang:
    """No answer until the receiver closes."""

    def give(self, handler: _Handler) -> None:
        """Wait."""
        handler.receiver.closing.wait()
        handler.close_connection = True


@dataclass(frozen=True)
class Drip:
    """An endless answer, a byte every `pause` seconds: of its headers, or of its body once the status is out."""

    part: str = "headers"
    status: int = 200
    pause: float = 0.05

    def give(self, handler: _Handler) -> None:
        """Write until the other side hangs up."""
        handler.send_response(self.status)
        handler.flush_headers()
        if self.part == "body":
            handler.send_header("Content-Length", "1000000")
            handler.end_headers()
        else:
            handler.wfile.write(b"X-Drip: ")
        with contextlib.suppress(OSError):
            while not handler.receiver.closing.wait(self.pause):
                handler.wfile.write(b".")
        handler.close_connection = True


@dataclass(frozen=True)
class Reset:
    """A connection reset once the whole request has been read."""

    def give(self, handler: _Handler) -> None:
        """Close with an RST instead of a FIN."""
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.close_connection = True
        os.close(handler.connection.detach())  # the server would shut it down politely before it closes it


Answer = Reply | Hang | Drip | Reset


class HTTPReceiver:
    """Listens on a free port of 127.0.0.1 while its block runs; with `tls`, under TLS.

    `answers` are given first, one a request; then `answer` for all that follow, or what it says of each request. Both
    may be changed at any time.
    """

    def __init__(
        self, answer: Answer | Callable[[Received], Answer] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.answer: Answer | Callable[[Received], Answer] = answer or Reply()
        self.answers: deque[Answer] = deque()
        self.requests: list[Received] = []
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"receiver": self}))
        self._scheme = "https" if tls else "http"
        if tls:
            # Shaking hands belongs to the connection's thread: a client that never does must not block the others.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def port(self) -> int:
        """The port that the kernel chose."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The address of a hook."""
        return f"{self.origin}/hooks/carillon"

    @property
    def origin(self) -> str:
        """The address without a path."""
        return f"{self._scheme}://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """How many connections brought the requests."""
        return len({request.client for request in self.requests})

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are what these servers are for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    receiver: HTTPReceiver

    def handle_one_request(self) -> None:
        """Note the instant of the first byte, then go on as usual."""
        try:
            self.rfile.peek(1)  # type: ignore[attr-defined]
        except OSError:
            self.close_connection = True
            return
        self.arrived = datetime.now(UTC)
        super().handle_one_request()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        client = (self.client_address[0], self.client_address[1])
        received = Received(self.arrived, self.command, self.path, dict(self.headers.items()), body, client)
        self.receiver.requests.append(received)
        try:
            answer = self.receiver.answers.popleft()
        except IndexError:
            told = self.receiver.answer
            answer = told(received) if callable(told) else told
        answer.give(self)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""
