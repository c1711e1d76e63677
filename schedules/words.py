"""Sentences about schedules and slots: for pages, the admin, commands and notices. Code elsewhere works with codes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import date, datetime, timedelta
from itertools import count

from django.conf import settings
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from common import durations
from notifications.models import Channel
from schedules.models import Occurrence, ScheduleEvent
from schedules.rules import InvalidRule, Timetable, Work, civil
from schedules.rules.rule import ClockChange
from schedules.rules.words import city, clock, listed

# By `Occurrence.Reason` and `explain.causes.Code`; "from …", "to …" and "by …" follow where they are known.
CAUSES: dict[str, str | Promise] = {
    "late": "Sent late, after its grace",
    "misfire": "Missed while it was off; only the latest is sent late",
    "no-channel": "No channel to send to",
    "broken": "The rule could not be read",
    "asked": "Skipped",
    "manual": "Run outside of the timetable",
    "paused": "Paused",
    "snoozed": "Snoozed",
    "deleted": "Deleted",
    "archived": gettext_lazy("Archived"),
    "holiday": gettext_lazy("Nothing was sent: holiday"),
    "excluded": "On a date that is left out",
    "no-beat": "Carillon was not running",
    "catching-up": "Carillon was catching up: it was not running",
    "unknown": "No cause is on record: Carillon was running all the time, so it or the database may have been busy",
}
# By `ScheduleEvent.What`; the others are said as they are written.
_CHANGES = {
    "skipped": "next one skipped",
    "unskipped": "skip undone",
    "run": "run now",
    "reclocked": "moved by a change of the zone database",
    "unarchived": gettext_lazy("taken out of the archive"),
}
# A rule that fires less often than this does not surprise anybody by waiting an hour longer.
_FREQUENT = timedelta(hours=12)


def reason(code: str) -> str:
    """Why an occurrence was skipped, or fired otherwise than in time; "" without a reason."""
    by_hand = code in {Occurrence.Reason.ASKED, Occurrence.Reason.MANUAL}
    return str(CAUSES.get(code, "")) + " by a person" * by_hand


def held(rings_at: str, until: str, labels: Sequence[str]) -> str:
    """A slot in quiet hours, which hold it on these channels; on all if none is named."""
    where = f" on {listed(labels)}" if labels else ""
    return f"Held until {until}{where} by your quiet hours; make it urgent to ring at {rings_at}"


def held_too(until: str) -> str:
    return f"Held until {until}"


def holiday(first: date, last: date) -> str:
    """Why a slot will send nothing."""
    days = {"first": date_format(first), "last": date_format(last)}
    if first == last:
        return _("Nothing is sent: holiday on %(first)s") % days
    return _("Nothing is sent: holiday from %(first)s to %(last)s") % days


def past_holiday(first: date, last: date) -> str:
    """Why a slot sent nothing."""
    days = {"first": date_format(first), "last": date_format(last)}
    if first == last:
        return _("Nothing was sent: holiday on %(first)s") % days
    return _("Nothing was sent: holiday from %(first)s to %(last)s") % days


def copy_of(title: str, taken: Collection[str], longest: int = 200) -> str:
    """The title of a copy: “Rent (copy)”, “Rent (copy 2)”, … - the first that is not taken."""
    copied = re.fullmatch(rf"(.*\S) \({re.escape(_('copy'))}(?: \d+)?\)", title, re.DOTALL)
    original: str = copied[1] if copied else title
    for number in count(1):
        suffix = _(" (copy)") if number == 1 else _(" (copy %(number)d)") % {"number": number}
        named: str = original[: longest - len(suffix)].rstrip() + suffix
        if named not in taken:
            return named
    raise AssertionError  # there are more numbers than titles


def notes(*notes: str) -> str:
    """Notes on one slot, without a dot at the end."""
    return ". ".join(note for note in notes if note)


def unreached(channel: Channel) -> str:
    """Why messages do not arrive on a channel."""
    if channel.removed_at is not None:
        return f"“{channel.label}” was removed."
    if channel.disabled_at is not None:
        return f"“{channel.label}” was disabled. {channel.disabled_reason}".rstrip()
    if channel.verified_at is None:
        return f"“{channel.label}” is not confirmed yet."
    return f"The last message to “{channel.label}” failed."


def change(event: ScheduleEvent) -> str:
    return str(_CHANGES.get(event.what, event.what))


def broken(title: str, error: str, page: str) -> tuple[str, str]:
    """Subject and body of the notice about a schedule whose rule cannot be read; `page` is its address."""
    return (
        f"“{title[:150]}” does not ring any more",
        f"It cannot be read: {error}\n\nNothing is sent until you edit it: {page}",
    )


def without_channel(title: str, page: str) -> tuple[str, str]:
    return f"“{title[:150]}” has no channel", f"It was due, and nothing was sent. Choose a channel for it: {page}"


def damaged_zone(zone: str, page: str) -> tuple[str, str]:
    return (
        "Your time zone is not known",
        f"There is no time zone “{zone}” (any more). Until you choose another, pages show times in UTC, and your quiet "
        f"hours do not hold: {page}",
    )


def limit_reached() -> str:
    most = settings.MOST_SCHEDULES
    return f"You have {most} reminders, as many as one person may have here. Delete one that you no longer need."


def calendar_left_out(title: str, count: int) -> tuple[str, str]:
    """Subject and body of the notice that a calendar has more events than its person may have reminders."""
    return f"“{title[:150]}” leaves out {count} events", limit_reached()


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
        fires = "rings once, the first time" if change.code == "once" else "rings both times"
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
        fires = f"rings at {at}" if count == 1 else f"rings once for them, at {at}"
    return f"{named} {'does' if count == 1 else 'do'} not exist {where}: {fires}"
