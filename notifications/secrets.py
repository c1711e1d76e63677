"""Channel secrets at rest: sealed with Fernet (AES-128-CBC and HMAC-SHA256), bound to the row that they belong to.

The first of `settings.ENCRYPTION_KEYS` seals, all of them open, so a key can be rotated without downtime.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unreadable(Exception):
    """The sealed text was made with a key that is not configured, or belongs to another row."""


@lru_cache(maxsize=4)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def seal(secrets: Mapping[str, str], owner: UUID) -> str:
    """Encrypt `secrets` for the row whose id is `owner`; an empty mapping stays an empty string."""
    if not secrets:
        return ""
    plain = json.dumps({"owner": str(owner), "secrets": dict(secrets)}).encode()
    return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(plain).decode()


def unseal(sealed: str, owner: UUID) -> dict[str, str]:
    """The inverse of `seal`. Raises `Unreadable`, whose message is fit for the channel's owner."""
    if not sealed:
        return {}
    try:
        plain = json.loads(_fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(sealed.encode()))
    except InvalidToken:
        raise Unreadable(
            "The secrets of this channel cannot be read with the configured encryption keys. "
            "Remove the channel and add it again, or ask the operator to restore the key."
        ) from None
    if plain["owner"] != str(owner):
        raise Unreadable("The secrets of this channel were sealed for another channel. Remove it and add it again.")
    secrets: dict[str, str] = plain["secrets"]
    return secrets


def reseal(sealed: str, owner: UUID) -> str:
    """Return `sealed` under the first key; the same text where it is already. Raises `Unreadable`."""
    secrets = unseal(sealed, owner)
    try:
        _fernet((settings.ENCRYPTION_KEYS[0],)).decrypt(sealed.encode())
    except InvalidToken:
        return seal(secrets, owner)
    return sealed
