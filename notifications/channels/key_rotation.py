"""Re-encrypt all secrets with the first key, so that older keys can be removed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db.models import Model

from common.database import encryption
from common.models import KeyCheck

_CHUNK = 500
_KNOWN_TEXT = "carillon"


@dataclass(frozen=True, slots=True)
class Rotated:
    """The result of one chunk; `unreadable` are the rows of `model` that no key decrypts, left unchanged."""

    model: type[Model]
    sealed: int
    sealed_before: int
    unreadable: tuple[UUID, ...]


def models() -> list[type[Model]]:
    """Every model with secrets that are sealed for the row's id."""
    return [model for model in apps.get_models() if any(field.name == "sealed_secrets" for field in model._meta.fields)]


def rotate(chunk: int = _CHUNK) -> Iterator[Rotated]:
    """Re-encrypt all rows with secrets, `chunk` at a time, one statement for each row.

    It is safe to interrupt and repeat. A row that changed since it was read is skipped: that change used the first key.
    """
    for model in models():
        rows = model._default_manager.exclude(sealed_secrets="").order_by("pk").values_list("pk", "sealed_secrets")
        last: UUID | None = None
        while batch := list((rows if last is None else rows.filter(pk__gt=last))[:chunk]):
            yield _rotate(model, batch)
            last = batch[-1][0]


def _rotate(model: type[Model], rows: list[Any]) -> Rotated:
    sealed, sealed_before, unreadable = 0, 0, []
    for key, old in rows:
        try:
            new = encryption.reseal_secrets(old, key)
        except encryption.Unreadable:
            unreadable.append(key)
            continue
        if new == old:
            sealed_before += 1
        else:
            sealed += model._default_manager.filter(pk=key, sealed_secrets=old).update(sealed_secrets=new)
    return Rotated(model, sealed, sealed_before, tuple(unreadable))


def remember_keys() -> None:
    KeyCheck.objects.update_or_create(id=1, defaults={"sealed": encryption.seal(_KNOWN_TEXT)})


def keys_fit() -> bool:
    """Whether a key has sealed the known text; before there is one, whether a key reads the secrets that are stored."""
    if (stored := KeyCheck.objects.values_list("sealed", flat=True).first()) is not None:
        return _is_readable(stored)
    newest = [
        sealed
        for model in models()
        for sealed in model._default_manager.exclude(sealed_secrets="")
        .order_by("-pk")
        .values_list("sealed_secrets", flat=True)[:5]
    ]
    if newest and not any(map(_is_readable, newest)):
        return False
    sealed = encryption.seal(_KNOWN_TEXT)
    KeyCheck.objects.bulk_create([KeyCheck(id=1, sealed=sealed)], ignore_conflicts=True)
    return True


def _is_readable(sealed: str) -> bool:
    try:
        encryption.unseal(sealed)
    except encryption.Unreadable:
        return False
    return True
