"""Claims and settlements go by the primary key, whatever the planner last heard of the table."""

from __future__ import annotations

import re

import pytest
from django.db import connection

from common.uuid7 import uuid7
from notifications.deliveries.channel_health import Outcome
from notifications.deliveries.kind import DELIVERY
from notifications.models import Channel, Delivery
from tests.make import make_channel, make_delivery, make_user, noted
from work.engine import claim, settlement
from work.engine.decision import Decision
from work.engine.settlement import settlement as settlement_of
from work.kinds import Lease

pytestmark = pytest.mark.django_db


@pytest.fixture
def delivery() -> Delivery:
    """One of 10,000 pending ones; the statistics are of a time when nothing was pending, and much was delivered."""
    channel = make_channel(make_user())
    delivery = make_delivery(channel)
    insert(channel, 20_000, "delivered")
    Delivery.objects.filter(id=delivery.id).update(state="cancelled", settled_at=delivery.created_at)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE notifications_delivery, notifications_attempt")
    insert(channel, 10_000, "pending")
    return Delivery.objects.filter(state="pending")[5_000]


def insert(channel: Channel, count: int, state: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # no triggers: the rows are only there to be counted
        cursor.execute(
            "INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, wakes, tries,"
            " replays, settled_at)"
            " SELECT gen_random_uuid(), gen_random_uuid(), %s, 'webhook', %s, 0, 0, 0,"
            " CASE WHEN %s <> 'pending' THEN now() END FROM generate_series(1, %s)",
            [channel.id, state, state, count],
        )
        cursor.execute("SET session_replication_role = DEFAULT")


def scans_of(statement: str, values: dict[str, object]) -> set[str]:
    """The indexes by which the table of deliveries is read, or what else reads it."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}", values)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    bitmaps = set(re.findall(r"Bitmap Index Scan on (delivery_\w+|notifications_delivery_\w+)", plan))
    lines = re.findall(r"(\w+(?: Only)? Scan)(?: using (\w+))? on notifications_delivery\b", plan)
    return bitmaps | {index or kind for kind, index in lines if kind != "Heap Scan"}


@pytest.mark.parametrize("many", [False, True])
def test_a_claim_by_id_takes_no_index_of_rescue(delivery: Delivery, many: bool) -> None:
    values = claim._values([(delivery.id, uuid7(), "w")])
    template = claim._CLAIM_MANY if many else claim._CLAIM
    assert scans_of(DELIVERY.sql(template), values) == {"notifications_delivery_pkey"}


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("follows", [False, True])
def test_a_settlement_by_id_takes_no_index_of_rescue(delivery: Delivery, many: bool, follows: bool) -> None:
    lease = Lease(id=delivery.id, token=uuid7())
    follow = Outcome(delivery.id, False, False, False, uuid7(), "", "{}") if follows else None
    row = settlement_of(DELIVERY, lease, Decision("pending", "retryable", noted("later"), 5.0, 15.0), follow)
    template, values = settlement.statement(DELIVERY, [row], many)
    assert scans_of(template, values) == {"notifications_delivery_pkey"}
