"""A field for a length of time: a number and its unit on a page, seconds from a program."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from common.texts.types import StrOrPromise
from work.reasons import FORMATS

_HOUR = "3600"
_UNITS = {
    "1": gettext_lazy("seconds"),
    "60": gettext_lazy("minutes"),
    _HOUR: gettext_lazy("hours"),
    "86400": gettext_lazy("days"),
}


class SecondsWidget(forms.MultiWidget):
    def __init__(self, label: StrOrPromise) -> None:
        number = forms.NumberInput(attrs={"min": 1, "inputmode": "numeric", "aria-label": label})
        select = forms.Select(
            choices=list(_UNITS.items()), attrs={"aria-label": format_lazy(gettext_lazy("{label}: unit"), label=label)}
        )
        super().__init__([number, select])

    def decompress(self, value: Any) -> list[Any]:
        if not isinstance(value, int):
            return [value, _HOUR]
        unit = next(size for size in sorted(map(int, _UNITS), reverse=True) if value % size == 0)
        return [value // unit, str(unit)]


class SecondsField(forms.IntegerField):
    """Cleaned to seconds, None if empty. An empty field offers hours. `needed`: its form refuses an empty one."""

    def __init__(
        self, *, label: StrOrPromise, least: int, most: int, help_text: StrOrPromise = "", needed: bool = False
    ) -> None:
        duration = lazy(FORMATS["duration"], str)
        problem = format_lazy(
            gettext_lazy("Enter a whole number, for a time from {least} to {most}.")
            if needed
            else gettext_lazy("Enter a whole number, for a time from {least} to {most}; or leave it empty."),
            least=duration(least),
            most=duration(most),
        )
        super().__init__(
            label=label,
            required=False,
            min_value=least,
            max_value=most,
            widget=SecondsWidget(label),
            help_text=help_text,
            error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), problem),
        )

    def to_python(self, value: Any) -> int | None:
        if not isinstance(value, list):
            return super().to_python(value)
        amount, unit = value
        if (number := super().to_python(amount)) is not None and unit not in _UNITS:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return None if number is None else number * int(unit)
