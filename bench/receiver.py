"""`python -m bench.receiver COUNT SECONDS`: takes every POST and answers after SECONDS; prints its port.

The file COUNT holds the number of answers (8 bytes, native).
"""

from __future__ import annotations

import asyncio
import mmap
import os
import struct
import sys

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Receiver(asyncio.Protocol):
    count: mmap.mmap
    latency: float
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
            self.buffer = self.buffer[whole:]
            if self.latency:
                asyncio.get_running_loop().call_later(self.latency, self.answer)
            else:
                self.answer()

    def answer(self) -> None:
        self.transport.write(_ANSWER)
        Receiver.answered += 1
        struct.pack_into("q", self.count, 0, Receiver.answered)


async def main(path: str, latency: float) -> None:
    with open(path, "w+b") as file:
        file.write(bytes(8))
        file.flush()
        Receiver.count, Receiver.latency = mmap.mmap(file.fileno(), 8), latency
        server = await asyncio.get_running_loop().create_server(Receiver, "0.0.0.0", 0, backlog=2048)  # noqa: S104 - 127.0.0.1 and all others
        print(server.sockets[0].getsockname()[1], flush=True)
        asyncio.get_running_loop().add_reader(sys.stdin, os._exit, 0)  # the starter's death closes it
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
