"""When something is due: seven kinds of rule, and the timetable of a rule within its window. Pure.

    rule = parse("daily", {"time": "09:00"}, "Europe/Berlin")
    rule.next_after(datetime(2026, 3, 28, 12, tzinfo=UTC))   # 2026-03-29 07:00 UTC
    rule.describe()                                          # "Every day at 09:00, Berlin time"

docs/time.md explains how clock changes are treated.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from schedules.rules import working_days
from schedules.rules.cron import Cron
from schedules.rules.dated import Daily, Monthly, Weekly
from schedules.rules.interval import Interval
from schedules.rules.invalid import InvalidRule, Work
from schedules.rules.once import Once
from schedules.rules.rrule import RRule
from schedules.rules.rule import Rule
from schedules.rules.timetable import Timetable
from schedules.rules.working_days import WorkingDays

__all__ = ["KINDS", "InvalidRule", "Rule", "Timetable", "Work", "WorkingDays", "parse", "stored"]

_canonical = json.JSONEncoder(sort_keys=True).encode
KINDS: dict[str, type[Rule]] = {rule.kind: rule for rule in (Once, Interval, Daily, Weekly, Monthly, Cron, RRule)}


def parse(kind: str, data: Mapping[str, Any], timezone: str) -> Rule:
    """The rule of `kind` with its canonical JSON `data`, read in the IANA zone `timezone`.

    Times of `data` may also be values. Raises InvalidRule, whose `field` is "kind", "timezone" or the wrong parameter.
    """
    if kind not in KINDS:
        raise InvalidRule("kind", "kind", kind=str(kind)[:40], kinds=", ".join(KINDS))
    try:
        written = _canonical(data)
    except (TypeError, ValueError):
        return _read(kind, data, timezone)
    return _parse(kind, written, timezone)


def stored(
    kind: str,
    data: Mapping[str, Any],
    timezone: str,
    starts: datetime | None,
    ends: datetime | None,
    excluded: Iterable[date],
) -> Timetable:
    """The timetable of a stored row. Raises InvalidRule for any damage."""
    try:
        return Timetable(parse(kind, data, timezone), starts, ends, frozenset(excluded))
    except InvalidRule:
        raise
    except Exception as error:
        raise InvalidRule("rule", "damaged", name=type(error).__name__) from error


@lru_cache(maxsize=10_000)
def _parse(kind: str, written: str, timezone: str) -> Rule:
    # A beat reads the same rules again and again.
    return _read(kind, json.loads(written), timezone)


def _read(kind: str, data: Mapping[str, Any], timezone: str) -> Rule:
    if not isinstance(data, Mapping) or not data.get("off_days") or not working_days.fits(KINDS[kind]):
        return KINDS[kind].parse(data, timezone)
    own = {name: value for name, value in data.items() if name not in working_days.PARAMETERS}
    return WorkingDays.of(lambda: KINDS[kind].parse(own, timezone), data)
