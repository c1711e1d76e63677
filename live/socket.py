"""A WebSocket of an open page. wsproto reads and writes its frames; browsers send only pings, pongs and the close.

It takes over the connection of a request, and needs no task, queue or thread while it is idle.
"""

import asyncio
from collections.abc import MutableSet
from typing import Any, Protocol
from uuid import UUID

from wsproto.connection import Connection, ConnectionType
from wsproto.events import CloseConnection, Event, Message, Ping, TextMessage
from wsproto.frame_protocol import CloseReason

MOST_FRAMES = 60
"""Frames of a browser between two pings of ours."""
SESSION_ENDED = 4401
_MOST_UNSENT = 64 * 1024  # bytes that a peer has not read
_CLOSES_WITHIN = 5.0  # seconds


class Owner(Protocol):
    def add(self, socket: "Socket") -> object: ...
    def remove(self, socket: "Socket") -> object: ...


class Socket(asyncio.Protocol):
    """One connection, which its owner knows while it is open. `is_alive`: a frame has come since the last ping.

    `user`: the account, for which `person` acts. `board`: the one that the page shows, of that account.
    """

    __slots__ = (
        *("_frames", "_owner", "_received", "_transport"),
        *("board", "connections", "is_alive", "person", "session", "user"),
    )

    def __init__(self, user: int, session: str, owner: Owner, person: int, board: UUID | None = None) -> None:
        self.user, self.session, self._owner, self.person, self.board = user, session, owner, person, board
        self.connections: MutableSet[Any] = set()  # the server's, which are closed when it stops
        self.is_alive = True
        self._transport: asyncio.Transport | None = None
        self._frames, self._received = Connection(ConnectionType.SERVER), 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._owner.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections.discard(self)
        self._owner.remove(self)

    def shutdown(self) -> None:
        """Called when the server stops."""
        self.close(CloseReason.GOING_AWAY)

    def send(self, text: str) -> None:
        self._write(TextMessage(text))

    def ping(self) -> None:
        """Drop the connection if nothing has come since the last one."""
        if not self.is_alive:
            self._abort()
            return
        self.is_alive, self._received = False, 0
        self._write(Ping())
        # Scripts see no pings: this is how they know that the connection works.
        self.send("{}")

    def close(self, code: int) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._write(CloseConnection(code))
        self._transport.close()
        asyncio.get_running_loop().call_later(_CLOSES_WITHIN, self._abort)

    def data_received(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._frames.receive_data(data)
        for event in self._frames.events():
            self.is_alive = True
            self._received += 1
            if self._received > MOST_FRAMES:
                self.close(CloseReason.POLICY_VIOLATION)
            elif isinstance(event, Ping):
                self._write(event.response())
            elif isinstance(event, CloseConnection):  # theirs, or because of what they sent
                has_code = event.code != CloseReason.NO_STATUS_RCVD
                self.close(event.code if has_code else CloseReason.NORMAL_CLOSURE)
            elif isinstance(event, Message):  # also the first piece of one: nothing is asked over a socket
                self.close(CloseReason.UNSUPPORTED_DATA)
            if self._transport.is_closing():
                return

    def _write(self, event: Event) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(self._frames.send(event))
        if self._transport.get_write_buffer_size() > _MOST_UNSENT:
            self._abort()

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
