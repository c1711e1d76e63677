"""Sentences about slots, for the pages, the admin and the commands. Code elsewhere works with codes."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings

from common import durations
from schedules.models import Occurrence
from schedules.rules import InvalidRule, Timetable, Work, civil
from schedules.rules.rule import ClockChange
from schedules.rules.words import city, clock, listed

# By `Occurrence.Reason` and `explain.causes.Code`; "from …", "to …" and "by …" follow where they are known.
CAUSES: dict[str, str] = {
    **{reason.value: reason.label.capitalize() for reason in Occurrence.Reason},
    Occurrence.Reason.ASKED: "Skipped",
    Occurrence.Reason.MANUAL: "Run outside of the timetable",
    "paused": "Paused",
    "snoozed": "Snoozed",
    "deleted": "Deleted",
    "excluded": "On a date that is left out",
    "no-beat": "No beat was seen (none ran, or the database was away)",
    "catching-up": "Beats were catching up: none had been seen",
    "unknown": "No cause is on record: beats were seen all the time, so they or the database may have been busy",
}
# A rule that fires less often than this does not surprise anybody by waiting an hour longer.
_FREQUENT = timedelta(hours=12)


def limit_reached() -> str:
    most = settings.MOST_SCHEDULES
    return f"You have {most} reminders, as many as one person may have here. Delete one that you no longer need."


def clock_note(timetable: Timetable, slot: datetime, work: Work | None = None) -> str:
    """What a clock change did to a slot; "" if nothing, or if finding out costs more than `work` has left.

    After the clock is turned back, a rule that fires several times a day waits until the clock has caught up.
    """
    try:
        change = timetable.rule.clock_change(slot)
        following = None if timetable.rule.is_elapsed else timetable.next_after(slot, work)
    except InvalidRule:
        return ""
    said = clock_change(change)
    if following is None or following - slot > _FREQUENT:
        return said
    zone, wait = timetable.rule.zone, following - slot
    shown = civil.local(zone, following)
    if shown - civil.local(zone, slot) >= wait:
        return said
    silent = f"silent while the clock shows the hour again: the next is at {clock(shown)}, {durations.said(wait)} later"
    return f"{said}; {silent}" if said else f"{silent[0].upper()}{silent[1:]}"


def clock_change(change: ClockChange | None) -> str:
    if change is None:
        return ""
    first, count = change.times[0], len(change.times)
    where = f"on {first.date()} in {city(change.timezone)}"
    if change.code in {"once", "both"}:
        fires = "fires once, the first time" if change.code == "once" else "fires both times"
        return f"{clock(first)} happens twice {where}: {fires}"
    shown = [clock(time) for time in change.times]
    # A whole lost day can hold 1,440 of them.
    named = listed(shown) if count <= 4 else f"{shown[0]}, {shown[1]} … {shown[-1]} ({count} times)"
    at = clock(change.fires_at)
    if change.fires_at.date() != first.date():
        at += f" on {change.fires_at.date()}"
    if change.code == "merged":
        fires = f"merged with {at}"
    else:
        fires = f"fires at {at}" if count == 1 else f"fires once for them, at {at}"
    return f"{named} {'does' if count == 1 else 'do'} not exist {where}: {fires}"
