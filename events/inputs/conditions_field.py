"""The field for the conditions of a rule: rows of a field, an operator and a value, without a script."""

import re
from collections.abc import Iterator
from itertools import zip_longest
from math import isfinite
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from events.pure import matching
from events.reasons import OPERATORS

MOST_CONDITIONS = 20
LONGEST_VALUE = 500
PARTS = ("field", "operator", "value")

Row = dict[str, Any]
_TEXT = forms.CharField(required=False)  # strips, and refuses NUL


class ConditionsWidget(forms.Widget):
    """A page sends the parts of all rows under three names.

    A row that nobody has filled in is None, so that the numbers of the others stay.
    """

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        columns = [data.getlist(f"{name}_{part}") for part in PARTS]
        rows = [dict(zip(PARTS, row, strict=True)) for row in zip_longest(*columns, fillvalue="")]
        return [row if row["field"].strip() or row["value"].strip() else None for row in rows]


class ConditionsField(forms.Field):
    """Cleaned to the conditions as a rule stores them. Values of a page are texts.

    The code of an error of one row has the row and its part in front, such as `1.value.required`.
    """

    widget = ConditionsWidget

    def clean(self, value: Any) -> list[Row]:
        rows = [(number, row) for number, row in enumerate(value or []) if row is not None]
        if len(rows) > MOST_CONDITIONS:
            text = _("These are %(count)s conditions; at most %(most_conditions)s are possible.")
            raise ValidationError(text % {"count": len(rows), "most_conditions": MOST_CONDITIONS}, "too_many")
        errors: list[ValidationError] = []
        cleaned = [_clean_row(number, row, errors) for number, row in rows]
        if errors:
            raise ValidationError(errors)
        return cleaned


def _clean_row(number: int, row: Row, errors: list[ValidationError]) -> Row:
    cleaned: Row = {}
    for part in PARTS:
        try:
            cleaned[part] = _TEXT.clean(matching.shown(row.get(part, "")))
        except ValidationError as error:
            errors.append(ValidationError(error.message, f"{number}.{part}.{error.code}"))
            cleaned[part] = ""
    for part, code, problem in _problems(**cleaned):
        errors.append(ValidationError(problem, f"{number}.{part}.{code}"))
    if cleaned["operator"] == "exists":
        cleaned["value"] = ""
    elif not isinstance(row.get("value", ""), str):
        cleaned["value"] = row["value"]  # a program's number stays one
    return cleaned


def _problems(field: str, operator: str, value: str) -> Iterator[tuple[str, str, str]]:
    if not field:
        yield "field", "required", _("Enter a field, such as data.amount.")
    elif not matching.is_field(field):
        yield "field", "unknown_field", _unknown_field(field)
    if operator not in OPERATORS:
        yield "operator", "invalid_choice", _("Choose one of: %(operators)s.") % {"operators": ", ".join(OPERATORS)}
    if len(value) > LONGEST_VALUE:
        text = _("This value is %(count)s characters long; at most %(longest_value)s fit.")
        yield "value", "max_length", text % {"count": len(value), "longest_value": LONGEST_VALUE}
    elif operator in ("above", "below") and not _is_number(value):
        yield "value", "not_a_number", _("Enter a number, such as 100.")
    elif operator == "contains" and not value:
        yield "value", "required", _("Enter what it must contain.")


def _unknown_field(field: str) -> str:
    if matching.PATH.fullmatch(f"data.{field}"):
        return _("“%(field)s” is not a field of an event. Write data.%(field)s for a field of its data.") % {
            "field": field[:80]
        }
    places = ", ".join(matching.PLACES)
    return _(
        "“%(field)s” is not a field of an event. Write data. and at most %(deepest)s names of letters, digits, “_” "
        "and “-”, such as data.customer.id; or one of %(places)s."
    ) % {"field": field[:80], "deepest": matching.DEEPEST, "places": places}


def check_field(field: str) -> None:
    if not matching.is_field(field):
        raise ValidationError(_unknown_field(field), "unknown_field")


def _is_number(value: str) -> bool:
    try:
        return isfinite(float(value)) and re.search(r"[_a-df-z]", value, re.I) is None
    except ValueError:
        return False
