"""Read the parameters that several kinds of rule share. Each function raises InvalidRule."""

import re
from collections.abc import Mapping
from datetime import time
from typing import Any

from common.texts.numbers import grouped
from schedules.rules.invalid import InvalidRule

_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


def time_of_day(data: Mapping[str, Any]) -> time:
    """The "time" of `data`, local, 24 h."""
    value = data.get("time")
    if isinstance(value, time):
        return value.replace(second=0, microsecond=0)
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise unusable("time", "time", value)
    return time(int(match[1]), int(match[2]))


def whole_number(value: Any, field: str, lowest: int, highest: int, code: str, **params: Any) -> int:
    """`value` as an int in [lowest, highest]; not a bool or a float."""
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise unusable(field, code, value, **params)
    return value


def text(data: Mapping[str, Any], field: str, longest: int, code: str) -> str:
    """The non-empty text in `field`, at most `longest` characters."""
    value = data.get(field)
    if not isinstance(value, str) or not value.strip():
        raise unusable(field, code, value)
    if len(value) > longest:
        raise InvalidRule(field, "too_long", count=grouped(len(value)), longest=longest)
    return value.strip()


def unusable(field: str, code: str, value: Any, **params: Any) -> InvalidRule:
    if value is None or value == "":
        return InvalidRule(field, code, **params)
    shown = str(value)
    return InvalidRule(field, code, given=shown if len(shown) <= 40 else shown[:39] + "…", **params)
