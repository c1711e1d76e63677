"""How work goes, for operators."""

from __future__ import annotations

from datetime import timedelta
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
from notifications.models import Delivery
from tests.make import happen, make_channel, make_delivery, make_user, signed_in
from work import health
from work.kinds import KINDS

pytestmark = pytest.mark.django_db


def test_what_ended_in_the_past_hour_is_counted_by_type_and_source_most_first() -> None:
    ada = make_user()
    for source in ("shop", "shop", "bank"):
        happen(ada, source=source)
    happen(ada, source="bank", type="channel.disabled", data={})
    inbox = make_channel(ada)
    make_delivery(inbox, state="delivered")
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
    assert (row.handler, row.cause, row.count) == ("channel.disabled", fresh[0].cause, 2)


def test_each_minute_says_what_was_recorded_and_what_has_ended() -> None:
    ada = make_user()
    happen(ada)
    make_delivery(make_channel(ada))
    assert sum(row.recorded for row in health.minutes(EVENT)) == sum(row.ended for row in health.minutes(EVENT)) == 1
    assert [(row.recorded, row.ended) for row in health.minutes(DELIVERY)] == [(1, 0)]


def test_each_statement_is_bounded_and_reads_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = make_user()
    for _ in range(3):
        happen(ada)
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
    assert ["events_event_pkey" in plan or "event_dead_letters" in plan for plan in plans] == [True] * 4 + [False, True]
    assert ["Seq Scan" in plan for plan in plans] == [False] * 6


def test_the_page_shows_every_kind_in_few_statements_to_those_who_may_see_it(operator: Client) -> None:
    dead = happen(make_user(), type="channel.disabled", data={})
    operator.get("/admin/health/")
    with CaptureQueriesContext(connection) as captured:
        page = operator.get("/admin/health/").content.decode()
    assert len(captured) == 6 + 3 * len(KINDS)
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
