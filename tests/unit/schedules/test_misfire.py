"""Which due slots fire, are late, or were missed. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from schedules.firing.misfire import MOST_SENT, Decision, decide
from schedules.models import Occurrence, Schedule
from tests.make import NOON

ALL, LATEST, SKIP = Schedule.Misfire.ALL, Schedule.Misfire.LATEST, Schedule.Misfire.SKIP
GRACE = timedelta(minutes=10)


def slots(*minutes: float) -> list[datetime]:
    """Slots of so many minutes ago."""
    return [NOON - timedelta(minutes=ago) for ago in minutes]


def outcomes(policy: Schedule.Misfire, *minutes: float, one_off: bool = False) -> str:
    """For each slot F: fires, L: fires late, or M: missed."""
    decisions = decide(slots(*minutes), NOON, policy, GRACE, one_off=one_off)
    assert [decision.slot for decision in decisions] == slots(*minutes)
    letters = {
        (True, Occurrence.Reason.NONE): "F",
        (True, Occurrence.Reason.LATE): "L",
        (False, Occurrence.Reason.MISFIRE): "M",
    }
    return "".join(letters[decision.fire, decision.reason] for decision in decisions)


@pytest.mark.parametrize(
    ("policy", "minutes", "expected"),
    [
        (ALL, (30, 20, 10, 0), "LLFF"),
        (LATEST, (30, 20, 10, 0), "MMFF"),  # ten minutes are within the grace
        (LATEST, (30, 20), "ML"),
        (SKIP, (30, 20, 5), "MMF"),
        (SKIP, (30,), "M"),
        (LATEST, (), ""),
    ],
)
def test_missed_slots_follow_the_policy(policy: Schedule.Misfire, minutes: tuple[float, ...], expected: str) -> None:
    assert outcomes(policy, *minutes) == expected


def test_what_fires_once_fires_late() -> None:
    assert outcomes(SKIP, 600, one_off=True) == "L"
    assert decide(slots(5), NOON, SKIP, GRACE, one_off=True) == [Decision(NOON - timedelta(minutes=5), True)]


def test_of_many_missed_ones_the_newest_hundred_are_sent() -> None:
    many = range(MOST_SENT + 30, 10, -1)
    assert outcomes(ALL, *many) == "M" * 20 + "L" * MOST_SENT
