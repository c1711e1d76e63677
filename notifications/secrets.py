"""Channel secrets at rest: sealed (see `common.encryption`), and bound to the row that they belong to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from uuid import UUID

from common import encryption


class Unreadable(Exception):
    """The sealed text was made with a key that is not configured, or belongs to another row."""


def seal(secrets: Mapping[str, str], owner: UUID) -> str:
    """Encrypt `secrets` for the row whose id is `owner`; an empty mapping stays an empty string."""
    if not secrets:
        return ""
    return encryption.seal(json.dumps({"owner": str(owner), "secrets": dict(secrets)}))


def unseal(sealed: str, owner: UUID) -> dict[str, str]:
    """The inverse of `seal`. Raises `Unreadable`, whose message is fit for the channel's owner."""
    if not sealed:
        return {}
    try:
        plain = json.loads(encryption.unseal(sealed))
    except encryption.Unreadable:
        raise Unreadable(
            "The secrets of this channel cannot be read with the configured encryption keys. "
            "Write them again on its page, or ask the operator to restore the key."
        ) from None
    if plain["owner"] != str(owner):
        raise Unreadable("The secrets of this channel were sealed for another channel. Remove it and add it again.")
    secrets: dict[str, str] = plain["secrets"]
    return secrets


def reseal(sealed: str, owner: UUID) -> str:
    """Return `sealed` under the first key; the same text where it is already. Raises `Unreadable`."""
    secrets = unseal(sealed, owner)
    return sealed if encryption.by_first_key(sealed) else seal(secrets, owner)
