"""Threads that claim or settle at one moment share a commit; each still gets its own result, and nothing runs twice."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest
from django.db import DataError, OperationalError, connections, transaction
from django.utils import timezone

from common.uuid7 import uuid7
from notifications.deliveries import outbox
from notifications.deliveries.kind import DELIVERY, DeliveryClaim
from notifications.messages.message import Delivered
from notifications.models import Attempt, Channel, Delivery, Notification
from tests.db.locks import wait_for_a_lock
from tests.make import make_channel, make_delivery, make_user, noted, take
from work.broker.shared_connection import SharedConnection
from work.engine import claim as claiming, manual, settlement
from work.engine.decision import Decision
from work.kinds import Lease

pytestmark = pytest.mark.django_db(transaction=True)

DONE = Decision("delivered", "delivered", noted("Accepted."))


class Shared:
    """What the shared connections execute. The first statement waits until `gate` is set, and then others follow."""

    def __init__(self) -> None:
        self.gate, self.batches, self.opened = threading.Event(), [], []
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None

    def execute(
        self, real: Callable[..., Any], shared: SharedConnection, statement: str, values: dict[str, str]
    ) -> Any:
        first = not self.batches
        self.batches.append(values[next(iter(values))].count(",") + 1)
        if first:
            assert self.gate.wait(60)
        self.before()
        found = real(shared, statement, values)
        self.opened.append(shared._database)
        self.after()
        return found


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shared]:
    """This process has threads that share connections."""
    made = Shared()
    real = SharedConnection.execute
    monkeypatch.setattr(SharedConnection, "execute", lambda *given: made.execute(real, *given))
    for module in (claiming, settlement):
        module._together.cache_clear()
        monkeypatch.setattr(module, "has_threads", lambda: True)
    yield made
    for module in (claiming, settlement):
        module._together.cache_clear()
    for database in made.opened:
        database.close()


@pytest.fixture
def channel() -> Channel:
    return make_channel(make_user())


def at_once(shared: Shared, calls: list[Callable[[], Any]], waiting: Callable[[], int]) -> list[Any]:
    """Run each in a thread: the first alone, the others as one batch after it. Returns results and errors."""

    def run(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        running = [pool.submit(run, call) for call in calls]
        deadline = time.monotonic() + 60
        while waiting() < len(calls) - 1:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        shared.gate.set()
        return [one.result(60) for one in running]


def claim_all(shared: Shared, ids: list[UUID]) -> list[Any]:
    combiner = claiming._together(DELIVERY)
    return at_once(shared, [lambda id=id: take(id) for id in ids], lambda: len(combiner._waiting))


def settle_all(shared: Shared, claims: list[DeliveryClaim], decisions: list[Decision]) -> list[Any]:
    combiner = settlement._together(DELIVERY)
    calls = [
        lambda claim=claim, decision=decision: settlement.settle(DELIVERY, claim, decision, Delivered())
        for claim, decision in zip(claims, decisions, strict=True)
    ]
    return at_once(shared, calls, lambda: len(combiner._waiting))


def make_claims(channel: Channel, count: int) -> list[DeliveryClaim]:
    deliveries = [make_delivery(channel) for _ in range(count)]
    with transaction.atomic():  # alone, whatever has threads
        rows = [claiming._claim_alone(DELIVERY, row.id, uuid7(), "w") for row in deliveries]
    return [DELIVERY.read(row) for row in rows]


def states() -> Counter[str]:
    return Counter(Delivery.objects.values_list("state", flat=True))


def test_claims_at_one_moment_share_a_commit_and_keep_their_own_tokens(shared: Shared, channel: Channel) -> None:
    ids = [make_delivery(channel).id for _ in range(65)]
    claims = claim_all(shared, ids)
    assert shared.batches == [1, 64]
    assert [claim.id for claim in claims] == ids
    assert len({claim.token for claim in claims}) == 65
    assert dict(Delivery.objects.values_list("id", "lease_token")) == {claim.id: claim.token for claim in claims}


def test_of_two_claims_of_one_delivery_in_a_batch_one_gets_it(shared: Shared, channel: Channel) -> None:
    first, wanted = make_delivery(channel), make_delivery(channel)
    claims = claim_all(shared, [first.id, wanted.id, wanted.id])
    assert sum(claim is not None for claim in claims[1:]) == 1
    assert Attempt.objects.filter(delivery=wanted).count() == 1


def test_settlements_at_one_moment_share_a_commit_failures_and_retries_too(shared: Shared, channel: Channel) -> None:
    claims = make_claims(channel, 4)
    decisions = [
        DONE,
        DONE,
        Decision("dead", "rejected", noted("No.")),
        Decision("pending", "retryable", noted("x"), 9, 19),
    ]
    assert settle_all(shared, claims, decisions) == [True] * 4
    assert shared.batches == [1, 3]
    assert states() == {"delivered": 2, "dead": 1, "pending": 1}
    assert not Attempt.objects.filter(finished_at=None).exists()


@pytest.mark.parametrize("is_late_first", [True, False])
def test_a_worker_that_lost_its_lease_writes_nothing_beside_the_one_that_has_it(
    shared: Shared, channel: Channel, is_late_first: bool
) -> None:
    other, holder = make_claims(channel, 2)
    late = replace(holder, token=uuid7())
    decisions = [(late, Decision("dead", "rejected", noted("No."))), (holder, DONE)]
    claims, decided = zip((other, DONE), *decisions[:: 1 if is_late_first else -1], strict=True)
    results = settle_all(shared, [*claims], [*decided])
    assert dict(zip((claim.token for claim in claims), results, strict=True)) == {
        other.token: True,
        late.token: False,
        holder.token: True,
    }
    assert states() == {"delivered": 2}


def test_a_row_that_makes_a_batch_of_64_fail_ends_alone(shared: Shared, channel: Channel) -> None:
    claims = make_claims(channel, 65)
    poisoned = Decision("delivered", "x" * 11, noted("Longer than its column."))
    results = settle_all(shared, claims, [DONE] * 40 + [poisoned] + [DONE] * 24)
    assert isinstance(results.pop(40), DataError)
    assert results == [True] * 64
    assert states() == {"delivered": 64, "sending": 1}


def test_a_row_that_makes_a_batch_of_64_claims_fail_ends_alone(shared: Shared, channel: Channel) -> None:
    ids = [make_delivery(channel).id for _ in range(65)]
    damage(ids[40])
    claims = claim_all(shared, ids)
    assert shared.batches[:2] == [1, 64]
    assert [claim and claim.id for claim in claims] == [*ids[:40], None, *ids[41:]]
    assert states() == {"sending": 64, "dead": 1}


def damage(id: UUID) -> None:
    """The next attempt's number is there already."""
    Attempt.objects.create(delivery_id=id, replay=0, number=1, token=uuid7(), started_at=timezone.now())


def test_a_delivery_that_cannot_be_claimed_ends_with_that_reason_and_can_be_replayed(channel: Channel) -> None:
    damaged, other = make_delivery(channel), make_delivery(channel)
    damage(damaged.id)
    assert take(damaged.id) is None
    damaged.refresh_from_db()
    assert (damaged.state, damaged.reason_code, damaged.reason_params) == (
        "dead",
        "damaged-row",
        {"error": "IntegrityError"},
    )
    assert (damaged.cause, damaged.tries) == ("inbox-damaged-row", 0)
    assert take(other.id) is not None
    manual.replay(Delivery, [damaged.id])
    assert take(damaged.id) is not None


def test_what_another_worker_has_taken_meanwhile_does_not_end_as_damaged(channel: Channel) -> None:
    delivery = make_delivery(channel)
    claim = take(delivery.id)
    claiming._end_damaged(DELIVERY, Lease(id=delivery.id, token=uuid7()), ValueError())
    delivery.refresh_from_db()
    assert claim is not None and (delivery.state, delivery.lease_token) == ("sending", claim.token)


def test_what_could_not_be_ended_as_damaged_is_in_nobodys_hands(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = make_delivery(channel)
    monkeypatch.setattr(claiming, "settle", Mock(side_effect=OperationalError))
    with pytest.raises(OperationalError):
        claiming._end_damaged(DELIVERY, Lease(id=delivery.id, token=uuid7()), ValueError())
    delivery.refresh_from_db()
    assert delivery.state == "pending"


@pytest.mark.parametrize("committed", [True, False])
def test_a_connection_lost_while_claims_are_committed_leaves_each_with_one_lease(
    shared: Shared, channel: Channel, committed: bool
) -> None:
    ids = [make_delivery(channel).id for _ in range(5)]
    setattr(shared, "after" if committed else "before", breaking(shared))
    claims = claim_all(shared, ids)
    assert dict(Delivery.objects.values_list("id", "lease_token")) == {claim.id: claim.token for claim in claims}
    assert set(Delivery.objects.values_list("tries", flat=True)) == {1}
    outcomes = Counter(Attempt.objects.values_list("outcome", flat=True))
    assert outcomes == ({"": 5, "released": 4} if committed else {"": 5})


@pytest.mark.parametrize("committed", [True, False])
def test_a_connection_lost_while_settlements_are_committed_costs_none(
    shared: Shared, channel: Channel, committed: bool
) -> None:
    claims = make_claims(channel, 5)
    setattr(shared, "after" if committed else "before", breaking(shared))
    assert settle_all(shared, claims, [DONE] * 5) == [True] * 5
    assert states() == {"delivered": 5}
    assert set(Attempt.objects.values_list("outcome", flat=True)) == {"delivered"}


def breaking(shared: Shared) -> Callable[[], None]:
    """Breaks the connection of the second batch."""

    def act() -> None:
        if len(shared.batches) == 2:
            raise OperationalError("server closed the connection unexpectedly")

    return act


def test_a_row_that_somebody_holds_keeps_nobody_else_waiting(shared: Shared, channel: Channel) -> None:
    claims = make_claims(channel, 3)
    shared.gate.set()
    with ThreadPoolExecutor(3) as pool:
        with transaction.atomic():
            Notification.objects.select_for_update().get(deliveries=claims[1].id)
            settling = [pool.submit(in_thread, settlement.settle, DELIVERY, claim, DONE) for claim in claims]
            assert settling[0].result(60) and settling[2].result(60)
            assert states() == {"delivered": 2, "sending": 1}
        assert settling[1].result(60)
    assert states() == {"delivered": 3}


def in_thread(call: Callable[..., Any], *given: Any) -> Any:
    try:
        return call(*given)
    finally:
        connections.close_all()


def two_processes(first: Callable[[], Any], second: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(2) as pool:
        return [one.result(60) for one in (pool.submit(in_thread, first), pool.submit(in_thread, second))]


def test_batches_of_two_processes_that_overlap_claim_each_delivery_once(channel: Channel) -> None:
    ids = [make_delivery(channel).id for _ in range(64)]

    def claim(ids: list[UUID]) -> list[UUID]:
        claimed = []
        for start in range(0, 64, 16):
            asked = [(id, uuid7(), "w") for id in ids[start : start + 16]]
            sql = DELIVERY.sql(claiming._CLAIM_MANY)
            claimed += [row.id for row in claiming.postgres.execute(sql, claiming._values(asked)).fetchall()]
        return claimed

    one, other = two_processes(lambda: claim(ids), lambda: claim(ids[::-1]))
    assert not set(one) & set(other)
    assert Attempt.objects.count() == len(one) + len(other)


def test_two_processes_settle_deliveries_of_the_same_notifications_in_opposite_order() -> None:
    user = make_user()
    to = [(make_channel(user, "webhook").id, "webhook") for _ in range(2)]
    for _ in range(3):
        batch = [
            outbox.NewNotification(user.id, to, "Both", "", Notification.Origin.SCHEDULE, uuid7()) for _ in range(40)
        ]
        outbox.record(batch)
        claims = [take(row.id) for row in Delivery.objects.filter(state="pending").order_by("channel_id", "id")]
        first, second = claims[:40], claims[:39:-1]

        def settle(claims: list[Any]) -> None:
            rows = [settlement.settlement(DELIVERY, claim, DONE) for claim in claims]
            left = rows
            while left:  # as their threads do, alone
                found = {row.id for row in claiming.postgres.execute(*settlement.statement(DELIVERY, left, True))}
                left = [row for row in left if row.lease.id not in found]
                if left:
                    settlement.write(DELIVERY, [left.pop(0)])

        two_processes(lambda: settle(first), lambda: settle(second))  # noqa: B023
    assert set(Notification.objects.values_list("outcome", flat=True)) == {"full"}


def test_what_a_batch_leaves_out_is_tried_alone_and_may_be_there_no_more(shared: Shared, channel: Channel) -> None:
    delivery = make_delivery(channel)
    shared.gate.set()
    assert [take(delivery.id) is not None for _ in range(2)] == [True, False]


def test_a_claim_whose_line_was_cut_is_taken_over_even_if_it_commits_later(channel: Channel) -> None:
    delivery, token = make_delivery(channel), uuid7()
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():  # what the server still executes for a line that is cut
            claiming._claim_alone(DELIVERY, delivery.id, token, "w")
            again = pool.submit(in_thread, claiming._claim_again, DELIVERY, delivery.id, token, "w")
            wait_for_a_lock()
        assert again.result(60).token == token
    delivery.refresh_from_db()
    assert (delivery.state, delivery.lease_token, delivery.tries) == ("sending", token, 1)
