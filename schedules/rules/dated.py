"""Rules of dates, with one time on each. Their slots in a span are found without a search for each."""

from abc import abstractmethod
from bisect import bisect_left
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import ClassVar
from zoneinfo import ZoneInfo

from common.times.civil_time import begin_of
from schedules.rules import civil
from schedules.rules.invalid import Work
from schedules.rules.rule import CivilRule

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class DatedRule(CivilRule):
    """At `time` on each date that it `is_on`."""

    is_dated: ClassVar[bool] = True

    time: time

    @abstractmethod
    def is_on(self, day: date) -> bool: ...

    def next_civil(self, after: datetime, work: Work) -> datetime:
        due = datetime.combine(after, self.time)
        while due <= after or not self.is_on(due.date()):
            due += _DAY
        return due

    def between(self, begin: datetime, end: datetime) -> list[datetime]:
        """The slots in [begin, end), both aware, in order: those that `next_after` finds, at a fraction of the cost."""
        slots = _slots(self, civil.local(self.zone, begin).date(), civil.local(self.zone, end).date())
        return slots[bisect_left(slots, begin) : bisect_left(slots, end)]


@lru_cache(maxsize=1_000)
def _slots(rule: DatedRule, first: date, last: date) -> list[datetime]:
    """Those of the dates from the day before `first` to `last`."""
    since_midnight = timedelta(hours=rule.time.hour, minutes=rule.time.minute)
    slots: list[datetime] = []
    before = None
    for day, midnight, is_plain in _dates(rule.zone, first - _DAY, last):
        if not rule.is_on(day):
            continue
        slot = (
            midnight + since_midnight if is_plain else civil.first_instant(rule.zone, datetime.combine(day, rule.time))
        )
        if slot != before:  # a date that the clock skips comes with the next one
            slots.append(slot)
            before = slot
    return slots


@lru_cache(maxsize=500)
def _dates(zone: ZoneInfo, first: date, last: date) -> list[tuple[date, datetime, bool]]:
    """The dates from `first` to `last`, their first instants, and whether the clock stays as it is on them."""
    days = [first + number * _DAY for number in range((last - first).days + 2)]
    begins = [begin_of(day, zone) for day in days]
    return [
        (day, begin, end - begin == _DAY) for day, begin, end in zip(days[:-1], begins[:-1], begins[1:], strict=True)
    ]
