"""Variables of a context: a thread, or a task of asyncio."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")


@contextmanager
def holding(variable: ContextVar[Any], value: T) -> Iterator[T]:
    """Give the variable this value within the block."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)
