"""The times to which a reminder or a message is put off, in its person's zone: the same wherever somebody snoozes."""

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from common.times import civil_time

FURTHEST = timedelta(days=366)
"""How far ahead a message can be snoozed, or sent later."""
_FURTHEST_ON_PAGES = timedelta(days=36_600)
TEXTS = {
    "required": gettext_lazy("Choose a date and a time."),
    "not_a_time": gettext_lazy("“%(text)s” is not a date and time."),
    "passed": gettext_lazy("This time has passed. Choose a later one."),
    "too_far": gettext_lazy("Choose a time within a year."),
    "over_a_century": gettext_lazy("Choose a time within a hundred years."),
}
_MORNING, _EVENING = time(8), time(18)


class Preset(NamedTuple):
    """`until` makes the end of a snooze of the aware present time; a naive end is one on its person's clock."""

    value: str
    label: str | Promise
    until: Callable[[datetime], datetime]


class InvalidSnooze(ValueError):
    """Says to its person why nothing can be snoozed until this time; `code` is one of TEXTS."""

    def __init__(self, code: str, **params: str) -> None:
        super().__init__(TEXTS[code] % params)
        self.code = code


def check(until: datetime, now: datetime, furthest: timedelta = timedelta.max) -> None:
    """Both are aware. Raises InvalidSnooze if `until` is not to come, or is further away."""
    if until <= now:
        raise InvalidSnooze("passed")
    if until - now > furthest:
        raise InvalidSnooze("too_far")


def _in_days(days: int, now: datetime, at: time = _MORNING) -> datetime:
    return datetime.combine(now.date() + timedelta(days=days), at)


PRESETS = (
    Preset("10-minutes", gettext_lazy("10 minutes"), lambda now: now.astimezone(UTC) + timedelta(minutes=10)),
    Preset("1-hour", gettext_lazy("1 hour"), lambda now: now.astimezone(UTC) + timedelta(hours=1)),
    Preset("evening", gettext_lazy("This evening, 18:00"), lambda now: _in_days(0, now, _EVENING)),
    Preset("tomorrow", gettext_lazy("Tomorrow, 08:00"), lambda now: _in_days(1, now)),
    Preset("next-week", gettext_lazy("Next Monday, 08:00"), lambda now: _in_days(7 - now.weekday(), now)),
)
ALWAYS = tuple(one for one in PRESETS if one.value != "evening")
"""Those that are to come at any time of a day."""


def offered(now: datetime, zone: ZoneInfo) -> list[Preset]:
    """Those that are still to come, at the aware `now`."""
    return [one for one in PRESETS if _instant(one, now, zone) > now]


def until(choice: str, picked: str, now: datetime, zone: ZoneInfo) -> datetime:
    """The instant of a preset, or else of the time `picked` on a clock of `zone`.

    Raises InvalidSnooze for what is not a time; what snoozes calls `check`.
    """
    if preset := next((one for one in PRESETS if one.value == choice), None):
        return _instant(preset, now, zone)
    if not picked.strip():
        raise InvalidSnooze("required")
    try:
        civil = datetime.fromisoformat(picked.strip()).replace(tzinfo=None)
    except ValueError:
        raise InvalidSnooze("not_a_time", text=picked[:40]) from None
    if abs(civil - civil_time.local(zone, now)) > _FURTHEST_ON_PAGES:
        raise InvalidSnooze("over_a_century")
    return civil_time.first_instant(zone, civil)


def _instant(preset: Preset, now: datetime, zone: ZoneInfo) -> datetime:
    ends = preset.until(now.astimezone(zone))
    return ends if ends.tzinfo else civil_time.first_instant(zone, ends)
