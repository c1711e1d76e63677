"""Clients of the sockets of open pages: for `script/bench live`, and for the tests."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections import Counter
from contextlib import suppress
from typing import Any

TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA


class Refused(Exception):
    """The request for a socket got another answer than 101: `status`."""

    def __init__(self, status: int, head: str) -> None:
        super().__init__(head)
        self.status, self.head = status, head


class Closed(Exception):
    """The server has closed the socket: `code`, 1006 where the connection broke."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


def handshake(port: int, cookie: str, path: str = "/live/", **headers: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    given = {
        "Host": f"127.0.0.1:{port}",
        "Origin": f"http://127.0.0.1:{port}",
        "Cookie": cookie,
        "Connection": "keep-alive, Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
    return f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode()


def frame(kind: int, payload: bytes, first: int = 0x80, masked: bool = True) -> bytes:
    """A frame of a browser; `first` has the bits beside its kind."""
    size = len(payload)
    if size < 126:
        length = bytes([size | 0x80 * masked])
    elif size < 65_536:
        length = bytes([126 | 0x80 * masked]) + size.to_bytes(2, "big")
    else:
        length = bytes([127 | 0x80 * masked]) + size.to_bytes(8, "big")
    mask = b"\x37\xfa\x21\x3d" if masked else b""  # the same each time: frames are parameters of tests
    key = (mask * (size // 4 + 1))[:size]
    body = (int.from_bytes(payload) ^ int.from_bytes(key)).to_bytes(size)
    return bytes([first | kind]) + length + mask + body


class Client:
    """One socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, port: int, cookie: str, path: str = "/live/", **headers: str) -> Client:
        """Raises Refused, or an OSError."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(handshake(port, cookie, path, **headers))
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError as error:
            writer.close()
            raise ConnectionResetError from error
        if " 101 " not in head.split("\r\n")[0]:
            writer.close()
            await writer.wait_closed()
            raise Refused(int(head.split(" ")[1]), head)
        return cls(reader, writer)

    async def receive(self) -> dict[str, Any]:
        """The next message that says something; answers pings meanwhile. Raises Closed."""
        while True:
            try:
                first, second = await self._reader.readexactly(2)
                size = second & 0x7F
                if size == 126:
                    size = int.from_bytes(await self._reader.readexactly(2), "big")
                payload = await self._reader.readexactly(size)
            except (asyncio.IncompleteReadError, OSError):
                raise Closed(1006) from None
            if first & 0x0F == PING:
                self.writer.write(frame(PONG, payload))
            elif first & 0x0F == CLOSE:
                raise Closed(int.from_bytes(payload[:2], "big"))
            elif first & 0x0F == TEXT and (message := json.loads(payload)):
                return dict(message)

    async def close(self) -> None:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()


class Page:
    """Follows an inbox, or a board, as static/live.js does. `shown`: how often each message was announced.

    The first page of an inbox has 25 of them, a board 50.
    """

    def __init__(self, port: int, cookie: str, slow: float = 1.0, board: str = "") -> None:
        self._port, self._cookie, self._slow = port, cookie, slow
        self._path = f"/boards/{board}/" if board else "/inbox/"
        self._socket = f"/live/?board={board}" if board else "/live/"
        self.shown: Counter[str] = Counter()
        self._listed: set[str] = set()
        self.is_live = False

    async def follow(self) -> None:
        """For ever. Polls every `slow` seconds while there is no socket, or while the socket says so."""
        while True:
            self.is_live = False
            with suppress(OSError, Refused, Closed):
                client = await Client.connect(self._port, self._cookie, self._socket)
                try:
                    await self._hear(client)
                finally:
                    await client.close()
            self.is_live = False
            with suppress(OSError, asyncio.IncompleteReadError):
                await self.look()
            await asyncio.sleep(self._slow)

    async def _hear(self, client: Client) -> None:
        receiving = asyncio.ensure_future(client.receive())
        try:
            while True:
                await asyncio.wait([receiving], timeout=None if self.is_live else self._slow)
                if receiving.done():
                    self.is_live = receiving.result()["live"]
                    receiving = asyncio.ensure_future(client.receive())
                await self.look()
        finally:
            receiving.cancel()

    async def look(self) -> None:
        """Read the list, and announce what was not in it before."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            head = f"GET {self._path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nCookie: {self._cookie}\r\n"
            writer.write(f"{head}HX-Request: true\r\nConnection: close\r\n\r\n".encode())
            text = (await reader.read()).decode()
        finally:
            writer.close()
        if " 200 " not in text.split("\r\n")[0]:
            return
        listed = re.findall(r'id="message-([0-9a-f-]+)"', text)
        self.shown.update(one for one in listed if one not in self._listed)
        self._listed = set(listed)
