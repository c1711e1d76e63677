"""Leases, ends and due times are those of the database's clock, which stands still within the transaction of a test."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from common.database.postgres import query
from common.uuid7 import uuid7
from events.kinds.event import EVENT
from jobs.batches.kind import BATCH
from notifications.deliveries.kind import DELIVERY
from notifications.models import Channel, Delivery
from tests.make import make_channel, make_delivery, make_user, settle, take, taken
from work.engine import claim, manual, recovery, rescue
from work.kinds import Kind
from work.reasons import NO_REASON
from work.retry import next_wait

SECOND = timedelta(seconds=1)


@pytest.fixture
def channel() -> Channel:
    return make_channel(make_user())


@pytest.fixture
def now() -> datetime:
    return query("SELECT now() AS at", [])[0].at


def leased(channel: Channel, until: datetime) -> Delivery:
    return make_delivery(channel, state="sending", lease_token=uuid7(), lease_until=until, tries=1)


def test_a_claim_leases_what_is_due_and_not_stale(channel: Channel, now: datetime) -> None:
    delivery = make_delivery(channel, available_at=now, expires_at=now + SECOND)
    assert take(delivery.id) is not None
    delivery.refresh_from_db()
    assert (delivery.tries, delivery.lease_until, delivery.history.get().started_at) == (1, now + 90 * SECOND, now)
    assert take(make_delivery(channel, available_at=now + SECOND).id) is None
    assert take(make_delivery(channel, available_at=now, expires_at=now).id) is None


def test_only_pending_work_is_waited_for(channel: Channel, now: datetime) -> None:
    due, later, cancelled = (make_delivery(channel, available_at=now + wait * SECOND).id for wait in (-60, 60, 60))
    manual.cancel(Delivery, [cancelled], NO_REASON)
    waits = [claim.seconds_until_available(DELIVERY, one) for one in (due, later, cancelled)]
    assert waits == [0.0, 60.0, None]


def test_an_end_is_dated_and_a_retry_is_due_after_its_wait(channel: Channel, now: datetime) -> None:
    done, again = make_delivery(channel), make_delivery(channel)
    settle(taken(done.id), "delivered")
    settle(taken(again.id), "pending", wait=9.0, wake=19.0)
    for delivery in (done, again):
        delivery.refresh_from_db()
    assert (done.settled_at, again.settled_at) == (now, None)
    assert (again.available_at, again.wake_at, again.wakes) == (now + 9 * SECOND, now + 19 * SECOND, 0)


def test_what_is_stale_ends_at_its_time(channel: Channel, now: datetime) -> None:
    stale, _ = make_delivery(channel, expires_at=now), make_delivery(channel, expires_at=now + SECOND)
    assert recovery.expire(DELIVERY, 10) == 1
    stale.refresh_from_db()
    assert (stale.state, stale.settled_at) == ("expired", now)


def test_a_lease_is_over_at_its_time(channel: Channel, now: datetime) -> None:
    leased(channel, now + SECOND)
    assert recovery.recover(DELIVERY, 10).total() == 0
    leased(channel, now)
    assert recovery.recover(DELIVERY, 10).total() == 1


def test_rescue_is_needed_for_what_is_stale_and_for_a_lease_that_is_over(channel: Channel, now: datetime) -> None:
    def is_needed() -> bool:
        return bool(query(f"SELECT EXISTS ({rescue.needed()}) AS needed", [])[0].needed)

    far = {"available_at": now + timedelta(days=1), "wake_at": now + timedelta(days=1)}
    waiting = make_delivery(channel, **far, expires_at=now + SECOND)
    held = leased(channel, now + SECOND)
    assert not is_needed()
    for delivery, due in ((waiting, {"expires_at": now}), (held, {"lease_until": now})):
        later = dict.fromkeys(due, now + SECOND)
        Delivery.objects.filter(id=delivery.id).update(**due)
        assert is_needed()
        Delivery.objects.filter(id=delivery.id).update(**later)
    assert not is_needed()


@pytest.mark.parametrize(("kind", "handler"), [(EVENT, "order.paid"), (BATCH, "everybody")])
def test_events_and_batches_are_tried_for_half_an_hour(kind: Kind[Any], handler: str) -> None:
    waits = [next_wait(kind.policy(handler), tries, None, 0.5) for tries in range(1, 8)]
    assert waits == [pytest.approx(wait) for wait in (30, 60, 120, 240, 480, 600)] + [None]
