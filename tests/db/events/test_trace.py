"""The trace of a chain."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from events.flows.incident import RAISED
from events.intake.trace import trace
from events.kinds.event import EVENT
from events.models import Event, FlowEffect, FlowSettings, Run, Step, Subscription, Topic
from jobs.batches.kind import BATCH
from jobs.models import Batch
from notifications.deliveries import acknowledge
from notifications.deliveries.dead_letters import SEND_AS_NEW
from notifications.models import Delivery, Notification
from notifications.net.chain import headers, read, within
from people.models import User
from schedules.firing import fire
from tests.db.api.conftest import Api
from tests.db.events.test_digests import make_digest_rule, send
from tests.make import NINE, NOON, happen, make_channel, make_rule, make_schedule, make_user, send_now, signed_in
from work.dead_letters import act_on_own
from work.engine import runner


@pytest.mark.django_db(transaction=True)
def test_a_chain_shows_events_deliveries_and_tries_in_their_order(ada: User) -> None:
    chain = str(uuid4())
    make_rule(ada, channels=[make_channel(ada, label="Phone")])
    first = happen(ada, correlation_id=chain)
    send_now(Delivery.objects.get().id)
    happen(ada, type="order.sent", correlation_id=chain, hops=4)
    happen(ada)
    rows = trace(chain, ada).rows
    assert [(row.kind, row.type, row.state, list(row.consumers)) for row in rows] == [
        ("event", "order.paid", "handled", ["Big orders"]),
        ("delivery", "Order 7", "delivered", ["Phone"]),
        ("event", "order.sent", "cancelled", []),
    ]
    assert (rows[0].id, rows[0].seconds, rows[1].source) == (first.key, 0.0, "Big orders")
    assert [len(row.tries) for row in rows] == [1, 1, 1]
    assert 0 < rows[1].tries[0].seconds < rows[2].seconds
    assert rows[2].reason


def test_a_digest_is_in_the_chains_of_its_events(ada: User) -> None:
    chain = str(uuid4())
    make_digest_rule(ada)
    happen(ada, correlation_id=chain)
    happen(ada)
    send()
    rows = trace(chain, ada).rows
    assert [(row.kind, row.source) for row in rows] == [("event", "shop"), ("delivery", "Big orders")]


def test_nobody_sees_rows_of_others_and_operators_see_all(ada: User) -> None:
    bob, chain = make_user(), str(uuid4())
    make_rule(ada, series="1 day | Later")
    happen(ada, correlation_id=chain)
    happen(bob, correlation_id=chain)
    run = Run.objects.create(user=ada, flow="incident", key="disk", correlation_id=chain)
    Step.objects.create(user=ada, run=run, handler="incident.none", key="1", correlation_id=chain)
    assert [row.kind for row in trace(chain, bob).rows] == ["event"]
    assert {row.kind for row in trace(chain, ada).rows} == {"event", "delivery", "job", "run", "step"}
    assert len(trace(chain, None).rows) == 6
    Batch.objects.create(user=ada, correlation_id=chain, audience="everybody", message={"title": "Rain"}, as_of=NOON)
    assert [row.kind for row in trace(chain, bob).rows] == ["event"]
    assert trace(str(uuid4()), ada).rows == []


def test_a_chain_shows_the_runs_that_it_began_and_those_that_it_came_to(ada: User) -> None:
    FlowSettings.objects.create(user=ada, flow="incident", settings={"channels": [str(make_channel(ada).id)]})
    alert: Any = {"type": RAISED, "data": {"key": "disk", "title": "Disk full"}}
    happen(ada, **alert, correlation_id="first")
    happen(ada, **alert, correlation_id="second")
    Run.objects.update(changed_at=F("created_at") + timedelta(hours=1))
    found, run = trace("first", ada), Run.objects.get()
    row = next(row for row in found.rows if row.kind == "run")
    assert [row.kind for row in found.rows] == ["event", "run", "event", "delivery"]  # with the time of its wait
    assert (row.type, row.key, row.state, row.queue) == ("incident", "disk", "waiting", "events")
    assert (row.at, row.ended - row.seconds) == (run.created_at, 3600.0)
    assert [row.kind for row in trace("second", ada).rows] == ["event", "run"]
    happen(ada, **alert, correlation_id="second")
    FlowEffect.objects.filter(event=Event.objects.latest("id")).update(at=F("at") + timedelta(minutes=1))
    [lasted] = [row.ended - row.seconds for row in trace("second", ada).rows if row.kind == "run"]
    assert lasted >= 60.0
    assert f'href="/flows/{run.id}/"' in signed_in(ada).get("/trace/second").content.decode()
    assert trace("first", make_user()).rows == []


def test_a_reminder_has_a_trace_by_its_batch(ada: User) -> None:
    make_schedule(ada)
    fire.fire_due(NINE)
    batch = Delivery.objects.get().notification.batch_id
    assert [(row.kind, row.source) for row in trace(str(batch), ada).rows] == [("delivery", "reminder")]


def test_its_statements_do_not_grow_with_the_chain(ada: User) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            trace(chain, ada)
        return len(captured)

    chain = str(uuid4())
    make_rule(ada)
    happen(ada, correlation_id=chain)
    few = statements()
    for _ in range(9):
        happen(ada, correlation_id=chain)
    assert statements() == few <= 12


def test_a_long_chain_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("events.intake.trace.MOST", 2)
    ada, chain = make_user(), str(uuid4())
    for number in (1, 2, 3):
        happen(ada, correlation_id=chain)
        found = trace(chain, ada)
        assert (len(found.rows), found.more) == (min(number, 2), number == 3)


def test_the_api_answers_with_it_and_404_for_others(ada: User) -> None:
    chain = str(uuid4())
    make_rule(ada)
    happen(ada, correlation_id=chain)
    answer = Api(ada).get(f"/trace/{chain}")
    assert [row["kind"] for row in answer.json()["items"]] == ["event", "delivery"]
    assert Api(make_user()).get(f"/trace/{chain}").status_code == 404


def test_any_text_is_a_correlation_id_and_goes_through_everything(ada: User) -> None:
    chain, queue = "brand-cycle-llc-tax-2026-03-14", make_channel(ada, "queue", label="Builds")
    make_rule(ada, channels=[queue], series="now | Later")
    answer = Api(ada).post(
        "/events", {"type": "order.paid", "correlation_id": chain, "data": {"order_id": 7, "amount": 120}}
    )
    assert answer.status_code == 202, answer.content
    runner.run(EVENT, Event.objects.get().id, "worker")
    Api(ada).post(f"/queues/{queue.id}/messages", {"type": "build.ended", "correlation_id": chain})
    pulled = Api(ada).post(f"/queues/{queue.id}/pull", {}).json()["items"]
    assert {one["correlation_id"] for one in pulled} == {chain}
    found = Api(ada).get(f"/trace/{chain}").json()
    assert found["correlation_id"] == chain
    rows = found["items"]
    assert [row["kind"] for row in rows] == ["event", "delivery", "job", "delivery"]
    assert (rows[1]["queue"], rows[0]["key"]) == ("Builds", "amount: 120, order_id: 7")
    assert rows[1]["consumers"][0].startswith("token ")
    page = signed_in(ada).get(f"/trace/{chain}").content.decode()
    assert "Builds" in page and 'class="timeline"' in page


def test_what_is_sent_again_stays_in_its_chain(ada: User) -> None:
    make_rule(ada)
    happen(ada, correlation_id="a chain / of mine")
    notification = Notification.objects.get()
    assert acknowledge.snooze(notification.id, timezone.now() + timedelta(days=1))
    again = Notification.objects.exclude(id=notification.id).get()
    assert again.chain == "a chain / of mine"
    assert [row.kind for row in trace("a chain / of mine", ada).rows] == ["event", "delivery", "delivery"]


def test_what_is_sent_as_new_stays_in_its_chain(ada: User) -> None:
    make_rule(ada, channels=[make_channel(ada, "webhook")])
    happen(ada, correlation_id="a chain / of mine")
    Delivery.objects.update(state="sending", lease_token=uuid4(), lease_until=NOON)
    Delivery.objects.update(state="dead", lease_token=None, lease_until=None, settled_at=NOON, cause="no")
    [new] = act_on_own(Delivery.objects.get(), SEND_AS_NEW, ada).new
    assert Delivery.objects.get(id=new).notification.chain == "a chain / of mine"
    assert [row.state for row in trace("a chain / of mine", ada).rows] == ["handled", "cancelled", "pending"]


def test_a_batch_its_jobs_and_its_deliveries_stay_in_the_chain_of_their_event(ada: User) -> None:
    topic = Topic.objects.create(user=ada, slug="news", name="News")
    make_channel(ada)
    Subscription.objects.create(topic=topic, user=ada, joined_at=NOON)
    happen(ada, correlation_id="a chain / of mine", topic_id=topic.id, data={"title": "Rain"})
    batch = Batch.objects.get()
    runner.run(BATCH, batch.id, "worker")
    assert (batch.chain, Notification.objects.get().chain) == ("a chain / of mine",) * 2
    rows = trace("a chain / of mine", ada).rows
    assert [(row.kind, row.queue) for row in rows] == [("event", "events"), ("batch", "jobs"), ("delivery", "Inbox")]


@pytest.mark.parametrize("wrong", ["x" * 129, "line\nbreak", ""])
def test_what_is_no_correlation_id_is_refused(ada: User, wrong: str) -> None:
    assert Api(ada).post("/events", {"type": "order.paid", "correlation_id": wrong}).status_code == 422


def test_a_signed_header_keeps_any_text(ada: User) -> None:
    with within("grün / 7", 2):
        [value] = headers().values()
    assert value.isascii()
    assert read(value) == ("grün / 7", 2)


@pytest.mark.parametrize("chain", ["..", ".", "a/../b", "/a//b", "100%", "%2E%2E", "shop 7?#"])
def test_links_lead_to_chains_whose_id_has_slashes_or_dots(ada: User, chain: str) -> None:
    event = happen(ada, correlation_id=chain)
    browser = signed_in(ada)
    found = re.search(r'href="(/trace/[^"]*)"', browser.get(f"/events/{event.pk}").content.decode())
    assert found is not None
    link = urljoin("http://testserver/events/", html.unescape(found[1]))
    assert not {"", ".", ".."} & set(urlsplit(link).path.split("/")[2:])
    shown = browser.get(link)
    assert shown.context["trace"].correlation_id == chain
