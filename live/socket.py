"""The server's side of a WebSocket (RFC 6455), without extensions: what browsers send is short and rare.

It takes over the connection of a request, and needs no task, queue or thread while it is idle.
"""

import asyncio
import base64
import hashlib
from collections.abc import MutableSet
from typing import Any, Protocol

LARGEST = 4_096
"""Bytes of a message from a browser."""
MOST_FRAMES = 60
"""Frames of a browser between two pings of ours."""
_MOST_UNSENT = 64 * 1024  # bytes that a peer has not read
_CLOSES_WITHIN = 5.0  # seconds

_CONTINUED, _TEXT, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x8, 0x9, 0xA
GOING_AWAY, PROTOCOL_ERROR, UNSUPPORTED, NOT_TEXT, POLICY, TOO_LARGE = 1001, 1002, 1003, 1007, 1008, 1009
SESSION_ENDED = 4401


def accept_key(key: str) -> str:
    """The value of `Sec-WebSocket-Accept` for a browser's key."""
    digest = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode(), usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()


class _Refused(Exception):
    """The argument is the code to close with."""


class Owner(Protocol):
    def add(self, socket: "Socket") -> object: ...
    def remove(self, socket: "Socket") -> object: ...


class Socket(asyncio.Protocol):
    """One connection, which its owner knows while it is open. `is_alive`: a frame has come since the last ping."""

    __slots__ = ("_buffer", "_frames", "_message", "_owner", "_transport", "connections", "is_alive", "session", "user")

    def __init__(self, user: int, session: str, owner: Owner) -> None:
        self.user, self.session, self._owner = user, session, owner
        self.connections: MutableSet[Any] = set()  # the server's, which are closed when it stops
        self.is_alive = True
        self._transport: asyncio.Transport | None = None
        self._buffer, self._message, self._frames = b"", b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._owner.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections.discard(self)
        self._owner.remove(self)

    def shutdown(self) -> None:
        """Called when the server stops."""
        self.close(GOING_AWAY)

    def send(self, text: str) -> None:
        self._write(_TEXT, text.encode())

    def ping(self) -> None:
        """Drop the connection if nothing has come since the last one."""
        if not self.is_alive:
            self._abort()
            return
        self.is_alive, self._frames = False, 0
        self._write(_PING, b"")
        # Scripts see no pings: this is how they know that the connection works.
        self.send("{}")

    def close(self, code: int) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._write(_CLOSE, code.to_bytes(2, "big"))
        self._transport.close()
        asyncio.get_running_loop().call_later(_CLOSES_WITHIN, self._abort)

    def data_received(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._buffer += data
        try:
            while self._take_frame():
                pass
        except _Refused as refused:
            self._buffer = b""
            self.close(refused.args[0])

    def _take_frame(self) -> bool:
        """Take one frame from the buffer; False if it has not arrived whole."""
        held = self._buffer
        if len(held) < 2:
            return False
        is_last, kind, length, start = held[0] & 0x80, held[0] & 0x0F, held[1] & 0x7F, 2
        if held[0] & 0x70 or not held[1] & 0x80:  # an extension, or not masked
            raise _Refused(PROTOCOL_ERROR)
        if kind >= _CLOSE and (length > 125 or not is_last):
            raise _Refused(PROTOCOL_ERROR)
        if length >= 126:
            start += 2 if length == 126 else 8
            if len(held) < start:
                return False
            length = int.from_bytes(held[2:start], "big")
        if length + len(self._message) > LARGEST:
            raise _Refused(TOO_LARGE)
        if len(held) < start + 4 + length:
            return False
        mask, masked = held[start : start + 4], held[start + 4 : start + 4 + length]
        self._buffer = held[start + 4 + length :]
        self._frames += 1
        if self._frames > MOST_FRAMES:
            raise _Refused(POLICY)
        self.is_alive = True
        self._handle(kind, bool(is_last), bytes(byte ^ mask[place % 4] for place, byte in enumerate(masked)))
        return True

    def _handle(self, kind: int, is_last: bool, payload: bytes) -> None:
        if kind == _PING:
            self._write(_PONG, payload)
        elif kind == _CLOSE:
            raise _Refused(int.from_bytes(payload[:2], "big") if len(payload) >= 2 else 1000)
        elif kind in (_TEXT, _CONTINUED):
            self._message += payload
            if is_last:
                self._message = b""
                raise _Refused(UNSUPPORTED)  # nothing is asked over a socket
        elif kind != _PONG:
            raise _Refused(UNSUPPORTED)

    def _write(self, kind: int, payload: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        size = len(payload)
        length = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big")
        self._transport.write(bytes([0x80 | kind]) + length + payload)
        if self._transport.get_write_buffer_size() > _MOST_UNSENT:
            self._abort()

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
