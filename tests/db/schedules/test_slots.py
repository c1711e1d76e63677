"""The slots still to come are those that walking over every hour finds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice

from hypothesis import given, settings, strategies as st

from schedules.parts.slots import Slots
from schedules.rules import Timetable, parse

BEGIN = datetime(2026, 6, 1, tzinfo=UTC)
HOURS = [BEGIN + timedelta(hours=number) for number in range(24 * 6)]
hours = st.sampled_from(HOURS)
near = st.builds(lambda hour, ticks: hour + timedelta(microseconds=ticks), hours, st.integers(-1, 1))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Slots, list[datetime]]:
    """Slots, and the hours at which a naive reading finds one."""
    every = draw(st.integers(1, 9))
    starts, ends = sorted((draw(near), draw(near)))
    excluded = draw(st.frozensets(st.dates(date(2026, 6, 1), date(2026, 6, 6)), max_size=2))
    snoozed = draw(st.none() | near)
    taken = draw(st.frozensets(hours, max_size=9))
    left = draw(st.none() | st.integers(0, 9))
    rule = parse("interval", {"every": every, "unit": "hours", "anchor": BEGIN.isoformat()}, "UTC")
    naive = [
        hour
        for number, hour in enumerate(HOURS)
        if number % every == 0
        and starts <= hour <= ends
        and hour.date() not in excluded
        and (snoozed is None or hour >= snoozed)
        and hour not in taken
    ]
    return Slots(Timetable(rule, starts, ends, excluded), left, snoozed, taken), naive


@settings(max_examples=300, derandomize=True, database=None, deadline=None)
@given(cases(), near, st.integers(0, 12))
def test_the_slots_to_come_are_those_of_a_naive_walk(
    case: tuple[Slots, list[datetime]], after: datetime, count: int
) -> None:
    slots, naive = case
    ahead = [hour for hour in naive if hour > after][: slots.left]
    assert list(islice(slots.after(after), count)) == ahead[:count]
    assert slots.next_after(after) == next(iter(ahead), None)


@settings(max_examples=300, derandomize=True, database=None, deadline=None)
@given(cases(), hours, near, st.integers(1, 9), near, st.integers(1, 9))
def test_the_due_slots_begin_with_the_given_one_and_leave_the_next(
    case: tuple[Slots, list[datetime]], first: datetime, now: datetime, most: int, late: datetime, most_in_time: int
) -> None:
    slots = Slots(case[0].timetable, None, case[0].snoozed_until, case[0].settled)
    ahead = [hour for hour in case[1] if hour > first]
    if first not in slots.settled:
        ahead.insert(0, first)
    due = [hour for hour in ahead if hour <= now][:most]
    if in_time := [hour for hour in due if hour >= late][:most_in_time]:
        due = [hour for hour in due if hour <= in_time[-1]] if len(in_time) == most_in_time else due
    assert slots.due(first, now, most, late, most_in_time) == (due, next(iter(ahead[len(due) :]), None), None)
