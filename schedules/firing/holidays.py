"""When a person's holidays keep their reminders silent.

A slot within a holiday sends nothing, and so does a slot from before it that is found late, within it. Announcements to
an audience are sent: they are not the reader's own reminders, and they are said only once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from common import zones
from common.times.civil_time import begin_of
from notifications.deliveries import quiet_changes
from people.models import User
from schedules.models import Holiday, Schedule
from schedules.parts import words
from schedules.parts.tags import key

MOST = 50
"""Holidays that are not over, at most, of one person."""

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Span:
    """A holiday: the instants [begins, ends), for reminders that have one of `keys` (none: for all)."""

    begins: datetime
    ends: datetime
    keys: frozenset[str]
    urgent_rings: bool
    first: date
    last: date

    @property
    def text(self) -> str:
        """Why a slot in it will send nothing."""
        return words.holiday(self.first, self.last)

    def silences(self, instant: datetime, tags: Collection[str], urgent: bool) -> bool:
        if not self.begins <= instant < self.ends or (urgent and self.urgent_rings):
            return False
        return not self.keys or not self.keys.isdisjoint(map(key, tags))


@dataclass(frozen=True, slots=True)
class Holidays:
    """Those of one person."""

    spans: Sequence[Span] = ()

    @classmethod
    def made_of(cls, rows: Iterable[Holiday], zone: ZoneInfo) -> Self:
        return cls([span(row, zone) for row in rows])

    @classmethod
    def of(cls, user: User, since: datetime) -> Self:
        """Those that have not ended at `since`."""
        return cls.made_of(Holiday.objects.filter(user=user, last__gte=since.date() - _DAY), user.zone)

    def at(self, instant: datetime, tags: Collection[str], urgent: bool) -> Span | None:
        """The one that keeps a reminder with these tags silent at an instant; None if it is sent."""
        return next((one for one in self.spans if one.silences(instant, tags, urgent)), None)

    def of_slot(self, schedule: Schedule, slot: datetime) -> Span | None:
        is_own = self.spans and not schedule.audience and schedule.speaks
        return self.at(slot, schedule.tags, schedule.urgent) if is_own else None


NONE = Holidays()


def span(row: Holiday, zone: ZoneInfo) -> Span:
    begins, ends = begin_of(row.first, zone), begin_of(row.last + _DAY, zone)
    if row.ended_at is not None:
        ends = min(ends, row.ended_at)
    return Span(begins, ends, frozenset(map(key, row.tags)), row.urgent_rings, row.first, row.last)


def end(holiday: Holiday, zone: ZoneInfo, now: datetime) -> bool:
    """Have reminders fire again from `now` on; what was skipped stays skipped. False if it is not on now."""
    over = span(holiday, zone)
    if not over.begins <= now < over.ends:
        return False
    holiday.ended_at = now
    holiday.save(update_fields=["ended_at"])
    return True


def silences(schedule_id: UUID, instant: datetime) -> bool:
    schedule = Schedule.objects.select_related("user").filter(id=schedule_id).first()
    return schedule is not None and Holidays.of(schedule.user, instant).of_slot(schedule, instant) is not None


def release_waiting(instance: Holiday, **_: Any) -> None:
    """Have what waits for the end of quiet hours decided anew, because a holiday was made, changed or deleted."""
    quiet_changes.release(instance.user_id)


def of_people(people: Collection[tuple[int, str]], since: datetime, until: datetime) -> dict[int, Holidays]:
    """The holidays between two instants of each of these people (id, zone): one statement."""
    names = dict(people)
    rows = Holiday.objects.filter(user__in=names, last__gte=since.date() - _DAY, first__lte=until.date() + _DAY)
    by_person: dict[int, list[Holiday]] = defaultdict(list)
    for row in rows:
        by_person[row.user_id].append(row)
    return defaultdict(
        Holidays, {user_id: Holidays.made_of(own, zones.read(names[user_id])) for user_id, own in by_person.items()}
    )
