"""What tests of processes share."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], within: float = 400.0) -> None:
    """Fail after `within` seconds; a process alone takes many to start on a busy machine."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)
