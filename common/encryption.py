"""Secrets at rest: sealed with Fernet (AES-128-CBC and HMAC-SHA256).

The first of `settings.ENCRYPTION_KEYS` seals, all of them open, so a key can be rotated without downtime.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unreadable(Exception):
    """No configured key opens the sealed text."""

    silent_variable_failure = True  # a page that mentions it still opens, and shows nothing in its place


@lru_cache(maxsize=8)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def seal(text: str) -> str:
    return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """The inverse of `seal`. Raises `Unreadable`."""
    try:
        return _fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unreadable from None


def by_first_key(sealed: str) -> bool:
    """Whether the first key opens it, so that the others are not needed for it."""
    try:
        _fernet((settings.ENCRYPTION_KEYS[0],)).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True
