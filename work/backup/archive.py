"""The format of a backup: a line of JSON, the manifest, then what pg_dump wrote; all of it encrypted.

The encryption is that of age (age-encryption.org), so `age --decrypt` opens a backup without Carillon. What was cut
short or changed is not decrypted. Nothing here grows with the size of the database.
"""

import json
from collections.abc import Callable
from typing import Any, Protocol

import pyrage
from django.conf import settings

from work.backup import BackupError

Manifest = dict[str, Any]
_LONGEST = 1024 * 1024  # bytes of a manifest


class Reader(Protocol):
    def read(self, size: int = -1, /) -> Any: ...

    def close(self) -> None: ...


class Writer(Protocol):
    def write(self, data: bytes, /) -> Any: ...


def new_key() -> str:
    return str(pyrage.x25519.Identity.generate())


def write(manifest: Manifest, dump: Reader, to: Writer) -> None:
    try:
        pyrage.encrypt_io(_Joined(json.dumps(manifest).encode() + b"\n", dump), to, [_identity().to_public()])
    except pyrage.EncryptError as error:
        raise BackupError(f"the dump could not be read: {error}") from None


def read(backup: Reader, begin: Callable[[Manifest], Writer]) -> None:
    """Give the manifest to `begin`, then the dump to the writer that it returns, as it is decrypted."""
    try:
        pyrage.decrypt_io(backup, _Split(begin), [_identity()])
    except pyrage.DecryptError as error:
        raise BackupError(f"BACKUP_KEY does not open this file ({error})") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise BackupError(f"the file is damaged or cut short ({error})") from None


def _identity() -> Any:
    try:
        return pyrage.x25519.Identity.from_str(settings.BACKUP_KEY)
    except pyrage.IdentityError:
        raise BackupError("BACKUP_KEY is not a key: `manage.py backup --new-key` makes one") from None


class _Joined:
    """Reads `first`, then `rest`."""

    def __init__(self, first: bytes, rest: Reader) -> None:
        self._first, self._rest = first, rest

    def read(self, size: int) -> bytes:
        if not self._first:
            return bytes(self._rest.read(size))
        chunk, self._first = self._first[:size], self._first[size:]
        return chunk


class _Split:
    """Collects the first line, and writes what follows to the writer that `begin` returns for it."""

    def __init__(self, begin: Callable[[Manifest], Writer]) -> None:
        self._begin, self._head = begin, b""
        self._to: Writer | None = None

    def write(self, data: bytes) -> int:
        if self._to is None:
            self._head += data
            line, newline, rest = self._head.partition(b"\n")
            if newline:
                self._to = self._begin(_manifest(line))
                self._to.write(rest)
            elif len(self._head) > _LONGEST:
                raise BackupError("the file is not a backup of Carillon")
        else:
            self._to.write(data)
        return len(data)

    def flush(self) -> None:
        """Called at the end; the writer's owner closes it."""


def _manifest(line: bytes) -> Manifest:
    try:
        manifest: Manifest = json.loads(line)
        _ = manifest["carillon"], manifest["rows"], manifest["migrations"], manifest["keys"]
    except (ValueError, KeyError, TypeError):
        raise BackupError("the file is not a backup of Carillon") from None
    return manifest
