"""What tests of processes share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from demo.warm import warm_starts


@pytest.fixture(scope="session", autouse=True)
def programs_start_warm() -> Iterator[None]:
    with warm_starts():
        yield


def wait_until(condition: Callable[[], object], within: float = 180.0) -> None:
    """Fail after `within` seconds; a process alone takes many to start on a busy machine."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)
