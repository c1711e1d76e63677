"""The times in which a schedule did not fire, by what was done to it: paused, snoozed, deleted; dates left out.

Its slots in them have no occurrence. They are those of the rule that was in force at the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from schedules import rules
from schedules.explain import excluded_dates
from schedules.models import Schedule, ScheduleEvent
from schedules.rules import Timetable, civil

_What = ScheduleEvent.What
# Only the last so many events are read; who edits more often than that is not shown the times before.
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Silence:
    """A time in [first, last) in which slots of `timetable` did not fire, because of what `by` did at `began`.

    `ended` is None while it lasts; instants are aware. Of an excluded date, `began` is None.
    """

    what: str
    began: datetime | None
    ended: datetime | None
    by: str
    timetable: Timetable
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class _Range:
    what: str
    began: datetime
    ended: datetime | None
    by: str
    last: datetime | None


def silences(schedule: Schedule, now: datetime) -> list[Silence]:
    """Up to `now`, the one that ends last first; one for each rule that was in force in each of the times."""
    return sorted(_silences(schedule, now), key=lambda silence: silence.last, reverse=True)


def _silences(schedule: Schedule, now: datetime) -> Iterator[Silence]:
    events = list(schedule.events.select_related("by").order_by("-id")[:_MOST])[::-1]
    end = now + civil.TICK
    timings = list(_timings(schedule, events, end))
    for silent in _ranges(events):
        for timetable, since, until in timings:
            first, last = max(silent.began, since) + civil.TICK, min(silent.last or end, until)
            if timetable is not None and first < last:
                yield Silence(silent.what, silent.began, silent.ended, silent.by, timetable, first, last)
    made = events[0].at if events else schedule.created_at
    for timetable, since, until in timings:
        if timetable is not None:
            yield from _left_out(timetable, max(since, made), min(until, _over(schedule) or until))


def _left_out(timetable: Timetable, since: datetime, until: datetime) -> Iterator[Silence]:
    for day in excluded_dates.dates(timetable):
        begins, ends = excluded_dates.hours(timetable, day)
        first, last = max(begins, since + civil.TICK), min(ends, until)
        if first < last:
            yield Silence(excluded_dates.WHY, None, None, "", excluded_dates.with_them(timetable), first, last)


def _over(schedule: Schedule) -> datetime | None:
    """When its last slot fired, where it has fired as often as it may."""
    used_up = schedule.max_count is not None and schedule.fired_count >= schedule.max_count
    return schedule.last_fired_at if used_up else None


def _ranges(events: Sequence[ScheduleEvent]) -> Iterator[_Range]:
    """What was silent since an event, until one that ends it."""
    begun: dict[str, ScheduleEvent] = {}
    ends = {_What.RESUMED: ["Paused", "Snoozed"], _What.RESTORED: ["Deleted"], _What.PAUSED: ["Snoozed"]}
    begins = {_What.PAUSED: "Paused", _What.SNOOZED: "Snoozed", _What.DELETED: "Deleted"}
    for event in events:
        what = _What(event.what)
        for ended in ends.get(what, []) + (["Snoozed"] if what == _What.SNOOZED else []):
            if ended in begun:
                yield _range(ended, begun.pop(ended), event.at)
        if what in begins:
            begun.setdefault(begins[what], event)
        if what == _What.CREATED and "copy_of" in event.detail:
            begun["Paused"] = event
    for what_lasts, event in begun.items():
        yield _range(what_lasts, event, None)


def _range(what: str, event: ScheduleEvent, ended: datetime | None) -> _Range:
    by = "" if event.by is None else event.by.get_short_name()
    if what == "Snoozed":
        until = datetime.fromisoformat(event.detail["until"])
        if ended is None or until <= ended:
            return _Range(what, event.at, until, by, until)
    # A slot at the very instant at which somebody ended it was silent too.
    return _Range(what, event.at, ended, by, None if ended is None else ended + civil.TICK)


def _timings(
    schedule: Schedule, events: Sequence[ScheduleEvent], end: datetime
) -> Iterator[tuple[Timetable | None, datetime, datetime]]:
    """Which rule was in force from when until when, oldest first; None for one that cannot be read any more."""
    since = civil.FIRST_INSTANT
    for event in events:
        if was := event.detail.get("was"):
            yield timetable_of(was), since, event.at
            since = event.at
    yield timetable_of({name: getattr(schedule, name) for name in _FIELDS}), since, end


_FIELDS = ("kind", "rule", "time_zone", "starts_at", "ends_at", "excluded")


def timetable_of(timing: Mapping[str, Any]) -> Timetable | None:
    """The timetable of what an edit's event says the timing was; None for one that cannot be read any more."""
    try:
        starts, ends = (_instant(timing[name]) for name in ("starts_at", "ends_at"))
        excluded = [_date(day) for day in timing.get("excluded", [])]
        return rules.stored(timing["kind"], timing["rule"], timing["time_zone"], starts, ends, excluded)
    except (rules.InvalidRule, KeyError, TypeError, ValueError):
        return None


def _instant(written: str | datetime | None) -> datetime | None:
    return datetime.fromisoformat(written) if isinstance(written, str) else written


def _date(written: str | date) -> date:
    return date.fromisoformat(written) if isinstance(written, str) else written
