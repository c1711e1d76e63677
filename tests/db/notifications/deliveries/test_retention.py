"""Old messages and slots are deleted with what hangs on them; what is open, dead or snoozed stays, and the numbers."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from celery import current_app
from django.conf import settings as configured
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from common.uuid7 import first_of, uuid7
from notifications.models import Attempt, Channel, DailyTotal, Delivery, Notification
from notifications.tasks import NOTIFICATIONS
from people.models import User
from schedules.models import Occurrence, Schedule
from schedules.tasks import SLOTS
from tests.make import make_channel, make_delivery, make_schedule, without_triggers
from work import retention as engine

OLD, RECENT = 366, 364


@pytest.fixture
def inbox(ada: User) -> Channel:
    return make_channel(ada)


def ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def make_old(channel: Channel, days: float = OLD, **fields: Any) -> Notification:
    """A notification of so many days ago, settled then, with one attempt."""
    delivery = make_delivery(channel, **{"state": "delivered"} | fields)
    attempt = {"replay": 0, "number": 1, "token": uuid7(), "started_at": ago(days), "finished_at": ago(days)}
    Attempt.objects.create(delivery=delivery, outcome="delivered", **attempt)
    new = f"{first_of(ago(days)).int + uuid7().int % 2**64:032x}"
    with transaction.atomic(), without_triggers(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE notifications_notification SET id = %s, created_at = %s WHERE id = %s",
            [new, ago(days), delivery.notification_id],
        )
        cursor.execute(
            "UPDATE notifications_delivery SET notification_id = %s, created_at = %s,"
            " settled_at = CASE WHEN settled_at IS NOT NULL THEN %s::timestamptz END WHERE id = %s",
            [new, ago(days), ago(days), delivery.id],
        )
    return Notification.objects.get(deliveries=delivery)


@pytest.mark.django_db(transaction=True)  # what refers to them is checked at the commit
def test_messages_are_kept_for_a_year_with_their_deliveries_and_attempts(inbox: Channel) -> None:
    make_old(inbox, subject="gone")
    make_old(inbox, RECENT, subject="kept")
    assert NOTIFICATIONS.prune() == 1
    assert Notification.objects.get().subject == "kept"
    assert (Delivery.objects.count(), Attempt.objects.count()) == (1, 1)


@pytest.mark.parametrize("state", ["pending", "dead", "unknown"])
def test_what_is_open_or_dead_stays(inbox: Channel, state: str) -> None:
    make_old(inbox, state=state)
    assert NOTIFICATIONS.prune() == NOTIFICATIONS.count() == 0


def test_what_is_snoozed_stays_until_a_year_after_it_came_again(inbox: Channel) -> None:
    notification = make_old(inbox)
    Notification.objects.filter(id=notification.id).update(snoozed_until=ago(RECENT))
    assert NOTIFICATIONS.prune() == 0
    Notification.objects.filter(id=notification.id).update(snoozed_until=ago(OLD))
    assert NOTIFICATIONS.prune() == 1


def test_one_whose_next_channel_is_still_to_be_tried_stays(inbox: Channel) -> None:
    notification = make_old(inbox)
    Notification.objects.filter(id=notification.id).update(advance_at=timezone.now())
    assert NOTIFICATIONS.prune() == 0
    Notification.objects.filter(id=notification.id).update(advance_at=None)
    assert NOTIFICATIONS.prune() == 1


def test_one_that_was_sent_again_lately_stays(inbox: Channel) -> None:
    notification = make_old(inbox)
    with without_triggers():
        notification.deliveries.update(settled_at=ago(RECENT))
    assert NOTIFICATIONS.prune() == 0


def test_the_numbers_of_each_day_stay(inbox: Channel, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_CHUNK", 2)
    for _ in range(3):
        make_old(inbox)
    make_old(inbox, state="expired", settled_at=timezone.now())
    make_old(inbox, origin="test")
    with CaptureQueriesContext(connection) as captured:
        assert NOTIFICATIONS.prune() == 5
    assert len(captured) == 3
    day = ago(OLD).astimezone(UTC).date()
    totals = DailyTotal.objects.values_list("user", "day", "provider", "state", "count")
    assert set(totals) == {(ada.pk, day, "inbox", "delivered", 3), (ada.pk, day, "inbox", "expired", 1)}


def test_the_chart_of_the_history_counts_what_is_not_kept_any_more(client: Client, ada: User, inbox: Channel) -> None:
    for state, count in (("delivered", 1204), ("dead", 7)):
        DailyTotal.objects.create(user=ada, day=date(2025, 3, 4), provider="inbox", state=state, count=count)
    DailyTotal.objects.create(user=ada, day=date(2025, 3, 4), provider="status", state="delivered", count=9)
    client.force_login(ada)
    chart = client.get("/history/?since=2025-03-01&until=2025-03-10").context["chart"]
    assert [(bar.delivered, bar.failed) for bar in chart.bars] == [(0, 0)] * 3 + [(1204, 7)] + [(0, 0)] * 6
    weekly = client.get("/history/?since=2024-12-30&until=2025-12-31").context["chart"]
    assert (weekly.delivered, sum(bar.failed for bar in weekly.bars)) == (1204, 7)
    assert client.get(f"/history/?since=2025-03-01&until=2025-03-10&channel={inbox.id}").context["chart"] is None


def make_slot(schedule: Schedule, days: float, **fields: Any) -> Occurrence:
    slot = ago(days)
    given = {"scheduled_for": slot, "outcome": "fired", "version": 1} | fields
    return Occurrence.objects.create(id=first_of(slot), schedule=schedule, **given)


def test_slots_are_kept_for_a_year_and_the_newest_of_each_reminder_for_good(ada: User, inbox: Channel) -> None:
    daily, yearly = (make_schedule(ada, [inbox], now=timezone.now()) for _ in range(2))
    make_slot(daily, OLD + 1)
    kept = [make_slot(daily, OLD), make_slot(yearly, OLD + 2), make_slot(daily, RECENT, reason="manual")]
    assert SLOTS.count() == 1
    assert SLOTS.prune() == 1
    assert set(Occurrence.objects.all()) == set(kept)


def test_how_often_a_reminder_rang_is_shown_when_its_slots_are_not_kept(
    client: Client, ada: User, inbox: Channel
) -> None:
    daily = make_schedule(ada, [inbox], now=timezone.now())
    Schedule.objects.filter(id=daily.id).update(fired_count=1204)
    make_slot(daily, OLD + 1)
    make_slot(daily, OLD)
    assert SLOTS.prune() == 1
    client.force_login(ada)
    assert "rang 1,204 times" in client.get(reverse("schedules:detail", args=[daily.id])).text


def test_a_slot_that_is_still_to_be_settled_stays(ada: User, inbox: Channel) -> None:
    schedule = make_schedule(ada, [inbox])
    make_slot(schedule, OLD + 1, outcome="skipped", reason="asked")
    make_slot(schedule, OLD)
    Schedule.objects.filter(id=schedule.id).update(next_fire_at=ago(OLD + 2))
    assert SLOTS.prune() == 0


def test_none_is_deleted_where_they_are_kept_for_ever(inbox: Channel, settings: Any) -> None:
    settings.HISTORY_KEPT_DAYS = 0
    make_old(inbox, 4000)
    assert NOTIFICATIONS.prune() == NOTIFICATIONS.count() == 0


def test_the_command_counts_and_deletes(inbox: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_LONGEST", -1.0)
    monkeypatch.setattr(engine, "_CHUNK", 1)
    for _ in range(2):
        make_old(inbox)
    out = StringIO()
    call_command("prune", "--dry-run", stdout=out)
    assert "notifications: 2 would be deleted (HISTORY_KEPT_DAYS=365)\n" in out.getvalue()
    assert Notification.objects.count() == 2
    call_command("prune", stdout=out)
    assert "notifications: 2 deleted (HISTORY_KEPT_DAYS=365)\n" in out.getvalue()
    assert not Notification.objects.exists()


@pytest.mark.parametrize("entry", ["prune-history", "prune-slots"])
def test_beat_runs_them(entry: str) -> None:
    current_app.loader.import_default_modules()  # as a worker does
    assert current_app.tasks[configured.CELERY_BEAT_SCHEDULE[entry]["task"]].run() == 0
