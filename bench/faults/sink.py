"""`python -m bench.faults.sink LOG`: a receiver that fsyncs every arrival before it answers, then says so.

The first step of the path chooses how it behaves at the first arrival of each id; later ones are accepted. One line an
arrival: when, the channel's path, the message's id, `ok`, `refused` (an answer that says no) or `silent` (acted upon,
but no answer came), and the message's subject. Prints its port.
While the file LOG.slow is there, each answer takes a while. A GET is the check of a job, which is answered with "ok",
and not at all while the file LOG.away is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable

Answer = Callable[[asyncio.Transport], None]
_SLOWNESS = 0.7  # seconds


class Log:
    """Lines are written and fsynced together: whatever arrived while the disk was busy goes with the next one."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC)
        self._waiting: list[tuple[str, Callable[[], object]]] = []
        self._busy = False

    def write(self, line: str, then: Callable[[], object]) -> None:
        self._waiting.append((line, then))
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        lines, self._waiting = self._waiting, []
        os.write(self._file, "".join(line for line, _ in lines).encode())
        os.fdatasync(self._file)
        self._busy = False
        for _, then in lines:
            then()


class Sink(asyncio.Protocol):
    seen: set[tuple[str, str]] = set()
    log: Log
    slow: str
    away: str

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.buffer.startswith(b"GET ") and self.buffer.endswith(b"\r\n\r\n"):  # of a job that checks
            self.buffer = b""
            if os.path.exists(self.away):
                self.transport.abort()
            else:
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return
        if not self.buffer.startswith((b"POST"[: len(self.buffer)], b"GET "[: len(self.buffer)])):
            self.transport.abort()  # TLS, which this receiver does not speak
            return
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
            whole = end + 4 + int(headers["content-length"])
            if len(self.buffer) < whole:
                return
            body, self.buffer = self.buffer[end + 4 : whole], self.buffer[whole:]
            self.arrived(head[0].split()[1], headers["webhook-id"], body)

    def arrived(self, path: str, key: str, body: bytes) -> None:
        subject = json.loads(body)["data"]["subject"]
        behaviour = path.split("/")[1] if (path, key) not in self.seen else "ok"
        self.seen.add((path, key))
        verdict, answer = _BEHAVIOURS[behaviour]
        line = f"{time.time():.3f} {path} {key} {verdict} {subject}\n"
        delay = _SLOWNESS if os.path.exists(self.slow) else 0.0
        loop = asyncio.get_running_loop()
        self.log.write(
            line, lambda: loop.call_later(delay, answer, self.transport) if delay else answer(self.transport)
        )


def _reply(status: str, headers: str = "") -> Answer:
    text = f"HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n".encode()
    return lambda transport: transport.write(text)


def _hang(transport: asyncio.Transport) -> None:
    asyncio.get_running_loop().call_later(10.0, transport.close)


def _reset(transport: asyncio.Transport) -> None:
    connection: socket.socket = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _drip(transport: asyncio.Transport, sent: int = 0) -> None:
    if sent < 10 and not transport.is_closing():
        transport.write(b"HTTP/1.1 200 OK"[sent : sent + 1])
        asyncio.get_running_loop().call_later(1.0, _drip, transport, sent + 1)


_BEHAVIOURS: dict[str, tuple[str, Answer]] = {
    "ok": ("ok", _reply("200 OK")),
    "500": ("refused", _reply("500 Internal Server Error")),
    "429": ("refused", _reply("429 Too Many Requests", "Retry-After: 1\r\n")),
    "hang": ("silent", _hang),
    "reset": ("silent", _reset),
    "drip": ("silent", _drip),
}


async def main(path: str) -> None:
    Sink.log, Sink.slow, Sink.away = Log(path), f"{path}.slow", f"{path}.away"
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)  # its starter reads it
    asyncio.get_running_loop().add_reader(sys.stdin, os._exit, 0)  # the starter's death closes it
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
