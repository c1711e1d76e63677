"""`python -m bench.receiver COUNT SECONDS [github]`: takes every POST and answers after SECONDS; prints its port.

The file COUNT holds the number of answers (8 bytes, native). As GitHub, it answers a question the same every time.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import struct
import sys
from datetime import UTC, datetime, timedelta
from functools import cache

from demo.receivers.github import GitHub
from demo.receivers.http import Received, Reply

# The first one contributed on each of the last 41 days, the second one until yesterday.
ACCOUNTS = ("committed", "silent")
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Receiver(asyncio.Protocol):
    count: mmap.mmap
    latency: float
    is_github = False
    answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # what a TCP server hands over
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            length = self.buffer[:end].lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            whole = end + 4 + int(length)
            if len(self.buffer) < whole:
                return
            answer = _as_github(self.buffer[:end], self.buffer[end + 4 : whole]) if self.is_github else _ANSWER
            self.buffer = self.buffer[whole:]
            if self.latency:
                asyncio.get_running_loop().call_later(self.latency, self.answer, answer)
            else:
                self.answer(answer)

    def answer(self, answer: bytes) -> None:
        self.transport.write(answer)
        Receiver.answered += 1
        struct.pack_into("q", self.count, 0, Receiver.answered)


@cache
def _as_github(head: bytes, body: bytes) -> bytes:
    now = datetime.now(UTC)
    first, *lines = head.decode().split("\r\n")
    method, path, _ = first.split(" ")
    headers = dict(line.split(": ", 1) for line in lines)
    days = [now.date() - timedelta(days=number) for number in range(41)]
    github = GitHub({login: dict.fromkeys(days[number:], 3) for number, login in enumerate(ACCOUNTS)})
    reply = github.answer(Received(now, method, path, headers, body, ("", 0)))
    assert isinstance(reply, Reply)  # these accounts have no trouble
    told = {**reply.headers, "Content-Length": str(len(reply.body))}
    lines = [f"HTTP/1.1 {reply.status} OK", *(f"{name}: {value}" for name, value in told.items())]
    return "\r\n".join([*lines, "", ""]).encode() + reply.body


async def main(path: str, latency: float, service: str) -> None:
    with open(path, "w+b") as file:
        file.write(bytes(8))
        file.flush()
        Receiver.count, Receiver.latency = mmap.mmap(file.fileno(), 8), latency
        Receiver.is_github = service == "github"
        server = await asyncio.get_running_loop().create_server(Receiver, "0.0.0.0", 0, backlog=2048)  # noqa: S104 - 127.0.0.1 and all others
        print(server.sockets[0].getsockname()[1], flush=True)
        asyncio.get_running_loop().add_reader(sys.stdin, os._exit, 0)  # the starter's death closes it
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), *sys.argv[3:]))
