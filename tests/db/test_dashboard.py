"""The first page of the admin says how Carillon is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.redis import served_queues
from config.admin import dashboard
from events.models import FlowSettings
from notifications.models import Channel, Delivery
from people.models import User
from schedules.models import Heartbeat
from tests.make import NOON, happen, make_channel, make_delivery, make_schedule, make_user, signed_in
from work.operators import health

pytestmark = pytest.mark.django_db


@pytest.fixture
def inbox(ada: User) -> Channel:
    return make_channel(ada)


def ended(channel: Channel, state: str, hours_ago: float, **fields: Any) -> None:
    make_delivery(channel, state=state, settled_at=timezone.now() - timedelta(hours=hours_ago), **fields)


def board(client: Client) -> dict[str, Any]:
    shown: dict[str, Any] = client.get("/admin/").context["dashboard"]
    return shown


def tell(operator: Client) -> None:
    """Have this operator told of problems."""
    user = User.objects.get(pk=operator.session["_auth_user_id"])
    FlowSettings.objects.create(user=user, flow="incident", settings={"channels": [], "installation": True})
    cache.delete(dashboard._KEY)


def test_it_counts_what_was_sent_and_failed_in_the_last_hour_and_day(operator: Client, inbox: Channel) -> None:
    for state, hours_ago in [("delivered", 0.1), ("delivered", 5.5), ("dead", 0.2), ("unknown", 23.5), ("dead", 25)]:
        ended(inbox, state, hours_ago)
    shown = board(operator)
    assert (shown["done"], shown["failed"]) == ({"hour": "1", "day": "2"}, {"hour": "1", "day": "2"})
    bars = shown["chart"]["bars"]
    assert len(bars) == 24
    assert [place for place, bar in enumerate(bars) if bar["sent"]] == [18, 23]
    assert [place for place, bar in enumerate(bars) if bar["failed"]] == [0, 23]


def test_what_is_due_for_over_a_minute_is_late_and_needs_attention(operator: Client, inbox: Channel) -> None:
    now = timezone.now()
    for seconds in (-3_600, 0, 600):
        delivery = make_delivery(inbox)
        Delivery.objects.filter(pk=delivery.pk).update(available_at=now - timedelta(seconds=seconds))
    shown = board(operator)
    assert (shown["waiting"], shown["late"]) == ("3", "1")
    assert "/admin/notifications/delivery/?state=pending" in [link for _, link, _ in shown["problems"]]


def test_dead_letters_of_every_kind_are_grouped_by_cause_with_a_link(operator: Client, inbox: Channel) -> None:
    ended(inbox, "dead", 50, reason="No such box.", cause="inbox-note")
    ended(inbox, "dead", 40, reason="No <b>box</b>.", cause="inbox-note")
    event = happen(inbox.user, type="channel.disabled", data={})
    causes = board(operator)["causes"]
    assert [(one["count"], one["reason"]) for one in causes] == [("2", "No <b>box</b>."), ("1", event.reason)]
    page = operator.get("/admin/").content.decode()
    assert "/admin/notifications/deadletter/causes/inbox-note/" in page and "No &lt;b&gt;box" in page
    assert f"/admin/events/deadletter/causes/{event.cause}/" in page


def test_it_says_when_beat_and_the_workers_of_each_queue_were_last_seen(operator: Client) -> None:
    assert (board(operator)["has_beat"], "/admin/outages/" in str(board(operator)["problems"])) == (False, True)
    Heartbeat.objects.create(process="old:1", last_seen_at=timezone.now() - timedelta(hours=1))
    Heartbeat.objects.create(process="new:1")
    served_queues.announce(settings.QUEUES)
    cache.delete("served-queue:bulk")
    tell(operator)
    shown = board(operator)
    assert ([beat.process for beat in shown["beats"]], shown["has_beat"]) == (["new:1"], True)
    assert {queue: is_served for queue, _, is_served in shown["queues"]} == {
        queue: queue != "bulk" for queue in settings.QUEUES
    }
    assert ["-Q bulk" in text for text, _, _ in shown["problems"]] == [True]


def test_a_queue_whose_worker_is_gone_says_for_how_long(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_queues, "SILENT", 0)
    served_queues.announce(["jobs"])
    ago = {queue: ago for queue, ago, _ in board(operator)["queues"]}
    assert ago["jobs"] is not None and ago["jobs"] < timedelta(seconds=60)
    assert ago["bulk"] is None
    assert "jobs" in served_queues.unserved()


def test_where_nothing_is_wrong_it_says_so(operator: Client) -> None:
    Heartbeat.objects.create(process="new:1")
    served_queues.announce(settings.QUEUES)
    [(text, link, _)] = board(operator)["problems"]
    assert ("No operator is told" in text, link) == (True, "/incidents/settings/")
    tell(operator)
    assert board(operator)["problems"] == []
    assert "nothing needs attention" in operator.get("/admin/").content.decode()


def test_missed_reminders_need_a_decision(operator: Client, ada: User) -> None:
    make_schedule(ada, now=timezone.now() - timedelta(days=3))
    tell(operator)
    assert [link for _, link, _ in board(operator)["problems"] if link] == ["/admin/outages/"] * 2


def test_the_large_tables_are_read_by_three_statements_and_then_not_for_some_seconds(
    operator: Client, inbox: Channel
) -> None:
    ended(inbox, "delivered", 0.1)
    operator.get("/admin/")
    cache.delete(dashboard._KEY)
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as captured:
            assert board(operator)["done"]["hour"] == "1"
        counts.append(sum("notifications_delivery" in query["sql"] for query in captured.captured_queries))
        assert len(captured) <= 11
    assert counts == [3, 0]


def test_counting_stops_at_the_limit_and_says_so(
    operator: Client, inbox: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "MOST", 2)
    for _ in range(3):
        ended(inbox, "delivered", 0.1)
        make_delivery(inbox)
    shown = board(operator)
    assert (shown["waiting"], shown["is_capped"]) == ("2+", True)
    assert "Only the newest 2 are counted" in operator.get("/admin/").content.decode()


def test_staff_who_may_not_see_the_work_see_no_figures_of_it() -> None:
    assert board(signed_in(make_user(is_staff=True))) is None


def test_staff_are_led_to_the_admin_and_back_and_nobody_else(operator: Client, browser: Client) -> None:
    assert 'href="/admin/"' in operator.get("/settings/").content.decode()
    assert 'href="/admin/"' not in browser.get("/settings/").content.decode()
    assert 'href="/"' in operator.get("/admin/").content.decode()


def test_each_page_of_the_admin_names_the_operators_own_zone_once() -> None:
    client = signed_in(is_staff=True, is_superuser=True, time_zone="Asia/Tokyo")
    user = make_user(date_joined=NOON)
    page = client.get(f"/admin/people/user/{user.pk}/change/").content.decode()
    assert "1 Jun 2026, 21:00:00" in page
    assert page.count("Asia/Tokyo") == 1
