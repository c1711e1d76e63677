"""The times that are still to come in a span of days, of all reminders of a person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from common.zones import FIRST_ZONE
from people.models import User
from schedules import rules, slots
from schedules.agenda.entry import Days, Entry, begin_of
from schedules.models import Occurrence, Schedule
from schedules.rules import InvalidRule, Work, civil
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
    "job_payload", "state", "made_by_id", "user_id", "updated_at", "tags",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Coming:
    """The entries, in no order; of so many reminders, and whether others had to be left out."""

    entries: list[Entry]
    reminders: int
    is_cut: bool


def coming(user: User, days: Days, now: datetime, budget: int = BUDGET) -> Coming:
    """Two statements. Times that a person has skipped ahead are entries too."""
    found = Schedule.objects.for_user(user).filter(next_fire_at__lt=days.end)
    not_over = found.exclude(kind="once", next_fire_at__lt=days.begin)
    read = list(not_over.only(*_READ).order_by("next_fire_at")[: MOST + 1])
    schedules = sorted(read[:MOST], key=lambda schedule: _ORDER.get(schedule.kind, len(_ORDER)))
    taken, skipped = _occurrences(schedules, now)
    entries: list[Entry] = []
    reminders, left = 0, budget
    for schedule in schedules:
        schedule.user = user
        zone = ZoneInfo(FIRST_ZONE) if schedule.local_time else days.zone
        asked = replace(days, zone=zone)
        # One rule may not use up what all have.
        work = Work(min(left, budget // 4))
        left -= work.left
        of_one: list[Entry] = []
        with suppress(InvalidRule):
            of_one = list(_entries(schedule, asked, now, taken[schedule.id], work))
        left += max(0, work.left)
        if work.left < 0:
            continue
        reminders += 1
        entries += of_one
        entries += [
            Entry(schedule.name, slot, slot, zone, state="skipped", schedule=schedule, schedule_id=schedule.id)
            for slot in skipped[schedule.id]
            if asked.begin <= slot < asked.end
        ]
    return Coming(entries, reminders, reminders < len(read))


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


class _Times(NamedTuple):
    """One time, or so many of one day; `has_more`: at least so many."""

    first: datetime
    last: datetime
    number: int = 1
    has_more: bool = False


def _entries(schedule: Schedule, days: Days, now: datetime, taken: Collection[datetime], work: Work) -> Iterator[Entry]:
    """Raises InvalidRule for an unreadable rule, or where it costs more than `work` has left."""
    assert schedule.next_fire_at is not None  # noqa: S101 - it was selected by it
    if schedule.kind == "once":
        found: Iterable[_Times] = [_Times(schedule.next_fire_at, schedule.next_fire_at)]
    else:
        found = _times(slots.of(schedule, now, taken), schedule.next_fire_at, days, work)
    begin, end = days.begin, days.end
    for first, last, number, has_more in found:
        if begin <= first < end:
            yield Entry(
                schedule.name, first, last, days.zone, number, has_more, schedule=schedule, schedule_id=schedule.id
            )


def _times(coming: Slots, next_slot: datetime, days: Days, work: Work) -> Iterator[_Times]:
    # One with a maximum is counted from its next slot on.
    begin = next_slot if coming.left is not None else max(days.begin, next_slot)
    rule = coming.timetable.rule
    is_plain = coming.left is None and not coming.timetable.excluded
    if isinstance(rule, Interval) and is_plain and rule.step * _LISTED < _DAY:
        yield from _of_interval(coming, rule.step, begin, days, work)
        return
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
            yield _Times(found[0], found[-1], len(found) - has_more, has_more)
        else:
            yield from (_Times(one, one) for one in found)


def _of_interval(coming: Slots, step: timedelta, begin: datetime, days: Days, work: Work) -> Iterator[_Times]:
    """Of elapsed time: counted without a search for each."""
    first, days_end = coming.next_after(begin - civil.TICK, work), days.end
    while first is not None and first < days_end:
        work.spend(_SEARCH)
        next_day, ends = _next_day(first, days.zone), coming.timetable.ends
        until = next_day - civil.TICK if ends is None else min(next_day - civil.TICK, ends)
        number = (until - first) // step + 1
        yield _Times(first, first + (number - 1) * step, number)
        first = coming.next_after(next_day - civil.TICK, work)


def _next_day(instant: datetime, zone: ZoneInfo) -> datetime:
    return begin_of(civil.local(zone, instant).date() + _DAY, zone)
