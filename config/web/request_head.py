"""Limits for a request's head: its size, and the time in which it arrives. The trailers of a body count too.

httptools has no limits, and copies what it has at each piece.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from config.web.response_headers import of_every_response

MOST = 64 * 1024
ARRIVES_WITHIN = 20.0  # seconds
# Seconds to read and drop what a client still sends: closing at once could lose our response.
_DRAIN = 5.0

_TEXTS = {
    400: "This is not a valid HTTP request.\n",
    408: f"The head of this request did not arrive within {ARRIVES_WITHIN:.0f} s. Try again.\n",
    431: f"The head of this request is larger than {MOST // 1024} KiB, the limit. Send fewer or shorter headers.\n",
}


class _TooLarge(Exception):
    """Reaches `send_400_response`, as each error in a callback of the parser does."""


class LimitedProtocol(HttpToolsProtocol):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._pending = 0  # bytes since the last head, or piece of a body, was complete
        self._in_head = True
        self._is_refused = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(ARRIVES_WITHIN, self._on_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._clear_timer()

    def shutdown(self) -> None:
        """Called when the server stops: a request that waits (config.asgi) is answered now, with what there is."""
        super().shutdown()
        if self.cycle and not self.cycle.response_complete:
            self.cycle.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._pending += len(data)
        super().data_received(data)
        if self._is_refused:
            return
        if self._pending > MOST:
            self._refuse(431)
        elif not self._pending and not self._in_head:
            self._clear_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(ARRIVES_WITHIN, self._on_timeout)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self.scope["extensions"] = {"upgrade": self.upgrade}  # type: ignore[dict-item]

    def upgrade(self, headers: Iterable[tuple[str, str]], protocol: Any) -> None:
        """Answer the request with 101, and give its connection to `protocol`. See config.asgi."""
        if self.transport.is_closing() or self._is_refused:
            return
        self._clear_timer()
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers).encode()
        self.transport.write(STATUS_LINE[101] + lines + b"\r\n")
        self.cycle.response_started = self.cycle.response_complete = True
        protocol.connections = self.connections
        self.connections.discard(self)
        self.connections.add(protocol)
        self.parser = None  # type: ignore[assignment]  # it refers to this
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)

    def _should_upgrade(self) -> bool:
        """Upgrades are requests like others until our application answers them."""
        return False

    def _unsupported_upgrade_warning(self) -> None:
        pass

    def on_headers_complete(self) -> None:
        if (
            self._pending > MOST
            and len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MOST
        ):
            raise _TooLarge  # it arrived in one piece
        self._in_head, self._pending = False, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._pending = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._pending = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Called for each error of the parser."""
        self._refuse(431 if self._pending > MOST else 400)

    def _on_timeout(self) -> None:
        self._timer = None
        if self.flow.read_paused:  # earlier requests of this connection are still answered
            self._timer = self.loop.call_later(ARRIVES_WITHIN, self._on_timeout)
        elif self._pending or self.cycle:
            self._refuse(408)
        else:
            self.transport.close()  # nothing was asked

    def _clear_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int) -> None:
        self._is_refused = True
        self._clear_timer()
        if self.transport.is_closing():
            return
        if (cycle := self.cycle) and not cycle.response_complete:
            if cycle.response_started or not cycle.more_body:  # ours would end up inside it, or look like it
                self.transport.close()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        self.logger.warning("%s refused with %d: %s", self.client, status, _TEXTS[status].strip())
        text = _TEXTS[status].encode()
        headers = {
            b"content-type": b"text/plain; charset=utf-8",
            b"content-length": b"%d" % len(text),
            b"connection": b"close",
            **of_every_response("https" if settings.SECURE_PROXY_SSL_HEADER else self.scheme),
        }
        lines = [b"%b: %b\r\n" % header for header in headers.items()]
        self.transport.write(b"".join((STATUS_LINE[status], *lines, b"\r\n", text)))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._timer = self.loop.call_later(_DRAIN, self.transport.close)


def install() -> None:
    """Have uvicorn use it, whatever its options say: it chooses its protocol before it loads the application."""
    HttpToolsProtocol.__new__ = lambda cls, *_, **__: object.__new__(LimitedProtocol)  # type: ignore[assignment]
