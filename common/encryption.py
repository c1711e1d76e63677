"""Encrypt secrets at rest with Fernet.

The first of `settings.ENCRYPTION_KEYS` encrypts; all of them decrypt, so keys can be rotated without downtime.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unreadable(Exception):
    """No configured key decrypts the text."""

    silent_variable_failure = True  # a template shows nothing instead of failing


@lru_cache(maxsize=8)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def seal(text: str) -> str:
    return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Decrypt. Raises `Unreadable`."""
    try:
        return _fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unreadable from None


def by_first_key(sealed: str) -> bool:
    """Whether the first key decrypts it."""
    try:
        _fernet((settings.ENCRYPTION_KEYS[0],)).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True
