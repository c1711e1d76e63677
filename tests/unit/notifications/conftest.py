import socket
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from demo.receivers import HTTPReceiver
from tests.network import served


@pytest.fixture(autouse=True)
def only_the_loopback_is_allowed(settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def receiver(request: pytest.FixtureRequest) -> Iterator[HTTPReceiver]:
    """A server that answers like the service of the test's module."""
    with served(getattr(request.module, "ANSWER", None)) as receiver:
        yield receiver


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """A name server: each look-up of a name takes the next of its answers, with "," between addresses."""
    answers: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: Any, flags: int = 0, **named: Any) -> Any:
        if host not in answers or flags & socket.AI_NUMERICHOST:
            return real(host, port, *rest, flags=flags, **named)
        queue = answers[host]
        addresses = queue.pop(0) if len(queue) > 1 else queue[0]
        return [found for address in addresses.split(",") for found in real(address, port, *rest, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return answers
