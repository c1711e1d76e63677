"""What every test stands on: real PostgreSQL and Redis, and plain functions that make rows."""

from __future__ import annotations

import re
import socket
from ipaddress import ip_address
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from notifications.deliveries import fair_queue


@pytest.fixture(autouse=True)
def counted_afresh(settings: Settings) -> None:
    """What one test counts, such as sign-ins and messages, no other test sees."""
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": uuid4().hex}}
    fair_queue._Lately.since = -fair_queue.WITHIN  # nobody has had many messages lately


@pytest.fixture(autouse=True)
def nobody_outside_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that looks at an address which a test invented must not find somebody there."""
    real, connect = socket.getaddrinfo, socket.socket.connect

    def look_up(host: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(host, str) and re.search(r"\.[a-z]+\.?$", host):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *rest, **named)

    def refuse(self: socket.socket, address: Any) -> None:
        numeric = self.family in (socket.AF_INET, socket.AF_INET6) and re.fullmatch(r"[0-9a-f.:]+", address[0])
        if numeric and ip_address(address[0]).is_global:
            raise ConnectionRefusedError
        connect(self, address)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket.socket, "connect", refuse)
