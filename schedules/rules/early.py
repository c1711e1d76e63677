"""When a reminder also sends a message before a slot. Pure.

Whole days are counted on the wall clock of its zone, so that "1 day before 09:00" is 09:00 also when the clock changes
in between; everything else is elapsed time.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.utils.text import capfirst
from django.utils.timesince import TIME_STRINGS
from django.utils.translation import gettext as _

from common import zones
from schedules.rules import civil, words

DAY = 24 * 60
MOST = 5
"""Early messages of a slot."""
LONGEST = 28 * DAY
"""Minutes before a slot."""


class EarlyTime(NamedTuple):
    at: datetime
    minutes: int


def times(slot: datetime, early: Iterable[int], zone: ZoneInfo) -> list[EarlyTime]:
    """The times of early messages of a slot, in order. Instants are aware."""
    return sorted(EarlyTime(before(slot, minutes, zone), minutes) for minutes in early)


def before(slot: datetime, minutes: int, zone: ZoneInfo) -> datetime:
    """The instant so many minutes before a slot."""
    if minutes % DAY:
        return slot - timedelta(minutes=minutes)
    return civil.first_instant(zone, civil.local(zone, slot) - timedelta(minutes=minutes))


def next_at(slot: datetime | None, early: Collection[int], time_zone: str, since: datetime) -> datetime | None:
    """The first time after `since` at which it sends a message before this slot."""
    if slot is None or not early:
        return None
    return next((one.at for one in times(slot, early, zones.read(time_zone)) if one.at > since), None)


def length(minutes: int) -> str:
    """ "1 day 10 minutes": whole and in full words, for the form reads it again."""
    days, rest = divmod(minutes, DAY)
    parts = zip(("day", "hour", "minute"), (days, *divmod(rest, 60)), strict=True)
    texts = [str(TIME_STRINGS[unit] % {"num": count}) for unit, count in parts if count]
    return " ".join(texts).replace("\N{NO-BREAK SPACE}", " ")


def written(early: Iterable[int]) -> str:
    """As they are typed into a form: "1 day, 10 minutes"."""
    return ", ".join(map(length, early))


def describe(rule: str, early: Iterable[int]) -> str:
    """ "Every day at 09:00, also 1 day and 10 minutes before"; without a rule, the second half alone."""
    if not (lengths := [length(minutes) for minutes in sorted(early, reverse=True)]):
        return rule
    also = _("also %(times)s before") % {"times": words.listed(lengths)}
    return f"{rule}, {also}" if rule else capfirst(also)
