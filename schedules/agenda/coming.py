"""The times that are still to come in a span of days, of all reminders of a person."""

from bisect import bisect
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime
from heapq import nsmallest
from itertools import chain, repeat
from uuid import UUID
from zoneinfo import ZoneInfo

from common.zones import FIRST_ZONE
from people.models import User
from schedules import rules
from schedules.agenda.entry import Days, Entry
from schedules.firing import forecast, holidays
from schedules.firing.forecast import Several, Times
from schedules.firing.holidays import Holidays
from schedules.models import Occurrence, Schedule
from schedules.rules import InvalidRule, Work

MOST = 500
"""Reminders that are read, the next ones first: as many as a person may have, unless the operator allows more."""
BUDGET = 20_000
"""Of work, in the units of `rules.Work`: some hundredths of a second."""

# The cheap ones first: what is used up by one rule is missing for the next.
_ORDER = {kind: number for number, kind in enumerate(rules.KINDS)}


@dataclass(frozen=True, slots=True)
class Coming:
    """The entries, in no order, and how many more a day has; and the reminders that cost too much to be among them.

    `unread`: how many more of these there are.
    """

    entries: list[Entry]
    more: dict[date, int]
    left_out: list[Schedule]
    unread: int


_Candidate = tuple[bool, datetime, int, Several | None]
"""The same with the number of the reminder, and first whether it comes often that day.

Those of a day are compared, and only the first ones become entries.
"""


def coming(user: User, days: Days, now: datetime, shown: int, budget: int = BUDGET) -> Coming:
    """Of each day the first `shown`; those that come often last. Two statements, one more for holidays with a maximum,
    and one where a person has more than `MOST`.

    Times that a person has skipped ahead are entries too.
    """
    due = Schedule.objects.for_user(user).filter(next_fire_at__lt=days.end)
    not_over = due.exclude(kind="once", next_fire_at__lt=days.begin)
    read = list(not_over.order_by("next_fire_at")[: MOST + 1])
    schedules = sorted(read[:MOST], key=lambda schedule: _ORDER.get(schedule.kind, len(_ORDER)))
    taken, skipped = _occurrences(schedules, now)
    # Elsewhere a holiday changes no time.
    has_maximum = any(schedule.max_count is not None for schedule in schedules)
    silent = Holidays.of(user, now) if has_maximum else holidays.NONE
    clocks = {False: days, True: replace(days, zone=ZoneInfo(FIRST_ZONE))}
    edges = {local_time: of_clock.edges() for local_time, of_clock in clocks.items()}
    by_day: list[list[_Candidate]] = [[] for _ in range(len(edges[False]) + 1)]
    left, left_out = budget, read[MOST:]
    unread = not_over.count() - len(read) if left_out else 0
    for number, schedule in enumerate(schedules):
        # One rule may not use up what all have.
        work = Work(min(left, budget // 4))
        left -= work.left
        times = _times(schedule, clocks[schedule.local_time], now, silent, taken[schedule.id], work)
        left += max(0, work.left)
        if work.left < 0:
            left_out.append(schedule)
            continue
        of_clock = edges[schedule.local_time]
        for first, several in chain(times, zip(skipped.get(schedule.id, ()), repeat(None))):
            # The places before the first day and after the last one are not read.
            by_day[bisect(of_clock, first)].append((several is not None, first, number, several))
    entries = []
    by_day = by_day[1:-1]
    for _, first, number, several in chain.from_iterable(nsmallest(shown, of_day) for of_day in by_day):
        schedule = schedules[number]
        schedule.user = user
        state = "skipped" if first in skipped.get(schedule.id, ()) else ""
        last, count, has_more = several or (first, 1, False)
        zone = clocks[schedule.local_time].zone
        entries.append(Entry(schedule.name, first, last, zone, count, has_more, state, schedule, schedule.id))
    more = {day: len(of_day) - shown for day, of_day in zip(days, by_day, strict=True) if len(of_day) > shown}
    return Coming(entries, more, left_out, unread)


def _times(
    schedule: Schedule, days: Days, now: datetime, silent: Holidays, taken: Collection[datetime], work: Work
) -> list[Times]:
    """None where they cost more than `work` has left, or the rule is unreadable."""
    if schedule.kind == "once" and schedule.next_fire_at is not None:
        return [(schedule.next_fire_at, None)]
    try:
        return [*forecast.of(schedule, now, silent, taken).by_day(days.begin, days.end, days.zone, work)]
    except InvalidRule:
        return []


def _occurrences(
    schedules: Collection[Schedule], now: datetime
) -> tuple[dict[UUID, set[datetime]], dict[UUID, list[datetime]]]:
    """For each schedule, its slots after `now` that have an occurrence; and those of them that somebody skipped."""
    taken: dict[UUID, set[datetime]] = defaultdict(set)
    skipped: dict[UUID, list[datetime]] = defaultdict(list)
    ahead = Occurrence.objects.filter(schedule_id__in=[schedule.id for schedule in schedules], scheduled_for__gt=now)
    for schedule_id, slot, reason in ahead.values_list("schedule_id", "scheduled_for", "reason"):
        taken[schedule_id].add(slot)
        if reason == Occurrence.Reason.BY_PERSON:
            skipped[schedule_id].append(slot)
    return taken, skipped
