"""The form field of hours by weekday: seven pairs of times on the page, one object from a program or a file."""

from collections.abc import Iterator, Mapping
from datetime import time
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import dates
from django.utils.translation import gettext as _

from people.quiet import DAYS

_EDGES = ("from", "until")


class _Pairs(forms.Widget):
    use_fieldset = True

    def value_from_datadict(self, data: Mapping[str, Any], files: object, name: str) -> Any:
        if name in data:
            return data[name]
        pairs = {day: [data.get(f"{name}-{day}-{edge}", "") for edge in _EDGES] for day in DAYS}
        return {day: pair for day, pair in pairs.items() if any(pair)}

    def value_omitted_from_data(self, data: Mapping[str, Any], files: object, name: str) -> bool:
        return False


class WeeklyHoursField(forms.Field):
    """{"mon": ["08:00", "18:00"]}; empty where no hours are set."""

    widget = _Pairs

    def clean(self, value: Any) -> dict[str, list[str]]:
        if not value:
            return {}
        if not isinstance(value, Mapping) or not value.keys() <= set(DAYS):
            text = _("Write an object with days from mon to sun, such as %(example)s.")
            raise ValidationError(text % {"example": '{"mon": ["08:00", "18:00"]}'})
        return {day: _pair(number, value[day]) for number, day in enumerate(DAYS) if day in value}


def _pair(number: int, pair: Any) -> list[str]:
    try:
        opens, closes = pair
        return [f"{time.fromisoformat(edge):%H:%M}" for edge in (opens, closes)]
    except (TypeError, ValueError):
        text = _("%(day)s: enter both times, such as 08:00 and 18:00, or leave both empty.")
        raise ValidationError(text % {"day": dates.WEEKDAYS[number]}) from None


def inputs(field: forms.BoundField) -> Iterator[dict[str, Any]]:
    """For each day from Monday its name, and the name and value of its two inputs."""
    value = field.value()
    pairs = value if isinstance(value, Mapping) else {}
    for number, day in enumerate(DAYS):
        pair = [*(pairs.get(day) or []), "", ""][:2]
        edges = [(f"{field.html_name}-{day}-{edge}", typed) for edge, typed in zip(_EDGES, pair, strict=True)]
        yield {"name": dates.WEEKDAYS[number], "edges": edges}
