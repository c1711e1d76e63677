"""A form that creates one row however often it is sent, and overwrites no version that its editor has not seen."""

from collections.abc import Callable, Collection
from copy import copy
from typing import Any, TypeVar, cast

from django import forms
from django.db import transaction
from django.db.models.functions import Now
from django.http import QueryDict
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy

from common.texts.numbers import grouped_lazy
from common.texts.types import StrOrPromise
from common.uuid7 import is_recent, uuid7

Row = TypeVar("Row")
Differences = list[tuple[str, str, str]]
"""The label, the saved and the typed value of each field."""


class VersionConflict(Exception):
    """The row has changed since its editor read it. `current` is the stored one; nothing was written."""

    def __init__(self, current: Any) -> None:
        super().__init__(f"It is at version {current.version}")
        self.current = current


class SharedFields(dict[str, forms.Field]):
    """Fields that all forms of a class share: Django copies each of them, with its widget, for every form."""

    def __deepcopy__(self, memo: object) -> dict[str, forms.Field]:
        return dict(self)


def refuse(form: forms.Form, field: str | None, code: str, text: StrOrPromise) -> None:
    """Add an error; `code` names the violated rule, for programs."""
    form.add_error(field, forms.ValidationError(text, code))


def own_field(form: forms.Form, name: str) -> Any:
    """The field, no more shared with the other forms of the class."""
    form.fields[name] = field = copy(form.fields[name])
    field.widget = copy(field.widget)
    return field


class WholeNumberField(forms.IntegerField):
    """A whole number from `least` to `most`, as its error says. An empty field means `empty`."""

    def __init__(self, label: StrOrPromise, least: int, most: int, *, empty: int | None = None, **options: Any) -> None:
        given: dict[str, Any] = {"required": False, "initial": empty} | options
        if empty is None and not given["required"]:
            text = gettext_lazy("Enter a whole number from {least} to {most}, or leave it empty.")
        else:
            text = gettext_lazy("Enter a whole number from {least} to {most}.")
        error = format_lazy(text, least=grouped_lazy(least), most=grouped_lazy(most))
        given.setdefault("widget", forms.NumberInput(attrs={"inputmode": "numeric"}))
        errors = dict.fromkeys(("required", "invalid", "min_value", "max_value"), error)
        super().__init__(label=label, min_value=least, max_value=most, error_messages=errors, **given)
        self.empty = empty

    def clean(self, value: Any) -> Any:
        number = super().clean(value)
        return self.empty if number is None else number


class TypedForm(forms.Form):
    """Takes what a browser sends (a `QueryDict`), or typed values by the names of the fields, which no page shows.

    `taken` are the fields whose typed values are not checked again. A field is checked if this form made it its own.
    """

    taken: Collection[str] = ()

    @property
    def is_typed(self) -> bool:
        return self.is_bound and not isinstance(self.data, QueryDict)

    def _clean_fields(self) -> None:
        """As Django 5.2 does, but for typed values without a BoundField and a widget for each field."""
        if not self.is_typed:
            super()._clean_fields()  # type: ignore[misc]  # the stubs have no private names
            return
        for name, field in self.fields.items():
            if name in self.taken and field is self.base_fields[name]:
                self.cleaned_data[name] = self.data.get(name)
                continue
            try:
                self.cleaned_data[name] = field.clean(self.data.get(name))
                if clean := getattr(self, f"clean_{name}", None):
                    self.cleaned_data[name] = clean()
            except forms.ValidationError as error:
                self.add_error(name, error)


class EditForm(TypedForm):
    """`is_new`: it creates a row, with the id `made_as`; otherwise it edits the row at `version`."""

    # The version that the person edits; empty for a new row.
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    # The id of the new row, so that a form sent twice creates one.
    made_as = forms.UUIDField(required=False, widget=forms.HiddenInput)

    is_new: bool

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        made_as = cleaned.get("made_as")
        is_fresh = "made_as" not in self.errors and (made_as is None or is_recent(made_as, timezone.now()))
        if self.is_new and not is_fresh:
            self.retype("made_as", str(uuid7()))
            refuse(self, None, "stale", _("This form was open for more than a day. Check it, then save again."))
        return cleaned

    def check_room(self, existing: int, most: int, problem: str) -> None:
        if self.is_new and existing >= most:
            refuse(self, None, "limit_reached", problem)

    def row(self, stored: Any) -> dict[str, Any]:
        """The id of the row that a valid form creates, or the id of the `stored` one with the version that it edits."""
        if stored is None:
            return {"id": self.cleaned_data["made_as"] or uuid7()}
        return {"id": stored.id, "version": self.cleaned_data["version"]}

    def try_to_save(self, save: Callable[[], object], compare: Callable[[Any], Differences]) -> Differences | None:
        """Save a valid form; None. If somebody has changed the row since, save nothing and return the differences.

        Then the form has the current version, so that saving again overwrites.
        """
        try:
            save()
        except VersionConflict as conflict:
            self.retype("version", str(conflict.current.version))
            return compare(conflict.current)
        return None

    def show_errors_of(self, names: Collection[str]) -> None:
        """Leave out the errors of all other fields: the person has not finished them."""
        for name in self.errors.keys() - set(names):
            del self.errors[name]

    def retype(self, name: str, value: str) -> None:
        """Show another value than was sent."""
        again = cast(QueryDict, self.data).copy()
        again[name] = value
        self.data = again


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
