"""What repairs and wakes work leaves out a row that another transaction has locked, and does the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from common.uuid7 import uuid7
from jobs.checks.kind import JOB
from jobs.models import Job
from notifications.deliveries.kind import DELIVERY
from notifications.models import Channel, Delivery
from schedules.firing import fire, quarantine
from tests.db.locks import impatient, locked
from tests.make import (
    NINE,
    NOON,
    check,
    make_channel,
    make_delivery,
    make_job_schedule,
    make_schedule,
    make_user,
    taken,
)
from work.broker import wakes
from work.engine import claim, hold, recovery
from work.kinds import Lease

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)
DELIVERIES = "notifications_delivery"


@pytest.fixture
def channel() -> Channel:
    return make_channel(make_user())


def due(channel: Channel, **fields: Any) -> list[Delivery]:
    return [make_delivery(channel, **{"wake_at": timezone.now() - HOUR} | fields) for _ in range(2)]


def lost(channel: Channel) -> list[Delivery]:
    deliveries = due(channel)
    for delivery in deliveries:
        taken(delivery.id)
    Delivery.objects.update(lease_until=timezone.now() - HOUR)
    return deliveries


def states(deliveries: list[Delivery]) -> list[str]:
    return [Delivery.objects.get(id=delivery.id).state for delivery in deliveries]


def test_what_is_woken(channel: Channel) -> None:
    busy, free = due(channel)
    with locked(DELIVERIES, busy.id), impatient():
        assert [wake.id for wake in wakes.take_due(DELIVERY, 10)] == [free.id]


def test_what_is_woken_again(channel: Channel) -> None:
    busy, _ = due(channel, wake_at=timezone.now() + timedelta(minutes=5))
    with locked(DELIVERIES, busy.id), impatient():
        assert wakes.wake_all(DELIVERY) == 1


def test_what_is_stale(channel: Channel) -> None:
    deliveries = due(channel, expires_at=timezone.now() - HOUR)
    with locked(DELIVERIES, deliveries[0].id), impatient():
        assert recovery.expire(DELIVERY, 10) == 1
    assert states(deliveries) == ["pending", "expired"]


def test_what_was_lost_with_its_worker(channel: Channel) -> None:
    deliveries = lost(channel)
    with locked(DELIVERIES, deliveries[0].id), impatient():
        assert recovery.recover(DELIVERY, 10) == {"again": 1}
    assert states(deliveries) == ["sending", "pending"]


def test_what_is_damaged(channel: Channel) -> None:
    busy, _ = deliveries = due(channel)
    with locked(DELIVERIES, busy.id), impatient():
        for delivery in deliveries:
            claim._end_damaged(DELIVERY, Lease(id=delivery.id, token=uuid7()), ValueError())
    assert states(deliveries) == ["pending", "dead"]


@pytest.mark.parametrize("repair", [recovery.expire, recovery.recover])
def test_what_has_a_notification_that_is_locked(channel: Channel, repair: Callable[..., object]) -> None:
    busy, _ = deliveries = lost(channel) if repair is recovery.recover else due(channel, expires_at=NOON)
    with locked("notifications_notification", busy.notification_id), impatient():
        repair(DELIVERY, 10)
    assert states(deliveries) == (["sending", "pending"] if repair is recovery.recover else ["pending", "expired"])


@pytest.mark.parametrize(("choice", "state"), [(hold.Choice.SKIP, "cancelled"), (hold.Choice.KEEP, "unknown")])
def test_what_an_operator_decides_after_a_restore(channel: Channel, choice: hold.Choice, state: str) -> None:
    deliveries = due(channel)
    hold.begin()
    with locked(DELIVERIES, deliveries[0].id), impatient():
        assert not hold.release(choice, math.inf)  # one is still open
    assert states(deliveries) == ["pending", state]
    assert hold.release(choice, math.inf)
    assert states(deliveries) == [state] * 2


@pytest.mark.usefixtures("sample_kinds")
def test_a_check_that_failed_by_a_bug() -> None:
    for _ in range(2):
        make_job_schedule(make_user(), payload={"value": "bug"})
    fire.fire_due(NINE)
    busy, _ = jobs = list(Job.objects.order_by("id"))
    assert [[check(job).state for _ in range(3)][-1] for job in jobs] == ["dead"] * 2
    with locked("jobs_job", busy.id), impatient():
        assert JOB.rescue() == 1
    assert JOB.rescue() == 1


def test_a_reminder_that_cannot_be_read() -> None:
    schedule = make_schedule(make_user())
    with locked("schedules_schedule", schedule.id), impatient():
        assert quarantine.quarantine(schedule.id, NINE, ValueError()) is False
    assert quarantine.quarantine(schedule.id, NINE, ValueError()) is True
