"""What a success writes besides is committed with its settlement, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import OperationalError
from django.utils import timezone

from common.database.postgres import query
from notifications.deliveries.kind import DELIVERY
from notifications.messages.message import Delivered
from notifications.models import Delivery
from notifications.providers import inbox
from people.models import User
from tests.make import make_channel, make_delivery, make_user, send_now, taken, try_once
from work.answers import Overtaken
from work.engine import settlement
from work.engine.decision import Decision
from work.engine.runner import TryAgain
from work.reasons import NO_REASON, Reason, WorkCode

pytestmark = pytest.mark.django_db(transaction=True)


def delivering(monkeypatch: pytest.MonkeyPatch, effect: Callable[[], object]) -> Delivery:
    monkeypatch.setattr(inbox.Inbox, "send", lambda *_: Delivered(effect=effect))
    return make_delivery(make_channel(make_user()))


def write() -> None:
    make_user(name="Effect")


def effects() -> int:
    return User.objects.filter(name="Effect").count()


def test_an_effect_is_written_with_the_settlement(monkeypatch: pytest.MonkeyPatch) -> None:
    delivery = delivering(monkeypatch, write)
    for _ in range(2):
        send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, effects()) == ("delivered", 1)


def test_an_effect_that_fails_leaves_nothing_and_no_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        write()
        raise RuntimeError("token=hunter2")

    monkeypatch.setattr(inbox.Inbox, "recognises_repeats", False)
    delivery = delivering(monkeypatch, fail)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code, effects()) == ("unknown", "fault", 0)
    assert "hunter2" not in delivery.reason


@pytest.mark.parametrize("recognises, state", [(True, "pending"), (False, "unknown")])
def test_an_answer_that_cannot_be_stored_is_a_fault_of_ours_and_leaves_no_lease(
    monkeypatch: pytest.MonkeyPatch, recognises: bool, state: str
) -> None:
    unstorable = Delivered(Reason("accepted", said=float("nan")))  # jsonb holds no NaN
    monkeypatch.setattr(inbox.Inbox, "recognises_repeats", recognises)
    monkeypatch.setattr(inbox.Inbox, "send", lambda *_: unstorable)
    delivery = make_delivery(make_channel(make_user()))
    with nullcontext() if state == "unknown" else pytest.raises(TryAgain):
        send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code) == (state, "fault")


def test_a_worker_whose_lease_was_taken_over_has_no_effect() -> None:
    claim = taken(make_delivery(make_channel(make_user())).id)
    Delivery.objects.update(state="pending", lease_token=None, lease_until=None)
    decision = Decision("delivered", "delivered", NO_REASON)
    assert not settlement.settle(DELIVERY, claim, decision, Delivered(effect=write))
    assert effects() == 0


@pytest.mark.parametrize("committed", [True, False])
def test_a_connection_lost_at_the_commit_costs_no_effect_and_doubles_none(
    monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    real, lost = settlement._settle, []

    def settle(*given: object) -> bool:
        if lost:
            return real(*given)  # type: ignore[arg-type]
        lost.append(given)
        if committed:
            real(*given)  # type: ignore[arg-type]
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(settlement, "_settle", settle)
    delivery = delivering(monkeypatch, write)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, effects()) == ("delivered", 1)


def test_threads_that_settle_together_wait_a_second_for_a_lock() -> None:
    kind: Any = SimpleNamespace(apply_together=lambda shared, settle: query("SHOW lock_timeout", []))
    assert [row.lock_timeout for row in settlement.settle_with_effects(kind, [])] == ["1s"]


def test_work_that_was_overtaken_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def overtaken() -> None:
        write()
        raise Overtaken

    delivery = delivering(monkeypatch, overtaken)
    assert (try_once(delivery), effects()) == (0.0, 0)
    assert (delivery.state, delivery.tries, delivery.released) == ("pending", 0, 1)
    assert delivery.reason_code == WorkCode.OVERTAKEN


@pytest.mark.parametrize(("released", "wait"), [(0, 0.75), (3, 6.0), (10, 15.0)])
def test_what_another_transaction_has_locked_is_done_again_after_a_growing_wait(
    monkeypatch: pytest.MonkeyPatch, released: int, wait: float
) -> None:
    def locked() -> None:
        raise OperationalError from psycopg.errors.LockNotAvailable()

    delivery = delivering(monkeypatch, locked)
    Delivery.objects.update(released=released)
    before = timezone.now()
    assert try_once(delivery, random=0.25) is None
    assert (delivery.state, delivery.tries, delivery.released) == ("pending", 0, released + 1)
    assert delivery.reason_code == WorkCode.LOCKED
    assert (delivery.available_at - before).total_seconds() == pytest.approx(wait, abs=0.9)
    assert try_once(delivery) is None  # before its time
    assert delivery.released == released + 1
