"""Re-encrypt the secrets of all channels with the first key, so that older keys can be removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from common import encryption
from notifications.models import Channel

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Rotated:
    """The result of one chunk; `unreadable` are the channels that no key decrypts, left unchanged."""

    sealed: int
    sealed_before: int
    unreadable: tuple[UUID, ...]


def rotate(chunk: int = _CHUNK) -> Iterator[Rotated]:
    """Re-encrypt all channels with secrets, `chunk` at a time, one statement for each row.

    It is safe to interrupt and repeat. A row that changed since it was read is skipped: that change used the first key.
    """
    rows = Channel.objects.exclude(sealed_secrets="").order_by("id").values_list("id", "sealed_secrets")
    last: UUID | None = None
    while found := list((rows if last is None else rows.filter(id__gt=last))[:chunk]):
        yield _rotate(found)
        last = found[-1][0]


def _rotate(rows: list[tuple[UUID, str]]) -> Rotated:
    sealed, sealed_before, unreadable = 0, 0, []
    for channel_id, old in rows:
        try:
            new = encryption.reseal_secrets(old, channel_id)
        except encryption.Unreadable:
            unreadable.append(channel_id)
            continue
        if new == old:
            sealed_before += 1
        else:
            sealed += Channel.objects.filter(id=channel_id, sealed_secrets=old).update(sealed_secrets=new)
    return Rotated(sealed, sealed_before, tuple(unreadable))
