"""Secrets of this machine, made once and kept in `var/`, for those who have not set their own."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from cryptography.fernet import Fernet

from config.embedded.var import var_dir


def kept_secret(name: str) -> str:
    """The random text kept in `var/<name>`, made at the first call; readable to its owner alone."""
    return _kept(name, secrets.token_urlsafe(50))


def kept_fernet_key(name: str) -> str:
    """A Fernet key (url-safe base64 of 32 bytes) kept in `var/<name>`, made at the first call."""
    return _kept(name, Fernet.generate_key().decode())


def _kept(name: str, fresh: str) -> str:
    path = var_dir() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        aside = path.with_name(f".{name}-{os.getpid()}")
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(fresh)
        try:
            Path(path).hardlink_to(aside)  # whole or not at all, and the first of two at once wins
        finally:
            aside.unlink()
    return path.read_text()
