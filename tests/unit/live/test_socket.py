"""The server's side of a WebSocket, frame by frame."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from bench.sockets import CLOSE, PING, PONG, TEXT, frame
from live.socket import MOST_FRAMES, Socket


class Wire(asyncio.Transport):
    """Keeps what is written; `unread` is how much of it the peer has not taken."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.unread, self.is_closed, self.is_aborted = b"", 0, False, False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True


@pytest.fixture
def wire() -> Iterator[Wire]:
    return Wire()


@pytest.fixture
def socket(wire: Wire) -> Iterator[Socket]:
    made = Socket(1, "session", Mock(), 1)
    made.connection_made(wire)
    return made


async def hear(socket: Socket, *pieces: bytes) -> None:
    for piece in pieces:
        socket.data_received(piece)


def closed_with(wire: Wire) -> int:
    assert wire.is_closed
    assert wire.written[-4:-2] == bytes([0x80 | CLOSE, 2])
    return int.from_bytes(wire.written[-2:], "big")


def test_a_ping_is_answered_though_it_comes_byte_by_byte(socket: Socket, wire: Wire) -> None:
    socket.is_alive = False
    asyncio.run(hear(socket, *(bytes([one]) for one in frame(PING, b"ferns"))))
    assert wire.written == bytes([0x80 | PONG, 5]) + b"ferns"
    assert socket.is_alive and not wire.is_closed


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(TEXT, b"hello"), 1003),
        (frame(0x2, b"bytes"), 1003),
        (frame(TEXT, b"a", first=0) + frame(0x0, b"b"), 1003),
        (frame(TEXT, b"hello", masked=False), 1002),
        (frame(TEXT, b"hello", first=0xC0), 1002),  # compressed, which was not agreed
        (frame(PING, b"x" * 126), 1002),
        (frame(PING, b"", first=0), 1002),  # in parts
        (frame(TEXT, b"x" * 1_000_000)[:20], 1003),  # before the rest has come
        (frame(TEXT, b"x" * 1_000_000), 1003),
        (frame(TEXT, b"\xff"), 1007),
        (frame(PONG, b"") * (MOST_FRAMES + 1), 1008),
        (frame(CLOSE, (1000).to_bytes(2, "big")), 1000),
        (frame(CLOSE, b""), 1000),
        (b"GET / HTTP/1.1\r\n\r\n", 1002),
    ],
)
def test_what_no_page_sends_closes_the_socket(socket: Socket, wire: Wire, data: bytes, code: int) -> None:
    asyncio.run(hear(socket, data))
    assert closed_with(wire) == code
    before = wire.written
    asyncio.run(hear(socket, data))
    socket.send("{}")
    assert wire.written == before


def test_who_does_not_answer_a_ping_is_dropped_at_the_next(socket: Socket, wire: Wire) -> None:
    socket.ping()
    asyncio.run(hear(socket, frame(PONG, b"")))
    socket.ping()
    assert not wire.is_closed
    socket.ping()
    assert wire.is_aborted


def test_who_reads_nothing_is_dropped(socket: Socket, wire: Wire) -> None:
    socket.send("x" * 200)
    wire.unread = 100_000
    assert not wire.is_closed
    socket.send("x" * 200)
    assert wire.is_aborted


def test_texts_of_all_sizes_are_framed(socket: Socket, wire: Wire) -> None:
    socket.send("x" * 125)
    socket.send("x" * 126)
    assert wire.written == b"\x81\x7d" + b"x" * 125 + b"\x81\x7e\x00\x7e" + b"x" * 126
