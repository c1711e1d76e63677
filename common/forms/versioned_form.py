"""Models with a `version`, which names the state that was edited, and their forms."""

from typing import Any, TypeVar

from django.db import transaction
from django.db.models.functions import Now

Row = TypeVar("Row")


class VersionConflict(Exception):
    """The row has changed since its editor read it. `current` is the stored one; nothing was written."""

    def __init__(self, current: Any) -> None:
        super().__init__(f"It is at version {current.version}")
        self.current = current


def save_next_version(row: Row) -> Row:
    """Save a row that the caller has locked."""
    saved: Any = row
    saved.version += 1
    saved.updated_at = Now()
    saved.save()
    saved.refresh_from_db()
    return row


@transaction.atomic
def save(form: Any) -> Any:
    """Save the valid form of a row as its next version, if a field differs; return the row.

    Its field `version` is the one that was edited, or empty for any. Raises VersionConflict, or DoesNotExist if the
    row was deleted.
    """
    row = form.instance
    current = type(row)._default_manager.select_for_update(no_key=True).get(pk=row.pk)
    if form.cleaned_data["version"] not in (None, current.version):
        raise VersionConflict(current)
    if any(getattr(row, name) != getattr(current, name) for name in form.fields if name != "version"):
        row.version = current.version + 1
        row.save()
    return row
