"""The times that are still to come in a span of days, of all reminders of a person."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from heapq import nsmallest
from itertools import chain
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from common.zones import FIRST_ZONE
from people.models import User
from schedules import rules, slots
from schedules.agenda.entry import Days, Entry, begin_of
from schedules.models import Occurrence, Schedule
from schedules.rules import DatedRule, InvalidRule, Work, civil
from schedules.rules.interval import Interval
from schedules.slots import Slots

MOST = 500
"""Reminders that are read, the next ones first: as many as a person may have, unless the operator allows more."""
BUDGET = 20_000
"""Of work, in the units of `rules.Work`: some hundredths of a second."""

# A reminder that comes more often on a day is one entry; times are counted up to `_COUNTED` a day.
_LISTED = 4
_COUNTED = 24
# One search for a time, beside what the rule itself spends.
_SEARCH = 10
_DAY = timedelta(days=1)
# The cheap ones first: what is used up by one rule is missing for the next.
_ORDER = {kind: number for number, kind in enumerate(rules.KINDS)}
_READ = (
    "id", "title", "kind", "rule", "time_zone", "starts_at", "ends_at", "excluded", "max_count", "fired_count",
    "snoozed_until", "next_fire_at", "version", "urgent", "channel_order", "audience", "local_time", "job_kind",
    "state", "made_by_id", "user_id", "updated_at", "tags",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Coming:
    """The entries, in no order, and how many more a day has; of so many reminders, and whether others are left out."""

    entries: list[Entry]
    more: dict[date, int]
    reminders: int
    is_cut: bool


class _Several(NamedTuple):
    """Several times of one day; `has_more`: `number` is only the least number."""

    last: datetime
    number: int
    has_more: bool


_Times = tuple[datetime, _Several | None]
"""What one reminder has on one day: its first time, and what is known of the others."""

_Found = tuple[bool, datetime, int, _Several | None]
"""The same with the number of the reminder, and first whether it comes often that day.

Those of a day are compared, and only the first ones become entries.
"""


def coming(user: User, days: Days, now: datetime, shown: int, budget: int = BUDGET) -> Coming:
    """Of each day the first `shown`; those that come often last. Two statements.

    Times that a person has skipped ahead are entries too.
    """
    found = Schedule.objects.for_user(user).filter(next_fire_at__lt=days.end)
    not_over = found.exclude(kind="once", next_fire_at__lt=days.begin)
    read = list(not_over.only(*_READ).order_by("next_fire_at")[: MOST + 1])
    schedules = sorted(read[:MOST], key=lambda schedule: _ORDER.get(schedule.kind, len(_ORDER)))
    taken, skipped = _occurrences(schedules, now)
    clocks = {False: days, True: replace(days, zone=ZoneInfo(FIRST_ZONE))}
    begins = {local_time: [begin_of(day, asked.zone) for day in days] for local_time, asked in clocks.items()}
    by_day: list[list[_Found]] = [[] for _ in days]
    reminders, left = 0, budget
    for number, schedule in enumerate(schedules):
        asked = clocks[schedule.local_time]
        # One rule may not use up what all have.
        work = Work(min(left, budget // 4))
        left -= work.left
        of_one: list[_Times] = []
        with suppress(InvalidRule):
            of_one = [*_times(schedule, asked, now, taken[schedule.id], work)]
        left += max(0, work.left)
        if work.left < 0:
            continue
        reminders += 1
        of_one += [(slot, None) for slot in skipped[schedule.id]]
        edges, end = begins[schedule.local_time], asked.end
        for first, several in of_one:
            if edges[0] <= first < end:
                by_day[bisect(edges, first) - 1].append((several is not None, first, number, several))
    entries = []
    for _, first, number, several in chain.from_iterable(nsmallest(shown, of_day) for of_day in by_day):
        schedule = schedules[number]
        schedule.user = user
        last, count, has_more = (first, 1, False) if several is None else several
        state = "skipped" if first in skipped[schedule.id] else ""
        zone = clocks[schedule.local_time].zone
        entries.append(Entry(schedule.title, first, last, zone, count, has_more, state, schedule, schedule.id))
    more = {day: len(found) - shown for day, found in zip(days, by_day, strict=True) if len(found) > shown}
    return Coming(entries, more, reminders, reminders < len(read))


def _occurrences(
    schedules: Collection[Schedule], now: datetime
) -> tuple[dict[UUID, set[datetime]], dict[UUID, list[datetime]]]:
    """For each schedule, its slots after `now` that have an occurrence; and those of them that somebody skipped."""
    taken: dict[UUID, set[datetime]] = defaultdict(set)
    skipped: dict[UUID, list[datetime]] = defaultdict(list)
    ids = [schedule.id for schedule in schedules]
    ahead = Occurrence.objects.filter(schedule_id__in=ids, scheduled_for__gt=now)
    for schedule_id, slot, reason in ahead.values_list("schedule_id", "scheduled_for", "reason"):
        taken[schedule_id].add(slot)
        if reason == Occurrence.Reason.ASKED:
            skipped[schedule_id].append(slot)
    return taken, skipped


def _times(schedule: Schedule, days: Days, now: datetime, taken: Collection[datetime], work: Work) -> Iterator[_Times]:
    """From its next time, or the first of `days`, to the end of `days`.

    Raises InvalidRule for an unreadable rule, or where it costs more than `work` has left.
    """
    assert schedule.next_fire_at is not None  # noqa: S101 - it was selected by it
    if schedule.kind == "once":
        return iter([(schedule.next_fire_at, None)])
    coming = slots.of(schedule, now, taken)
    # One with a maximum is counted from its next slot on.
    begin = schedule.next_fire_at if coming.left is not None else max(days.begin, schedule.next_fire_at)
    rule, is_unlimited = coming.timetable.rule, coming.left is None
    if isinstance(rule, DatedRule) and is_unlimited:
        return _of_dates(coming, rule, begin, days, work)
    is_plain = is_unlimited and not coming.timetable.excluded
    if isinstance(rule, Interval) and is_plain and rule.step * _LISTED < _DAY:
        return _of_interval(coming, rule.step, begin, days, work)
    return _searched(coming, begin, days, work)


def _of_dates(coming: Slots, rule: DatedRule, begin: datetime, days: Days, work: Work) -> Iterator[_Times]:
    """Of dates: found without a search for each."""
    timetable, end = coming.timetable, days.end
    work.spend(_SEARCH + (end - begin) // _DAY // 2)
    begin = max(edge for edge in (begin, timetable.starts, coming.snoozed_until) if edge is not None)
    if timetable.ends is not None:
        end = min(end, timetable.ends + civil.TICK)
    found = rule.between(begin, end)
    if timetable.excluded:
        found = [slot for slot in found if civil.local(rule.zone, slot).date() not in timetable.excluded]
    if coming.settled:
        found = [slot for slot in found if slot not in coming.settled]
    return ((slot, None) for slot in found)


def _searched(coming: Slots, begin: datetime, days: Days, work: Work) -> Iterator[_Times]:
    upcoming, until = coming.after(begin - civil.TICK, work), days.end
    slot = next(upcoming, None)
    while slot is not None and slot < until:
        end = _next_day(slot, days.zone)
        found: list[datetime] = []
        while slot is not None and slot < end and (len(found) <= _COUNTED or coming.left is not None):
            found.append(slot)
            work.spend(_SEARCH)
            slot = next(upcoming, None)
        has_more = slot is not None and slot < end
        if has_more:
            upcoming = coming.after(end - civil.TICK, work)
            slot = next(upcoming, None)
        if len(found) > _LISTED:
            yield found[0], _Several(found[-1], len(found) - has_more, has_more)
        else:
            yield from ((one, None) for one in found)


def _of_interval(coming: Slots, step: timedelta, begin: datetime, days: Days, work: Work) -> Iterator[_Times]:
    """Of elapsed time: counted without a search for each."""
    first, days_end = coming.next_after(begin - civil.TICK, work), days.end
    while first is not None and first < days_end:
        work.spend(_SEARCH)
        next_day, ends = _next_day(first, days.zone), coming.timetable.ends
        until = next_day - civil.TICK if ends is None else min(next_day - civil.TICK, ends)
        number = (until - first) // step + 1
        yield first, _Several(first + (number - 1) * step, number, False) if number > 1 else None
        first = coming.next_after(next_day - civil.TICK, work)


def _next_day(instant: datetime, zone: ZoneInfo) -> datetime:
    return begin_of(civil.local(zone, instant).date() + _DAY, zone)
