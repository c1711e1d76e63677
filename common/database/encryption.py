"""Secrets at rest, encrypted with AES-256-GCM.

The first of `settings.ENCRYPTION_KEYS` encrypts and all of them decrypt, so that keys rotate without downtime. A sealed
text names its cipher, so that another can take its place: what was sealed with Fernet before is read, and rotation
seals it again.
"""

import json
import os
from base64 import b64decode, b64encode, urlsafe_b64decode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_CIPHER = "aes-256-gcm:"
_NONCE = 12  # random bytes; at most 2**32 texts a key (NIST SP 800-38D)


class Unreadable(Exception):
    """The text cannot be decrypted, or belongs to another row. The message is for its owner."""

    silent_variable_failure = True  # a template that uses it renders nothing instead of failing


class MissingKey(Unreadable):
    """No key decrypts it. The operator may restore the one that does."""


@lru_cache(maxsize=8)
def _cipher(key: str) -> AESGCM:
    derived = HKDF(SHA256(), 32, salt=None, info=b"carillon secrets at rest").derive(urlsafe_b64decode(key))
    return AESGCM(derived)


def seal(text: str) -> str:
    nonce = os.urandom(_NONCE)
    encrypted = _cipher(settings.ENCRYPTION_KEYS[0]).encrypt(nonce, text.encode(), None)
    return _CIPHER + b64encode(nonce + encrypted).decode()


def _open(sealed: str, keys: Sequence[str]) -> str | None:
    """The text if one of the keys decrypts it."""
    for key in keys:
        with suppress(InvalidTag, InvalidToken, ValueError):
            if not sealed.startswith(_CIPHER):
                return Fernet(key).decrypt(sealed.encode()).decode()
            data = b64decode(sealed.removeprefix(_CIPHER), validate=True)
            return _cipher(key).decrypt(data[:_NONCE], data[_NONCE:], None).decode()
    return None


def unseal(sealed: str) -> str:
    """Return the text. Raises MissingKey."""
    if (text := _open(sealed, settings.ENCRYPTION_KEYS)) is None:
        raise MissingKey(
            "The stored secrets cannot be read with the configured encryption keys. "
            "Enter them again, or ask the operator to restore the key."
        )
    return text


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
    return plain["secrets"]


def reseal(sealed: str, owner: UUID | None = None) -> str:
    """Return `sealed` encrypted with the first key and cipher; unchanged if it already is. Raises Unreadable.

    `owner`: the id of the row for which `seal_secrets` encrypted it, if that did.
    """
    plain = unseal(sealed)
    if owner is not None:
        unseal_secrets(sealed, owner)
    is_current = sealed.startswith(_CIPHER) and _open(sealed, settings.ENCRYPTION_KEYS[:1]) is not None
    return sealed if is_current else seal(plain)


def hashed(token: str) -> str:
    """The stored hash of a token. It has at least 190 random bits, so a slow hash would add nothing."""
    return sha256(token.encode()).hexdigest()
