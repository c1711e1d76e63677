"""When a watch expects its next ping."""

from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice

from django.utils.translation import gettext as _

from common.times import durations
from schedules.rules import InvalidRule, civil
from watches.models import Watch

_AHEAD = 8
"""Slots that are stored, so that most pings need not compute them."""
REACH = timedelta(minutes=1)
"""A ping is recorded at most so long after it came."""


def set_slots(watch: Watch, after: datetime) -> None:
    """Compute the stored slots strictly after an instant. An unreadable rule has none.

    A slot whose grace ends beyond what the database takes is not expected.
    """
    slots: list[datetime] = []
    if watch.period is None:
        with suppress(InvalidRule):
            last = civil.LAST_INSTANT - timedelta(seconds=watch.grace)
            slots = [slot for slot in islice(watch.timetable().after(after), _AHEAD) if slot < last]
    watch.slots, watch.is_over = slots, watch.period is None and len(slots) < _AHEAD


def deadline_after(watch: Watch, instant: datetime) -> datetime | None:
    """The end of the grace of the ping that follows one at `instant`; sets the stored slots. None if none follows."""
    set_slots(watch, instant)
    grace = timedelta(seconds=watch.grace)
    if watch.period is not None:
        return instant + timedelta(seconds=watch.period) + grace
    return watch.slots[0] + grace if watch.slots else None


def moved_deadline(watch: Watch) -> datetime | None:
    """The deadline of a watch as the zone data of today has it: its slot may have moved since it was computed."""
    if watch.period is not None or watch.deadline is None:
        return watch.deadline
    slot = watch.deadline - timedelta(seconds=watch.grace)
    try:
        again = watch.timetable().next_after(slot - civil.TICK)
    except InvalidRule:
        return watch.deadline
    return watch.deadline if again in (slot, None) else again + timedelta(seconds=watch.grace)


def when(watch: Watch) -> str:
    """When a ping is expected, in words: also of an unreadable rule, so that no page fails."""
    if watch.period is not None:
        return _("%(length)s after the last ping") % {"length": length(watch.period)}
    try:
        return watch.timetable().rule.describe()
    except InvalidRule as error:
        return _("Cannot be read: %(error)s") % {"error": error}


def length(seconds: float | None) -> str:
    """A length of time in words; "" for none."""
    return "" if seconds is None else durations.in_words(timedelta(seconds=seconds))
