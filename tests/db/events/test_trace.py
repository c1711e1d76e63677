"""The trace of a chain."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.intake.trace import trace
from notifications.models import Delivery
from people.models import User
from schedules.firing import fire
from tests.db.api.conftest import Api
from tests.db.events.test_digests import make_digest_rule, send
from tests.make import NINE, happen, make_channel, make_rule, make_schedule, make_user, send_now


@pytest.mark.django_db(transaction=True)
def test_a_chain_shows_events_deliveries_and_tries_in_their_order(ada: User) -> None:
    chain = uuid4()
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
    chain = uuid4()
    make_digest_rule(ada)
    happen(ada, correlation_id=chain)
    happen(ada)
    send()
    rows = trace(chain, ada).rows
    assert [(row.kind, row.source) for row in rows] == [("event", "shop"), ("delivery", "Big orders")]


def test_nobody_sees_rows_of_others_and_operators_see_all(ada: User) -> None:
    bob, chain = make_user(), uuid4()
    make_rule(ada)
    happen(ada, correlation_id=chain)
    happen(bob, correlation_id=chain)
    assert [row.kind for row in trace(chain, bob).rows] == ["event"]
    assert [row.kind for row in trace(chain, ada).rows] == ["event", "delivery"]
    assert len(trace(chain, None).rows) == 3
    assert trace(uuid4(), ada).rows == []


def test_a_reminder_has_a_trace_by_its_batch(ada: User) -> None:
    make_schedule(ada)
    fire.fire_due(NINE)
    batch = Delivery.objects.get().notification.batch_id
    assert [(row.kind, row.source) for row in trace(batch, ada).rows] == [("delivery", "reminder")]


def test_its_statements_do_not_grow_with_the_chain(ada: User) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            trace(chain, ada)
        return len(captured)

    chain = uuid4()
    make_rule(ada)
    happen(ada, correlation_id=chain)
    few = statements()
    for _ in range(9):
        happen(ada, correlation_id=chain)
    assert statements() == few <= 7


def test_a_long_chain_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("events.intake.trace.MOST", 2)
    ada, chain = make_user(), uuid4()
    for _ in range(3):
        happen(ada, correlation_id=chain)
    found = trace(chain, ada)
    assert (len(found.rows), found.more) == (2, True)


def test_the_api_answers_with_it_and_404_for_others(ada: User) -> None:
    chain = uuid4()
    make_rule(ada)
    happen(ada, correlation_id=chain)
    answer = Api(ada).get(f"/trace/{chain}")
    assert [row["kind"] for row in answer.json()["items"]] == ["event", "delivery"]
    assert Api(make_user()).get(f"/trace/{chain}").status_code == 404
