"""Heads of requests end, by size and by time, and cost no more than they are large."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from config.web import request_head

KIB = 1024
START = b"GET / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]


async def _application(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[[Client], bytes]:
    """Run a client against a server in this process, and return what it got."""
    monkeypatch.setattr(HttpToolsProtocol, "__new__", HttpToolsProtocol.__new__)
    request_head.install()

    async def run(client: Client) -> bytes:
        server = uvicorn.Server(uvicorn.Config(_application, port=0, lifespan="off", log_config=None))
        serving = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            return await asyncio.wait_for(client(reader, writer), 60)
        finally:
            writer.close()
            server.should_exit = True
            await serving

    return lambda client: asyncio.run(run(client))


def sends(*pieces: bytes, pause: float = 0.0) -> Client:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        return await reader.read()

    return client


@pytest.mark.parametrize(
    "pieces",
    [
        [START + b"a: " + b"x" * 65 * KIB + b"\r\n\r\n"],
        [START + b"a: ", *[b"x" * 60 * KIB] * 200],  # without end
        [b"GET /" + b"x" * 70 * KIB + b" HTTP/1.1\r\n"],
        [START + b"".join(b"h%d: x\r\n" % number for number in range(10_000)) + b"\r\n"],
        [START, *[b"h: x\r\n" * 500] * 30],
        [b"\r\n" * 40 * KIB],
        [CHUNKED + b"1\r\nx\r\n0\r\n", b"a: ", *[b"x" * 60 * KIB] * 10],  # trailers
        [CHUNKED + b"1;a=", *[b"x" * 60 * KIB] * 10],
    ],
)
def test_a_head_over_64_kib_is_refused_however_it_arrives(ask: Callable[[Client], bytes], pieces: list[bytes]) -> None:
    answer = ask(sends(*pieces, pause=0.001))
    assert answer.startswith(b"HTTP/1.1 431 "), answer
    assert b"x-content-type-options: nosniff" in answer and b"connection: close" in answer


@pytest.mark.parametrize(
    "pieces",
    [
        [START + b"a: " + b"x" * 60 * KIB + b"\r\nConnection: close\r\n\r\n"],
        [START, b"a: ", b"x" * 30 * KIB, b"x" * 30 * KIB, b"\r\nConnection: close\r\n\r\n"],
        [
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n",
            b"x" * 4_000_000,
            START + b"Connection: close\r\n\r\n",
        ],
        [
            CHUNKED,
            *[b"10\r\n" + b"x" * 16 + b"\r\n"] * 5_000,
            b"0\r\na: b\r\n\r\n",
            START + b"Connection: close\r\n\r\n",
        ],
    ],
)
def test_smaller_heads_and_large_bodies_pass(ask: Callable[[Client], bytes], pieces: list[bytes]) -> None:
    answer = ask(sends(*pieces))
    assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"ok")


@pytest.mark.parametrize("before", [b"", START + b"\r\n"])
@pytest.mark.parametrize("start", [START, b"G", b"\r\n"])
def test_a_head_that_does_not_arrive_in_time_is_refused(
    ask: Callable[[Client], bytes], monkeypatch: pytest.MonkeyPatch, before: bytes, start: bytes
) -> None:
    monkeypatch.setattr(request_head, "ARRIVES_WITHIN", 0.2)

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        if before:
            writer.write(before)
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
        writer.write(start)
        return await reader.read()

    assert ask(client).startswith(b"HTTP/1.1 408 ")


def test_a_connection_that_asks_nothing_is_closed_without_a_word(
    ask: Callable[[Client], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_head, "ARRIVES_WITHIN", 0.1)
    assert ask(sends()) == b""


def test_a_body_may_take_longer_than_a_head(ask: Callable[[Client], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_head, "ARRIVES_WITHIN", 0.1)
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"
    assert ask(sends(head, b"x", b"x", b"x", b"x", pause=0.15)).startswith(b"HTTP/1.1 200 ")


def test_nonsense_gets_400_with_the_headers_of_every_response(ask: Callable[[Client], bytes]) -> None:
    answer = ask(sends(b"nonsense\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 400 ") and b"content-security-policy: " in answer
