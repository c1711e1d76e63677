"""Retention that is killed in the middle counts each delivery once, and the next run goes on."""

from __future__ import annotations

import os
import signal
import sys
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.utils import timezone

from common.uuid7 import first_of
from demo.child import Child
from notifications.models import Attempt, Channel, DailyTotal, Delivery, Notification
from notifications.tasks import NOTIFICATIONS
from tests.make import make_channel, make_user, without_triggers
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment

pytestmark = pytest.mark.django_db(transaction=True)

DAYS = 10
"""One message of each: the oldest of 380 days ago."""
_PRUNE = (
    "import django; django.setup()\n"
    "from notifications.tasks import NOTIFICATIONS\n"
    "from work import retention\n"
    "retention._CHUNK = 3\n"
    "NOTIFICATIONS.prune()"
)
# Of this test's own server.
_WAITS = "SELECT count(*) FROM pg_locks WHERE NOT granted"
_WORKS = (
    "SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND relation = 'notifications_notification'::regclass"
)


def slot(number: int) -> datetime:
    return timezone.now() - timedelta(days=380 - number)


@pytest.fixture
def channel() -> Channel:
    channel = make_channel(make_user())
    with transaction.atomic(), without_triggers():
        for number in range(DAYS):
            make_old(channel, slot(number))
    return channel


def make_old(channel: Channel, at: datetime) -> None:
    key = first_of(at)
    notification = Notification.objects.create(
        id=key,
        batch_id=key,
        user=channel.user,
        origin="schedule",
        subject="Old",
        body="",
        outcome="full",
        created_at=at,
    )
    delivery = Delivery.objects.create(
        id=key,
        notification=notification,
        channel=channel,
        provider="inbox",
        state="delivered",
        available_at=at,
        created_at=at,
        settled_at=at,
    )
    Attempt.objects.create(
        delivery=delivery, replay=0, number=1, token=UUID(int=1), started_at=at, finished_at=at, outcome="delivered"
    )


def is_any(locks: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(locks)
        return cursor.fetchone() != (0,)


def test_a_kill_within_a_chunk_loses_no_message_and_counts_none_twice(channel: Channel) -> None:
    fifth = {"user": channel.user, "day": slot(4).date(), "provider": "inbox", "state": "delivered"}
    total = DailyTotal.objects.create(**fifth, count=0)
    with transaction.atomic():
        DailyTotal.objects.select_for_update().get(pk=total.pk)  # the second chunk waits for it
        process = Child("prune", [sys.executable, "-c", _PRUNE], environment=environment())
        process.start()
        wait_until(lambda: is_any(_WAITS), within=180)
        assert Notification.objects.count() == DAYS - 3
        os.kill(process.pid, signal.SIGKILL)
        wait_until(lambda: process.exit_status() == -signal.SIGKILL)
    wait_until(lambda: not is_any(_WORKS))
    assert NOTIFICATIONS.prune() in (DAYS - 3, DAYS - 6)  # the server may have ended the statement of the dead process
    assert [model.objects.count() for model in (Notification, Delivery, Attempt)] == [0, 0, 0]
    assert list(DailyTotal.objects.values_list("count", flat=True)) == [1] * DAYS
