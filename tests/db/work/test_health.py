"""How work goes, for operators."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.uuid7 import of_slot
from events.kinds.event import EVENT
from events.models import Event
from notifications.deliveries.kind import DELIVERY
from notifications.models import Attempt, Delivery
from tests.make import happen, make_channel, make_delivery, make_user, send_now, signed_in, without_triggers
from work import totals
from work.kinds import KINDS
from work.models import Rollup
from work.operators import health
from work.totals import DAY, HOUR, MINUTE

pytestmark = pytest.mark.django_db


def at(attempts: type[Any], pk: int, started: datetime, seconds: float = 2) -> None:
    with without_triggers():
        attempts.objects.filter(pk=pk).update(started_at=started, finished_at=started + timedelta(seconds=seconds))


def test_what_ended_in_the_past_hour_is_counted_by_type_and_source_most_first() -> None:
    ada = make_user()
    for source in ("shop", "shop", "bank"):
        happen(ada, source=source)
    happen(ada, source="bank", type="channel.disabled", data={})
    inbox = make_channel(ada)
    send_now(make_delivery(inbox).id)
    make_delivery(inbox)
    assert [(row.handler, row.source, row.count, row.done) for row in health.processed(EVENT)] == [
        ("order.paid", "shop", 2, 2),
        ("channel.disabled", "bank", 1, 0),
        ("order.paid", "bank", 1, 1),
    ]
    assert [(row.handler, row.source, row.count) for row in health.processed(DELIVERY)] == [("inbox", "", 1)]


def test_dead_letters_of_a_day_are_counted_by_cause() -> None:
    ada = make_user()
    fresh = [happen(ada, type="channel.disabled", data={}) for _ in range(2)]
    old = happen(ada, type="channel.disabled", data={})
    Event.objects.filter(pk=old.pk).update(settled_at=timezone.now() - timedelta(hours=25))
    [row] = health.died(EVENT)
    assert row.queue == "events"
    assert (row.handler, row.cause, row.count) == ("channel.disabled", fresh[0].cause, 2)


def test_each_minute_says_what_was_recorded_and_what_has_ended() -> None:
    ada = make_user()
    happen(ada)
    make_delivery(make_channel(ada))
    assert sum(row.recorded for row in health.minutes(EVENT)) == sum(row.tries for row in health.minutes(EVENT)) == 1
    assert [(row.recorded, row.tries, row.done) for row in health.minutes(DELIVERY)] == [(1, 0, 0)]


@pytest.mark.parametrize("counted", [False, True])
def test_work_counts_when_it_is_done_and_not_when_it_was_recorded(counted: bool) -> None:
    inbox, now = make_channel(make_user()), timezone.now()
    ago = timedelta(hours=5)
    # recorded hours ago: one was done then, and one ten minutes ago
    for began in (now - ago, now - timedelta(minutes=10)):
        delivery = make_delivery(inbox, id=of_slot(now - ago, uuid4()))
        Delivery.objects.filter(pk=delivery.pk).update(created_at=now - ago)
        send_now(delivery.pk)
        at(Attempt, Attempt.objects.latest("pk").pk, began)
    if counted:
        assert totals.count() == 2
    assert [(row.count, row.done) for row in health.processed(DELIVERY)] == [(1, 1)]
    [minute] = health.minutes(DELIVERY)
    ended = (now - timedelta(minutes=10) + timedelta(seconds=2)).replace(second=0, microsecond=0)
    assert (minute.minute, minute.recorded, minute.tries, minute.done) == (ended, 0, 1, 1)


def test_rollups_say_error_rate_latency_and_lateness_of_a_day_and_of_thirty() -> None:
    inbox, now = make_channel(make_user()), timezone.now()
    for number in range(100):
        delivery = make_delivery(inbox)
        send_now(delivery.id)
        began = now - timedelta(hours=number / 10, minutes=5)
        at(Attempt, Attempt.objects.latest("pk").pk, began, 3 if number >= 98 else 0.02)
        Delivery.objects.filter(pk=delivery.pk).update(available_at=began - timedelta(seconds=1))
    with without_triggers():
        failed = Attempt.objects.order_by("pk").values("pk")[:5]
        Attempt.objects.filter(pk__in=failed).update(outcome="retryable")
    assert totals.count() == 100
    for span, count in ((HOUR, 24), (DAY, 30)):
        [row] = health.past(span, count)
        assert (row.kind, row.handler, row.tries, round(row.failed, 3)) == ("delivery", "inbox", 100, 0.05)
        assert row.took is not None and row.late is not None
        assert (0.02 < row.took[0] < 0.03, 3 < row.took[1] < 4.5) == (True, True)
        assert 1 < row.late[0] == row.late[1] < 1.5
    assert sum(row.tries for row in health.past(HOUR, 2)) < 40


def test_when_a_try_was_due_is_not_known_once_it_has_another_time() -> None:
    delivery = make_delivery(make_channel(make_user()))
    send_now(delivery.id)
    began = timezone.now() - timedelta(minutes=5)
    at(Attempt, Attempt.objects.get().pk, began)
    Delivery.objects.filter(pk=delivery.pk).update(available_at=began + timedelta(minutes=1))
    totals.count()
    [row] = health.past(HOUR, 1)
    assert (row.tries, row.late) == (1, None)


def test_rollups_are_added_up_and_bounded() -> None:
    inbox, now = make_channel(make_user()), timezone.now()
    days = [0, 3, 29, 32]
    for day in days * 2:
        send_now(make_delivery(inbox).id)
        at(Attempt, Attempt.objects.latest("pk").pk, now - timedelta(days=day, minutes=10))
        totals.count()
    rows = {(row.span, (now - row.start).days): row for row in Rollup.objects.all()}
    assert {span for span, _ in rows} == {MINUTE, HOUR, DAY}
    assert Counter(span for span, _ in rows) == {MINUTE: 1, HOUR: 1, DAY: 3}
    assert {(row.tries, row.done, sum(row.took)) for row in rows.values()} == {(2, 2, 2)}
    assert {len(row.took) for row in rows.values()} == {len(totals.EDGES) + 1}
    first = Attempt.objects.earliest("pk").pk
    assert rows[MINUTE, 0].first_attempt == first


def test_each_statement_is_bounded_and_reads_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = make_user()
    for _ in range(3):
        happen(ada)
    Rollup.objects.create(
        span=MINUTE, start=timezone.now(), kind="event", handler="", tries=1, done=1, took=[], late=[], first_attempt=1
    )
    monkeypatch.setattr(health, "MOST", 2)
    assert [row.count for row in health.processed(EVENT)] == [2]
    with connection.cursor() as cursor, CaptureQueriesContext(connection) as captured:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        for ask in (health.processed, health.died, health.minutes, health.hours):
            ask(EVENT)
        health.waiting()
        health.causes(5)
    plans = []
    for asked in captured.captured_queries:
        if "LIMIT 2" in asked["sql"]:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {asked['sql']}")
                plans.append("\n".join(row[0] for row in cursor.fetchall()))
    indexes = (["events_eventattempt_pkey", "rollup_once", "events_event_pkey"], ["event_dead_letters"])
    asked_for = [indexes[0], indexes[1], indexes[0], ["events_event_pkey"], [], ["event_dead_letters"]]
    assert [[name for name in names if name not in plan] for names, plan in zip(asked_for, plans, strict=True)] == [
        []
    ] * 6
    assert ["Seq Scan" in plan for plan in plans] == [False] * 6


def test_the_page_shows_every_kind_in_few_statements_to_those_who_may_see_it(operator: Client) -> None:
    dead = happen(make_user(), type="channel.disabled", data={})
    operator.get("/admin/health/")
    with CaptureQueriesContext(connection) as captured:
        page = operator.get("/admin/health/").content.decode()
    assert len(captured) == 8 + 3 * len(KINDS)
    assert f"/admin/events/deadletter/causes/{dead.cause}/" in page and "queue: deliveries" in page
    assert 'href="/admin/health/"' in operator.get("/admin/").content.decode()
    staff = make_user(is_staff=True)
    assert signed_in(staff).get("/admin/health/").status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="view_intervention"))
    assert signed_in(staff).get("/admin/health/").status_code == 200


def test_speed_beside_yesterday_growth_and_who_uses_most() -> None:
    now, inboxes = timezone.now(), [make_channel(make_user()) for _ in range(2)]
    for hours, seconds in ((0, 2), (24, 1)):
        due = now - timedelta(hours=hours, minutes=30)
        done = due + timedelta(seconds=seconds)
        sent = make_delivery(inboxes[0], id=of_slot(due, uuid4()), state="delivered", tries=1, settled_at=done)
        Delivery.objects.filter(pk=sent.pk).update(available_at=due)
    make_delivery(inboxes[0])
    make_delivery(inboxes[1])
    took = health.speed()
    assert [took["delivery", ago].median for ago in (0, 1)] == [2, 1]
    assert health.growth()["delivery"].count == 3
    first, second = (inbox.user_id for inbox in inboxes)
    assert [(row.person, row.count) for row in health.people(5)] == [(first, 2), (second, 1)]
    assert len(health.people(1)) == 1
