"""/metrics: who may read it, which numbers it has, and that each try is counted once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from config import settings as configured
from notifications.models import Attempt, Channel
from people.models import User
from schedules.models import Heartbeat
from tests.make import happen, make_channel, make_delivery, send_now, without_triggers
from work import totals
from work.models import CountedAttempts, Total

TOKEN = "a-token-of-operators"


@pytest.fixture
def inbox(ada: User) -> Channel:
    return make_channel(ada)


def send_some(inbox: Channel, count: int, minutes: float = 10) -> None:
    """So many deliveries that arrived at their first try, which began so many minutes ago and took two seconds."""
    for _ in range(count):
        send_now(make_delivery(inbox).id)
    age([one.id for one in Attempt.objects.order_by("-id")[:count]], minutes)


def age(attempts: list[int], minutes: float) -> None:
    then = timezone.now() - timedelta(minutes=minutes)
    with without_triggers():
        Attempt.objects.filter(id__in=attempts).update(started_at=then, finished_at=then + timedelta(seconds=2))


def counted() -> dict[tuple[str, str, str], int]:
    return {(one.kind, one.handler, one.outcome): one.count for one in Total.objects.all()}


def read(client: Client) -> dict[tuple[str, ...], float]:
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for one in families
        for sample in one.samples
    }


def test_each_try_is_counted_once_some_minutes_after_it_began(inbox: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "_CHUNK", 2)
    send_some(inbox, 5)
    send_some(inbox, 1, minutes=1)
    assert (totals.count(), totals.count()) == (5, 0)
    assert counted() == {("delivery", "inbox", "delivered"): 5}
    assert Total.objects.get().seconds == 10
    age([Attempt.objects.latest("id").id], 4)
    send_some(inbox, 3)
    assert totals.count() == 4
    assert counted() == {("delivery", "inbox", "delivered"): 9}


def test_what_is_too_new_ends_the_part_though_its_id_is_lower(inbox: Channel) -> None:
    send_some(inbox, 3)
    first = Attempt.objects.earliest("id").id
    age([first], 0)
    assert totals.count() == 0
    age([first], 4)
    assert totals.count() == 3


def test_what_is_still_held_is_not_counted_and_stops_nothing(inbox: Channel) -> None:
    send_some(inbox, 2)
    with without_triggers():
        Attempt.objects.filter(id=Attempt.objects.earliest("id").id).update(finished_at=None, outcome="")
    totals.count()
    assert counted() == {("delivery", "inbox", "delivered"): 1}


def test_the_types_that_people_name_are_not_told(ada: User) -> None:
    happen(ada, type="secret.project")
    with without_triggers(), connection.cursor() as cursor:
        cursor.execute("UPDATE events_eventattempt SET started_at = now() - interval '5 minutes'")
    totals.count()
    assert counted() == {("event", "", "handled"): 1}


def test_counts_go_on_where_they_stopped_after_attempts_are_deleted(inbox: Channel) -> None:
    send_some(inbox, 2)
    totals.count()
    with without_triggers():
        Attempt.objects.all().delete()
    assert totals.count() == 0
    send_some(inbox, 1)
    totals.count()
    assert counted() == {("delivery", "inbox", "delivered"): 3}
    assert CountedAttempts.objects.get(kind="delivery").attempt_id == Attempt.objects.get().id


def test_the_numbers(client: Client, inbox: Channel, settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN
    send_some(inbox, 2)
    totals.count()
    make_delivery(inbox)
    make_delivery(inbox, state="dead")
    Heartbeat.objects.create(process="beat:1", last_seen_at=timezone.now() - timedelta(seconds=20))
    with CaptureQueriesContext(connection) as captured:
        numbers = read(client)
    assert len(captured) <= 12
    assert numbers["carillon_tries_total", "inbox", "delivery", "delivered"] == 2
    assert numbers["carillon_try_seconds_total", "inbox", "delivery", "delivered"] == 4
    assert numbers["carillon_work_waiting", "delivery"] == 1
    assert numbers["carillon_dead_letters", "delivery"] == 1
    assert 19 < numbers["carillon_beat_age_seconds",] < 60
    assert numbers["carillon_table_bytes", "notifications_delivery"] > 0


def test_they_are_for_who_has_the_token(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics").status_code == 404
    settings.METRICS_TOKEN = TOKEN
    for header in ("", "Bearer wrong", f"Bearer {TOKEN}x", "Bearer ü"):
        answer = client.get("/metrics", headers={"Authorization": header})
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")


def test_beat_counts_them() -> None:
    current_app.loader.import_default_modules()  # as a worker does
    assert current_app.tasks[configured.CELERY_BEAT_SCHEDULE["count-tries"]["task"]].run() == 0
