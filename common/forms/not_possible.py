"""What a person may not do as things stand."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class NotPossible(Exception):
    """A limit, or something of the same name, is in the way. The message is for the person; the API answers 409."""


@contextmanager
def shown_in(form: Any, field: str | None = None) -> Iterator[None]:
    """Show what is not possible as an error of the form."""
    try:
        yield
    except NotPossible as refusal:
        form.add_error(field, str(refusal))
