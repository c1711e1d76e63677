"""The slots that a timetable leaves out because of their date, as Explain tells them. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time, timedelta

from schedules.rules import Timetable, Work, civil

WHY = "On a date that is left out"


def with_them(timetable: Timetable) -> Timetable:
    """The same timetable, with no date left out."""
    return replace(timetable, excluded=frozenset())


def dates(timetable: Timetable) -> list[date]:
    """Those within the reach of the calendar, in order."""
    return sorted(day for day in timetable.excluded if civil.FIRST.date() < day < civil.LAST.date())


def hours(timetable: Timetable, day: date) -> tuple[datetime, datetime]:
    """The instants [first, end) at which the wall clock of the timetable's zone shows `day`."""
    first, end = (datetime.combine(shown, time()) for shown in (day, day + timedelta(days=1)))
    return civil.first_instant(timetable.rule.zone, first), civil.first_instant(timetable.rule.zone, end)


def between(timetable: Timetable, since: datetime, until: datetime) -> list[datetime]:
    """For each date that is left out, its first slot, where that lies after `since` and before `until`; in order.

    Raises InvalidRule where that costs too much.
    """
    everything, found, work = with_them(timetable), [], Work()
    for day in dates(timetable):
        first, end = hours(timetable, day)
        slot = everything.next_after(max(first - civil.TICK, since), work)
        if slot is not None and slot < min(end, until):
            found.append(slot)
    return found
