"""Timings as they are typed: `sunday 18:00`, `day 09:00`, `30 minutes`, `month 1 09:00`."""

import re
from datetime import datetime
from typing import Any

_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SHAPES = (
    "Write it as “30 minutes”, “2 hours”, “day 09:00”, “weekday 09:00”, “sunday 18:00”, "
    "“monday,thursday 09:00”, “month 1 09:00” or “month last 09:00”."
)
_INSTANT = "“{}” is not an instant. Write it with its offset, as “2026-03-15T09:00+01:00”."


def every(text: str) -> dict[str, Any]:
    """The timing of `--every`. Raises ValueError; the server checks the numbers."""
    match text.lower().replace(", ", ",").split():
        case [count, unit] if count.isdecimal() and (plural := _plural(unit)):
            return {"interval": {"every": int(count), "unit": plural}}
        case [unit] if unit in ("minute", "hour"):
            return {"interval": {"every": 1, "unit": f"{unit}s"}}
        case ["day", time]:
            return {"daily": {"time": _time(time)}}
        case ["weekday" | "weekdays", time]:
            return {"weekly": {"days": [0, 1, 2, 3, 4], "time": _time(time)}}
        case ["month", day, time] if day == "last" or day.isdecimal():
            return {"monthly": {"day": day if day == "last" else int(day), "time": _time(time)}}
        case [days, time]:
            return {"weekly": {"days": sorted({_day(day) for day in days.split(",")}), "time": _time(time)}}
    raise ValueError(f"“{text}” is not a timing. {_SHAPES}")


def once(text: str) -> dict[str, Any]:
    """The timing of `--once`: a civil time, or an instant if it has an offset. Raises ValueError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"“{text}” is not a time. Write it as “2026-03-15 09:00”.") from None
    if moment.tzinfo is not None:
        return {"onceAt": moment.isoformat()}
    return {"once": {"at": moment.isoformat()}}


def instant(text: str) -> datetime:
    """An instant with its offset. Raises ValueError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(_INSTANT.format(text)) from None
    if moment.tzinfo is None:
        raise ValueError(_INSTANT.format(text))
    return moment


def _plural(unit: str) -> str | None:
    unit = unit.removesuffix("s") + "s"
    return unit if unit in ("minutes", "hours", "days") else None


def _day(text: str) -> int:
    result = [number for number, name in enumerate(_DAYS) if len(text) >= 3 and name.startswith(text)]
    if not result:
        raise ValueError(f"“{text}” is not a day of the week. {_SHAPES}")
    return result[0]


def _time(text: str) -> str:
    if not re.fullmatch(r"\d{1,2}:\d{2}", text, re.ASCII):
        raise ValueError(f"“{text}” is not a time of day. Write it as “09:00”.")
    return text.zfill(5)
