"""Read the parameters that several kinds of rule share. Each function raises InvalidRule."""

import re
from collections.abc import Mapping
from datetime import time
from typing import Any

from django.utils.translation import gettext as _

from common.texts.numbers import grouped
from common.texts.types import StrOrPromise
from schedules.rules.invalid import InvalidRule

_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


def time_of_day(data: Mapping[str, Any]) -> time:
    """The "time" of `data`, local, 24 h."""
    value = data.get("time")
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise InvalidRule(
            "time", _wrong(value, _("Write the time as hours and minutes from 00:00 to 23:59, such as 09:00."))
        )
    return time(int(match[1]), int(match[2]))


def whole_number(value: Any, field: str, lowest: int, highest: int, example: StrOrPromise) -> int:
    """`value` as an int in [lowest, highest]; not a bool or a float."""
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise InvalidRule(field, _wrong(value, example))
    return value


def text(data: Mapping[str, Any], field: str, longest: int, example: StrOrPromise) -> str:
    """The non-empty text in `field`, at most `longest` characters."""
    value = data.get(field)
    if not isinstance(value, str) or not value.strip():
        raise InvalidRule(field, _wrong(value, example))
    if len(value) > longest:
        raise InvalidRule(
            field,
            _("This is %(count)s characters long; at most %(longest)s are read.")
            % {"count": grouped(len(value)), "longest": grouped(longest)},
        )
    return value.strip()


def _wrong(value: Any, right: StrOrPromise) -> StrOrPromise:
    if value is None or value == "":
        return right
    shown = str(value)
    return _("“%(value)s” cannot be used here. %(remedy)s") % {
        "value": shown if len(shown) <= 40 else shown[:39] + "…",
        "remedy": right,
    }
