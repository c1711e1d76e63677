"""Secrets at rest, encrypted with Fernet (AES-128-CBC and HMAC-SHA256).

The first of `settings.ENCRYPTION_KEYS` encrypts and all of them decrypt, so that keys rotate without downtime.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unreadable(Exception):
    """The text cannot be decrypted, or belongs to another row. The message is for its owner."""

    silent_variable_failure = True  # a template that uses it renders nothing instead of failing


class MissingKey(Unreadable):
    """No key decrypts it. The operator may restore the one that does."""


@lru_cache(maxsize=8)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def seal(text: str) -> str:
    return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Return the text. Raises MissingKey."""
    try:
        return _fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise MissingKey(
            "The stored secrets cannot be read with the configured encryption keys. "
            "Enter them again, or ask the operator to restore the key."
        ) from None


def sealed_by_first_key(sealed: str) -> bool:
    """Return whether the first key decrypts it, so that it needs no other key."""
    try:
        _fernet((settings.ENCRYPTION_KEYS[0],)).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True


def seal_secrets(secrets: Mapping[str, str], owner: UUID) -> str:
    """Encrypt `secrets` for the row with the id `owner`; an empty mapping becomes an empty string."""
    return seal(json.dumps({"owner": str(owner), "secrets": dict(secrets)})) if secrets else ""


def unseal_secrets(sealed: str, owner: UUID) -> dict[str, str]:
    """Return what `seal_secrets` encrypted. Raises Unreadable."""
    if not sealed:
        return {}
    plain = json.loads(unseal(sealed))
    if plain["owner"] != str(owner):
        raise Unreadable("The stored secrets belong to something else. Remove this and add it again.")
    secrets: dict[str, str] = plain["secrets"]
    return secrets


def reseal_secrets(sealed: str, owner: UUID) -> str:
    """Return `sealed` encrypted with the first key; unchanged if it already is. Raises Unreadable."""
    secrets = unseal_secrets(sealed, owner)
    return sealed if sealed_by_first_key(sealed) else seal_secrets(secrets, owner)
