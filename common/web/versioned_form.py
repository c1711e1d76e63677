"""Forms of models with a `version`, which names the state that was edited."""

from typing import Any

from django.db import transaction


class Conflict(Exception):
    """The row has changed since its editor read it. `current` is the stored one; nothing was written."""

    def __init__(self, current: Any) -> None:
        super().__init__(f"It is at version {current.version}")
        self.current = current


@transaction.atomic
def save(form: Any) -> Any:
    """Save the valid form of a row as its next version, if a field differs; return the row.

    Its field `version` is the one that was edited, or empty for any. Raises Conflict, or DoesNotExist if the row was
    deleted.
    """
    row = form.instance
    current = type(row)._default_manager.select_for_update(no_key=True).get(pk=row.pk)
    if form.cleaned_data["version"] not in (None, current.version):
        raise Conflict(current)
    if any(getattr(row, name) != getattr(current, name) for name in form.fields if name != "version"):
        row.version = current.version + 1
        row.save()
    return row
