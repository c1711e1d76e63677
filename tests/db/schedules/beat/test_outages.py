"""After an outage: what was missed, what became of it by each policy, and an operator's word over the owners'."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from notifications.models import Delivery
from schedules.beat import outages
from schedules.beat.heartbeat import Outage
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import make_schedule, make_user

LATEST, ALL, SKIP = Schedule.Misfire.LATEST, Schedule.Misfire.ALL, Schedule.Misfire.SKIP
DAY = timedelta(days=1)


def make_missed(**overrides: Any) -> Schedule:
    """A daily schedule that has missed three slots."""
    now = fire.read_clock().now
    time = (now - timedelta(hours=1)).strftime("%H:%M")
    return make_schedule(make_user(), now=now - 3 * DAY, rule={"time": time}, **overrides)


def test_what_waits_is_past_its_grace() -> None:
    now = fire.read_clock().now
    first = make_missed()
    make_missed(grace=10 * 24 * 3600)
    make_schedule(make_user(), now=now)
    make_schedule(make_user(), grace=600, next_fire_at=now - timedelta(seconds=600))  # within it
    assert outages.waiting(now) == (1, first.next_fire_at, False)
    fire.fire_due(now)
    assert outages.waiting(now) == (0, None, False)


def test_what_each_policy_did_is_counted() -> None:
    now = fire.read_clock().now
    for policy in (LATEST, LATEST, ALL, SKIP):
        make_missed(misfire=policy)
    fire.fire_due(now)
    assert outages.handled(Outage(now - 4 * DAY, now), now) == [
        (ALL, 3, 0),
        (LATEST, 2, 4),
        (SKIP, 0, 3),
    ]
    assert outages.handled(Outage(now - 9 * DAY, now - 8 * DAY), now) == []


@pytest.mark.parametrize(("policy", "sent"), [(LATEST, 3), (ALL, 7), (SKIP, 0)])
def test_an_operators_word_goes_over_the_owners_policies(policy: Schedule.Misfire, sent: int) -> None:
    now = fire.read_clock().now
    make_missed(misfire=ALL)
    make_missed(misfire=SKIP)
    at = now - timedelta(hours=2)
    once = make_schedule(make_user(), now=now - DAY, kind="once", rule={"at": f"{at:%Y-%m-%dT%H:%M:%S}"})
    assert outages.settle(now, policy, seconds=60) == 3
    assert Delivery.objects.count() == sent
    assert once.occurrences.count() == 1
    assert outages.waiting(now).schedules == 0


def test_what_one_go_has_no_time_for_waits_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = fire.read_clock().now
    for _ in range(3):
        make_missed()
    monkeypatch.setattr(fire, "BATCH", 2)
    assert outages.settle(now, LATEST, seconds=0) == 0
    clock = iter([0.0, 1.0, 11.0])
    monkeypatch.setattr(outages, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert outages.settle(now, LATEST, seconds=10) == 2
    assert outages.waiting(now).schedules == 1
