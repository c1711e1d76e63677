"""Advisory kernel locks, released when the last process that holds them ends, even by `kill -9`."""

import fcntl
import os
import time
from pathlib import Path


def shared(path: Path, within: float) -> int:
    """A descriptor that holds a shared lock on `path`. Raises TimeoutError after `within` seconds."""
    deadline = time.monotonic() + within
    while (descriptor := _lock(path, fcntl.LOCK_SH)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} stays locked")
        time.sleep(0.01)
    return descriptor


def exclusive(path: Path) -> int | None:
    """A descriptor that holds an exclusive lock on `path`, or None if another process holds a lock."""
    return _lock(path, fcntl.LOCK_EX)


def is_free(path: Path) -> bool:
    """Whether nobody holds a lock on `path` now."""
    if (descriptor := exclusive(path)) is None:
        return False
    os.close(descriptor)
    return True


def _lock(path: Path, how: int) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
