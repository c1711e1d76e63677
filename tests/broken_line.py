"""A line to a real engine that a test can cut and mend."""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
from contextlib import suppress

from demo.ports import free_port

# Linux: a packet filter on a socket, here one that lets nothing in, so that the kernel acknowledges nothing either.
_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
_RETURN_0 = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0), 8)
_NOTHING = struct.pack("HP", 1, ctypes.addressof(_RETURN_0))


class Line:
    """A TCP port that forwards to `target`: the path of a Unix socket, or (host, port). Cut: refuses and hangs up.
    Silenced: answers nothing any more, not even by a refusal, as a machine that has lost its power."""

    def __init__(self, target: str | tuple[str, int]) -> None:
        self.target = target
        self._open: list[socket.socket] = []
        self._changes = threading.Lock()  # one who is let in while the line is cut is hung up on, too
        self._listener: socket.socket | None = None
        self.port = free_port()

    def mend(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self._listener = listener
        threading.Thread(target=self._accept, args=[listener], daemon=True).start()

    def cut(self) -> None:
        assert self._listener is not None
        with self._changes:
            for end in [self._listener, *self._open]:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
            self._open.clear()

    def silence(self) -> None:
        assert self._listener is not None
        for end in [self._listener, *self._open]:
            if end.family == socket.AF_INET:
                end.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, _NOTHING)

    def let_in_again(self) -> None:
        """New connections after a silence; those of before stay silent."""
        assert self._listener is not None
        self._listener.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX if isinstance(self.target, str) else socket.AF_INET)
                with self._changes:
                    if listener.fileno() == -1:
                        near.close()
                        far.close()
                        return
                    self._open += [near, far]
                far.connect(self.target)
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=[source, sink], daemon=True).start()

    @staticmethod
    def _pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
