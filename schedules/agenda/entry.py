"""Days of a person's calendar, and what stands on them. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from common.times import civil_time
from common.times.civil_time import begin_of
from notifications.models import Channel
from schedules.models import Schedule

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Days:
    """The dates from `first` to `last` on the wall clock of `zone`."""

    first: date
    last: date
    zone: ZoneInfo

    def __iter__(self) -> Iterator[date]:
        return (self.first + number * _DAY for number in range((self.last - self.first).days + 1))

    @property
    def begin(self) -> datetime:
        return begin_of(self.first, self.zone)

    @property
    def end(self) -> datetime:
        """The instant after the last one."""
        return begin_of(self.last + _DAY, self.zone)

    def edges(self) -> list[datetime]:
        """When each day begins, and the end."""
        return [begin_of(day, self.zone) for day in self] + [self.end]


@dataclass(frozen=True, slots=True)
class Entry:
    """The times of one reminder on one day: one time, or `count` of them from `at` to `last`.

    `zone` is that of the clock on which it stands. `state` is "" for what is to come. `has_more`: `count` is only the
    least number. What is to come has a `schedule`, what was sent a notification.

    A page adds `channels` and the fields after it; `slot`, of what can be moved, is the time as addresses have it.
    """

    title: str
    at: datetime
    last: datetime
    zone: ZoneInfo
    count: int = 1
    has_more: bool = False
    state: str = ""
    schedule: Schedule | None = None
    schedule_id: UUID | None = None
    notification_id: UUID | None = None
    channels: Sequence[Channel] = ()
    holiday: str = ""
    held_until: str = ""
    is_snoozed: bool = False
    slot: str = ""

    @property
    def clock(self) -> datetime:
        return civil_time.local(self.zone, self.at)

    @property
    def shown(self) -> str:
        """The clock at the beginning, such as 09:00."""
        return f"{self.clock:%H:%M}"

    @property
    def last_clock(self) -> datetime:
        return civil_time.local(self.zone, self.last)

    @property
    def day(self) -> date:
        return self.clock.date()
