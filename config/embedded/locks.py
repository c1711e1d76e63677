"""Advisory kernel locks, released when the last process that holds them ends, even by `kill -9`."""

import fcntl
import os
from pathlib import Path


def shared(path: Path) -> int:
    """A descriptor that holds a shared lock on `path`, once no other process has it for itself."""
    descriptor = _opened(path)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def exclusive(path: Path) -> int | None:
    """A descriptor that holds an exclusive lock on `path`, or None if another process holds a lock."""
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_free(path: Path) -> bool:
    """Whether nobody holds a lock on `path` now."""
    if (descriptor := exclusive(path)) is None:
        return False
    os.close(descriptor)
    return True


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
