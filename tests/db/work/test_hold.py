"""On hold, as after a restore, nothing is done until an operator has decided."""

from __future__ import annotations

import math
from datetime import timedelta
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from events.models import Event
from notifications.deliveries.kind import DELIVERY
from notifications.models import Channel, Delivery
from people.models import User
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from tests.make import make_channel, make_delivery, make_schedule
from work.engine import hold
from work.engine.claim import claim
from work.engine.rescue import rescue
from work.models import Hold
from work.reasons import WorkCode

HOUR = timedelta(hours=1)


@pytest.fixture
def channel(ada: User) -> Channel:
    return make_channel(ada)


@pytest.fixture
def open_delivery(channel: Channel) -> Delivery:
    return make_delivery(channel)


def missed(channel: Channel) -> Schedule:
    now = fire.read_clock().now - timedelta(minutes=10)
    rule = {"every": 1, "unit": "hours", "anchor": (now - 2 * HOUR).isoformat()}
    return make_schedule(channel.user, [channel], now=now - 3 * HOUR, kind="interval", rule=rule)


def test_nothing_is_claimed_fired_or_rescued(channel: Channel, open_delivery: Delivery) -> None:
    missed(channel)
    Delivery.objects.update(expires_at=timezone.now() - HOUR)
    hold.begin()
    assert fire.read_clock().next_due is None
    assert fire.fire_due(fire.read_clock().now) == 0
    assert not any(rescue().values())
    Delivery.objects.update(expires_at=None)
    assert claim(DELIVERY, open_delivery.id, "w") is None
    assert not Occurrence.objects.exists()


def test_a_database_without_the_row_is_on_hold(open_delivery: Delivery) -> None:
    Hold.objects.all().delete()  # as backups leave it out
    assert hold.is_on() and claim(DELIVERY, open_delivery.id, "w") is None
    assert hold.release(hold.Choice.SEND, math.inf)
    assert not hold.is_on() and claim(DELIVERY, open_delivery.id, "w") is not None


@pytest.mark.parametrize(
    ("choice", "state", "code"),
    [("send", "pending", ""), ("skip", "cancelled", WorkCode.SKIPPED), ("keep", "unknown", WorkCode.RESTORED)],
)
def test_an_operator_decides_for_what_is_open(
    operator: Client, channel: Channel, open_delivery: Delivery, choice: str, state: str, code: str
) -> None:
    event = Event.objects.create(
        user=channel.user, type="a.b", key="1", source="s", occurred_at=timezone.now(), correlation_id=uuid4()
    )
    lost = make_delivery(channel)
    assert claim(DELIVERY, lost.id, "a worker that was lost")
    Delivery.objects.filter(id=lost.id).update(lease_until=timezone.now() - HOUR)
    hold.begin(restored_to=timezone.now() - HOUR)
    later = make_delivery(channel)
    Delivery.objects.filter(id=later.id).update(created_at=timezone.now() + HOUR)
    page = operator.get("/admin/outages/").content.decode()
    assert "on hold" in page and "2 deliveries" in page and "is lost" in page
    assert "on hold" in operator.get("/admin/").content.decode()
    assert "cannot be undone" in operator.get(f"/admin/outages/?release={choice}").content.decode()
    assert hold.is_on()
    operator.post("/admin/outages/", {"release": choice})
    assert not hold.is_on()
    open_delivery.refresh_from_db()
    event.refresh_from_db()
    assert (open_delivery.state, open_delivery.reason_code) == (state, code)
    assert event.state == state
    lost.refresh_from_db()
    assert lost.state == {"send": "sending", "skip": "cancelled", "keep": "unknown"}[choice]
    later.refresh_from_db()
    assert later.state == "pending"


def test_missed_slots_can_be_sent_and_kept(operator: Client, channel: Channel) -> None:
    missed(channel)
    hold.begin(restored_to=timezone.now() - HOUR)
    operator.post("/admin/outages/", {"policy": "all"})
    assert Occurrence.objects.filter(outcome="fired").count() == 3
    assert set(Delivery.objects.values_list("state", flat=True)) == {"pending"}
    operator.post("/admin/outages/", {"release": "keep"})
    assert set(Delivery.objects.values_list("state", flat=True)) == {"unknown"}


def test_work_in_hand_is_waited_for(open_delivery: Delivery) -> None:
    assert claim(DELIVERY, open_delivery.id, "w")
    hold.begin()
    assert not hold.release(hold.Choice.SKIP, math.inf)
    assert hold.is_on()
    assert hold.release(hold.Choice.SEND, math.inf)


def test_what_was_not_kept_is_not_in_hand_either(open_delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    hold.begin()
    monkeypatch.setattr(hold, "write", Mock(side_effect=OperationalError))
    with pytest.raises(OperationalError):
        hold.release(hold.Choice.KEEP, math.inf)
    open_delivery.refresh_from_db()
    assert open_delivery.state == "pending"


def test_a_release_that_takes_too_long_stays_on_hold(open_delivery: Delivery) -> None:
    hold.begin()
    assert not hold.release(hold.Choice.SKIP, -1.0)
    assert hold.is_on()


def test_by_command_and_for_monitors(client: Client, open_delivery: Delivery) -> None:
    call_command("hold")
    assert client.get("/healthz/clock").status_code == 503
    assert b"on hold" in client.get("/healthz/clock").content
    call_command("release", "skip")
    open_delivery.refresh_from_db()
    assert open_delivery.state == "cancelled" and not hold.is_on()
    with pytest.raises(CommandError, match="not on hold"):
        call_command("release", "skip")
