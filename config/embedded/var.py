"""Where Carillon keeps what belongs to this machine alone: engines, secrets, mail that had nowhere to go."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent


def var_dir() -> Path:
    """`var/` of the checkout, or the directory that CARILLON_VAR names; absolute, perhaps not made yet."""
    return (CHECKOUT / (os.environ.get("CARILLON_VAR") or "var")).resolve()


def is_private(directory: Path) -> bool:
    """Whether `directory` is in `var/`: what holds mails and logs, and is nobody else's to list or read."""
    return any(directory.is_relative_to(var) for var in (var_dir(), CHECKOUT / "var"))


def close_var() -> None:
    """Make `var/` and all below it its owner's alone, and so whatever this process and its children write from now on.

    Where root runs the engines as another account, that account's group still passes to their data.
    """
    os.umask(0o077)
    for directory, names, files in os.walk(var_dir()):
        names[:] = [name for name in names if name not in ("data", "run")]  # an engine's; made private when it starts
        for path in (Path(directory), *(Path(directory, name) for name in files)):
            with suppress(FileNotFoundError, PermissionError):
                status = path.lstat()
                passed = stat.S_ISDIR(status.st_mode) and os.geteuid() == 0 != status.st_gid
                mode = stat.S_IMODE(status.st_mode) & (0o710 if passed else 0o700)
                if not stat.S_ISLNK(status.st_mode) and mode != stat.S_IMODE(status.st_mode):
                    path.chmod(mode)
