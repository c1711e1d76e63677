"""The directory `var/`: data of the embedded engines, generated secrets, and mail where no mail server is set."""

import os
import stat
import sys
from base64 import urlsafe_b64encode
from contextlib import suppress
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent


def var_dir() -> Path:
    """`var/` of the checkout, or the directory in CARILLON_VAR; absolute. It may not exist yet."""
    return (CHECKOUT / (os.environ.get("CARILLON_VAR") or "var")).resolve()


def close_var() -> None:
    """Remove the permissions of other users on `var/`, and on all that this process and its children write.

    If root runs the engines as another account, the group of that account can still pass to their data.
    """
    os.umask(0o077)
    for directory, names, files in os.walk(var_dir()):
        names[:] = [name for name in names if name not in ("data", "run")]  # made private when the engine starts
        for path in (Path(directory), *(Path(directory, name) for name in files)):
            with suppress(FileNotFoundError, PermissionError):
                status = path.lstat()
                passed = stat.S_ISDIR(status.st_mode) and os.geteuid() == 0 != status.st_gid
                mode = stat.S_IMODE(status.st_mode) & (0o710 if passed else 0o700)
                if not stat.S_ISLNK(status.st_mode) and mode != stat.S_IMODE(status.st_mode):
                    path.chmod(mode)


def say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def stored_text(name: str, size: int) -> str:
    """A random text in base64url, of so many bytes, generated once and stored in `var/<name>`."""
    path = var_dir() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        aside = path.with_name(f".{name}-{os.getpid()}")
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(urlsafe_b64encode(os.urandom(size)).decode())
        try:
            path.hardlink_to(aside)  # atomic: of two processes, the first wins
        finally:
            aside.unlink()
    return path.read_text()
