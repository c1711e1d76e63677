"""A port for a process that is told its number."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress


def free_port() -> int:
    """A free port below 32768: the kernel chooses none there, so nobody else gets it before the process starts."""
    while True:
        port = 20_000 + secrets.randbelow(12_768)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
