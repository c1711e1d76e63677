"""The rota of a team: an order of people with times, which moves on each week, and overrides. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from operator import attrgetter
from zoneinfo import ZoneInfo

from common.times import civil_time


@dataclass(frozen=True, slots=True)
class Turn:
    """A person in the order. They are asked between the wall-clock times `begins` and `ends`; None: at any time."""

    person_id: int
    begins: time | None = None
    ends: time | None = None

    def contains(self, shown: time) -> bool:
        if self.begins is None or self.ends is None or self.begins == self.ends:
            return True
        if self.begins < self.ends:
            return self.begins <= shown < self.ends
        return shown >= self.begins or shown < self.ends


@dataclass(frozen=True, slots=True)
class Override:
    """From one instant (aware) up to another, this person is asked first, whatever their times."""

    person_id: int
    begins_at: datetime
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Rota:
    """`first` is the day on which the order begins as it is. With `weekly`, the first person of it goes to its end
    every seven days, at the wall-clock time `handover` in `zone`.
    """

    zone: ZoneInfo
    turns: Sequence[Turn]
    first: date
    handover: time = time(9)
    weekly: bool = True
    overrides: Sequence[Override] = ()


def who(rota: Rota, at: datetime) -> list[int]:
    """The people to ask at the aware instant, in this order; empty where nobody is on call."""
    # Where the clock is set back, neither a handover nor the end of somebody's times is undone.
    shown = civil_time.high_water(rota.zone, at)
    day = shown.date() - timedelta(days=shown.time() < rota.handover)
    weeks = (day - rota.first).days // 7 if rota.weekly and rota.turns else 0
    start = weeks % max(1, len(rota.turns))
    standing = [*rota.turns[start:], *rota.turns[:start]]
    current = [one for one in rota.overrides if one.begins_at <= at < one.ends_at]
    instead = sorted(current, key=attrgetter("begins_at"))[::-1]  # of two that begin together, the last of `overrides`
    people = [one.person_id for one in instead] + [turn.person_id for turn in standing if turn.contains(shown.time())]
    return list(dict.fromkeys(people))


def shifts(rota: Rota, begins: datetime, ends: datetime) -> list[tuple[datetime, list[int]]]:
    """From when (UTC) which people are asked, between two aware instants."""
    changes: list[tuple[datetime, list[int]]] = []
    for edge in sorted(one.astimezone(UTC) for one in _edges(rota, begins, ends) if begins <= one < ends):
        people = who(rota, edge)
        if not changes or changes[-1][1] != people:
            changes.append((edge, people))
    return changes


def _edges(rota: Rota, begins: datetime, ends: datetime) -> Iterator[datetime]:
    """When others may be asked from, in no order, some of them outside."""
    yield begins
    for one in rota.overrides:
        yield from (one.begins_at, one.ends_at)
    clocks = {rota.handover, *(clock for one in rota.turns for clock in (one.begins, one.ends) if clock is not None)}
    day = civil_time.local(rota.zone, begins).date()
    while (midnight := civil_time.begin_of(day, rota.zone)) < ends:
        yield from (civil_time.first_instant(rota.zone, datetime.combine(day, clock)) for clock in clocks)
        day = civil_time.local(rota.zone, midnight + timedelta(hours=36)).date()
