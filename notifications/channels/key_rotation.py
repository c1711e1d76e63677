"""Re-encrypt all secrets with the first key, so that older keys can be removed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from allauth.mfa.models import Authenticator
from django.apps import apps
from django.db.models import Model

from common.database import encryption
from common.models import KeyCheck

_CHUNK = 500
_KNOWN_TEXT = "carillon"


@dataclass(slots=True)
class Rotated:
    """The counts of sealed texts; `unreadable` names those that no key decrypts, left unchanged."""

    sealed: int = 0
    sealed_before: int = 0
    unreadable: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = self.sealed, self.sealed_before, len(self.unreadable)
        return "{} sealed with the first key, {} were already, {} unreadable".format(*counts)

    def reseal(self, name: str, sealed: str, owner: UUID | None = None) -> str | None:
        """Return what to store instead of `sealed`; None to leave it."""
        try:
            new = encryption.reseal(sealed, owner)
        except encryption.Unreadable:
            self.unreadable.append(name)
            return None
        self.sealed_before += new == sealed
        return None if new == sealed else new


def models() -> list[type[Model]]:
    """Every model with secrets that are sealed for the row's id."""
    return [model for model in apps.get_models() if any(field.name == "sealed_secrets" for field in model._meta.fields)]


def rotate(done: Rotated, chunk: int = _CHUNK) -> Iterator[type[Model]]:
    """Re-encrypt all rows with secrets, one statement for each row. Yields the model after each `chunk` of its rows.

    It is safe to interrupt and repeat. A row that changed since it was read is skipped: that change used the first key.
    """
    for model in models():
        rows = model._default_manager.exclude(sealed_secrets="").order_by("pk").values_list("pk", "sealed_secrets")
        last: UUID | None = None
        while batch := list((rows if last is None else rows.filter(pk__gt=last))[:chunk]):
            _rotate(done, model, batch)
            yield model
            last = batch[-1][0]


def _rotate(done: Rotated, model: type[Model], rows: list[Any]) -> None:
    for key, old in rows:
        if new := done.reseal(f"{model._meta.verbose_name} {key}", old, key):
            done.sealed += model._default_manager.filter(pk=key, sealed_secrets=old).update(sealed_secrets=new)


def rotate_factors() -> Rotated:
    """As `rotate`, of the secrets of second factors, which allauth keeps in JSON."""
    done = Rotated()
    for row in Authenticator.objects.filter(type=Authenticator.Type.TOTP).select_related("user").order_by("pk"):
        if new := done.reseal(f"second factor of {row.user.email}", row.data["secret"]):
            same = Authenticator.objects.filter(pk=row.pk, data=row.data)
            done.sealed += same.update(data=row.data | {"secret": new})
    return done


def remember_keys() -> None:
    KeyCheck.objects.update_or_create(id=1, defaults={"sealed": encryption.seal(_KNOWN_TEXT)})


def keys_match() -> bool:
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
