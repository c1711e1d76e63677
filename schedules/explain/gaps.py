"""The times in which a schedule could not fire: paused, snoozed, archived, deleted, or on an excluded date.

Slots in them have no occurrence. They are computed from the rule that was in force at the time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from schedules import rules
from schedules.explain.causes import Cause, CauseCode
from schedules.models import Occurrence, Schedule, ScheduleEvent
from schedules.parts import slots
from schedules.rules import Timetable, civil

_Change = ScheduleEvent.Change
# Only the last so many events are read: gaps before them are not shown.
_MOST = 1_000
_BEGINS = {_Change.PAUSED, _Change.SNOOZED, _Change.DELETED, _Change.ARCHIVED}
_ENDS = {
    _Change.RESUMED: (CauseCode.PAUSED, CauseCode.SNOOZED, CauseCode.ARCHIVED),
    _Change.UNARCHIVED: (CauseCode.ARCHIVED,),
    _Change.RESTORED: (CauseCode.DELETED,),
    _Change.PAUSED: (CauseCode.SNOOZED, CauseCode.ARCHIVED),
    _Change.SNOOZED: (CauseCode.SNOOZED,),
}


@dataclass(frozen=True, slots=True)
class Gap:
    """The instants [first, last) in which slots of `timetable` did not fire. Aware."""

    cause: Cause
    timetable: Timetable
    first: datetime
    last: datetime


def gaps(schedule: Schedule, now: datetime) -> list[Gap]:
    """Those up to `now`, the one that ends last first. A gap in which the rule was edited is one for each rule."""
    return sorted(_gaps(schedule, now), key=lambda gap: gap.last, reverse=True)


def _gaps(schedule: Schedule, now: datetime) -> Iterator[Gap]:
    events = list(schedule.events.select_related("by").order_by("-id")[:_MOST])[::-1]
    end = now + civil.TICK
    timetables = list(_timetables(schedule, events, end))
    for cause, began, ended in _causes(events):
        for timetable, since, until in timetables:
            first, last = max(began, since) + civil.TICK, min(ended or end, until)
            if first < last:
                yield Gap(cause, timetable, first, last)
    created = events[0].at if events else schedule.created_at
    finished = _finished_at(schedule)
    for timetable, since, until in timetables:
        since, until = max(since, created), min(until, finished or until)
        for begins, ends in timetable.excluded_days(since, until):
            first, last = max(begins, since + civil.TICK), min(ends, until)
            if first < last:
                yield Gap(Cause(CauseCode.EXCLUDED), timetable.without_exclusions(), first, last)


def _finished_at(schedule: Schedule) -> datetime | None:
    """When the last slot fired, if the schedule has fired as often as it may."""
    if slots.left(schedule.max_count, schedule.fired_count) != 0:
        return None
    fired = schedule.occurrences.filter(outcome=Occurrence.Outcome.FIRED).exclude(reason=Occurrence.Reason.MANUAL)
    return fired.order_by("-scheduled_for").values_list("fired_at", flat=True).first() or schedule.last_fired_at


def _causes(events: Sequence[ScheduleEvent]) -> Iterator[tuple[Cause, datetime, datetime | None]]:
    """Each cause that an event began, when it began, and when it ended (None: it lasts)."""
    started: dict[CauseCode, ScheduleEvent] = {}
    for event in events:
        what = _Change(event.what)
        for code in _ENDS.get(what, ()):
            if code in started:
                yield _cause(code, started.pop(code), event.at)
        if what in _BEGINS:
            started.setdefault(CauseCode(what), event)
        if what == _Change.RESUMED and "snoozed_until" in event.detail:
            started[CauseCode.SNOOZED] = event
        if what == _Change.CREATED and "copy_of" in event.detail:
            started[CauseCode.PAUSED] = event
    for code, event in started.items():
        yield _cause(code, event, None)


def _cause(code: CauseCode, event: ScheduleEvent, ended: datetime | None) -> tuple[Cause, datetime, datetime | None]:
    by = "" if event.by is None else event.by.get_short_name()
    if code == CauseCode.SNOOZED:
        until = datetime.fromisoformat(event.detail.get("until") or event.detail["snoozed_until"])
        if ended is None or until <= ended:
            return Cause(code, event.at, until, by), event.at, until
    # A slot at the very instant of the event that ended it did not fire either.
    return Cause(code, event.at, ended, by), event.at, None if ended is None else ended + civil.TICK


def _timetables(
    schedule: Schedule, events: Sequence[ScheduleEvent], end: datetime
) -> Iterator[tuple[Timetable, datetime, datetime]]:
    """Each timetable that is still readable, from when until when it was in force, oldest first.

    Not those counted from Done: which slots they would have had is not known.
    """
    edits = [(event.detail["was"], event.at) for event in events if "was" in event.detail]
    since = civil.FIRST_INSTANT
    for timing, until in [*edits, ({name: getattr(schedule, name) for name in Schedule.TIMING}, end)]:
        if not timing.get("after_done") and (timetable := timetable_of(timing)) is not None:
            yield timetable, since, until
        since = until


def timetable_of(timing: Mapping[str, Any]) -> Timetable | None:
    """The timetable that an edit replaced, from the detail of its event; None for one that is unreadable now."""
    try:
        edges = (timing["starts_at"], timing["ends_at"])
        starts, ends = (datetime.fromisoformat(one) if isinstance(one, str) else one for one in edges)
        excluded = [date.fromisoformat(day) if isinstance(day, str) else day for day in timing.get("excluded", [])]
        return rules.stored(timing["kind"], timing["rule"], timing["time_zone"], starts, ends, excluded)
    except (rules.InvalidRule, KeyError, TypeError, ValueError):
        return None
