"""An HTTP proxy that opens tunnels, and notes where to."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class ProxyReceiver:
    """Listens on a free port of 127.0.0.1 while its block runs. `reply` is its answer to CONNECT, whole.

    `asked` holds the heads of all requests, line by line; only a reply of 200 opens a tunnel.
    """

    def __init__(self, reply: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        self.reply = reply
        self.asked: list[list[str]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))

    @property
    def port(self) -> int:
        """The port that the kernel chose."""
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._tunnel, args=[client], daemon=True).start()

    def _tunnel(self, client: socket.socket) -> None:
        with client:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                if not (byte := client.recv(1)):
                    return
                head += byte
            lines = head.decode().splitlines()[:-1]
            self.asked.append(lines)
            client.sendall(self.reply)
            if b" 200 " not in self.reply:
                return
            host, _, port = lines[0].split()[1].rpartition(":")
            with socket.create_connection((host.strip("[]"), int(port)), timeout=5) as there:
                back = threading.Thread(target=_pass_on, args=[there, client], daemon=True)
                back.start()
                _pass_on(client, there)
                back.join(5)


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):  # one of them hung up, or was reset
        while said := source.recv(65536):
            sink.sendall(said)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
