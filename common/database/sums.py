"""Sums that the threads of a process add to in memory, and that a thread of their own writes every few seconds.

For numbers on which nothing depends: no request waits for a statement, and no row is written by each of them. A process
that ends loses what it added since the last time, at most `EVERY` seconds.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import connection

log = logging.getLogger(__name__)

EVERY = 5.0  # seconds

Key = TypeVar("Key", bound=tuple[Any, ...])
_all: list["Sums[Any]"] = []
_is_started = False


class Sums(Generic[Key]):
    """`write` gets tuples of each key with its numbers. While it fails they are kept, and may be written twice."""

    def __init__(self, write: Callable[[list[tuple[Any, ...]]], object]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._sums: dict[Key, tuple[int, ...]] = {}
        _all.append(self)

    def add(self, key: Key, *numbers: int) -> None:
        """Nothing is added in a process that never called `start`."""
        if _is_started:
            with self._lock:
                before = self._sums.get(key)
                self._sums[key] = tuple(map(int.__add__, before, numbers)) if before else numbers

    def flush(self) -> None:
        with self._lock:
            sums, self._sums = self._sums, {}
        if not sums:
            return
        try:
            self._write([(*key, *numbers) for key, numbers in sums.items()])
        except Exception:
            for key, numbers in sums.items():
                self.add(key, *numbers)
            raise


def start() -> None:
    """Add from now on, and write in a thread."""
    global _is_started
    _is_started = True
    threading.Thread(target=_run, name="sums", daemon=True).start()


def _run() -> None:
    while True:
        time.sleep(EVERY * random.uniform(0.75, 1.25))  # noqa: S311 - no secret
        for sums in _all:
            try:
                sums.flush()
            except Exception as error:
                log.warning("Sums cannot be written now: %s", type(error).__name__)
        connection.close()
