"""The place of backups: a folder, or a bucket of S3 and its like, whose credentials are in the usual AWS_ variables."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import obstore
from obstore.exceptions import BaseError
from obstore.store import from_url

from work.backup import BackupError
from work.backup.archive import Reader, Writer

NAME = "carillon-%Y%m%dT%H%M%SZ.age"
_OURS = re.compile(r"carillon-\d{8}T\d{6}Z\.age")
_PART = ".part"


class Folder:
    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def writer(self, name: str) -> Iterator[Writer]:
        """Write a file, which has its `name` once the context has ended without an error."""
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self._path / f".{name}{_PART}"
        for left in (part, *self._path.glob(f".carillon-*{_PART}")):  # of one that was killed: one writes at a time
            left.unlink(missing_ok=True)
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.rename(self._path / name)
        finally:
            part.unlink(missing_ok=True)
        folder = os.open(self._path, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def reader(self, name: str) -> BinaryIO:
        return (self._path / name).open("rb")

    def names(self) -> list[str]:
        """Of the backups here, the oldest first."""
        return sorted(path.name for path in self._path.iterdir() if _OURS.fullmatch(path.name))

    def delete(self, name: str) -> None:
        (self._path / name).unlink()


class Bucket:
    """A file is there once its last part is: the parts of one that was never completed are not shown as a file."""

    def __init__(self, address: str) -> None:
        with _named_errors():
            self._store = from_url(address)

    @contextmanager
    def writer(self, name: str) -> Iterator[Writer]:
        with _named_errors():
            writer = obstore.open_writer(self._store, name, max_concurrency=2)
            yield cast(Writer, writer)
            writer.close()

    def reader(self, name: str) -> Reader:
        with _named_errors():
            return _Object(obstore.open_reader(self._store, name))

    def names(self) -> list[str]:
        with _named_errors():
            listed = [str(one["path"]) for one in self._store.list_with_delimiter()["objects"]]
        return sorted(name for name in listed if _OURS.fullmatch(name))

    def delete(self, name: str) -> None:
        with _named_errors():
            self._store.delete(name)


Place = Folder | Bucket


def place(address: str) -> Place:
    return Bucket(address) if "://" in address else Folder(Path(address))


def open_file(address: str) -> Reader:
    folder, _, name = address.rpartition("/")
    return place(folder or ("/" if address.startswith("/") else ".")).reader(name)


class _Object:
    """Reads bytes; obstore's own are of another type."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def read(self, size: int = -1) -> bytes:
        with _named_errors():
            return bytes(self._reader.read(size))

    def close(self) -> None:
        self._reader.close()


@contextmanager
def _named_errors() -> Iterator[None]:
    try:
        yield
    except (BaseError, OSError) as error:  # many lines of details
        raise BackupError(str(error).splitlines()[0]) from None
