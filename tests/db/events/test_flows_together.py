"""Events that are settled at the same moment are applied in one transaction, in the order of their being recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.database.group_commit import Alone
from events import flows
from events.intake import ledger
from events.kinds.event import EVENT
from events.models import Event, FlowEffect, Run, Step
from events.pure import types
from events.pure.envelope import Envelope
from events.reasons import EventCode
from events.runs import apply, rows
from notifications.models import Delivery
from people.models import User
from tests.make import make_channel, make_user
from work.answers import Busy, Done
from work.engine import runner, settlement as engine_settlement
from work.engine.claim import claim
from work.engine.decision import decide
from work.engine.runner import TryAgain
from work.engine.settlement import Settlement, settle_with_effects, settlement


@pytest.fixture(autouse=True)
def sample_flows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(flows.registry, "_packages", [*flows.PACKAGES, "tests.db.events.sample_flows"])
    vars(flows.registry).pop("by_name", None)
    monkeypatch.setattr(apply, "SECONDS_TOGETHER", 60)  # also on a slow machine
    yield
    vars(flows.registry).pop("by_name", None)


def publish(user: User, what: str, /, key: str = "a", **data: Any) -> Event:
    envelope = Envelope(f"counter.{what}", {"key": key, **data})
    ledger.record(user.pk, [envelope])
    return Event.objects.get(user=user, key=envelope.key)


def claimed(events: Sequence[Event]) -> list[tuple[Settlement, Any]]:
    given = []
    for event in events:
        work = claim(EVENT, event.id, "worker")
        assert work is not None
        answer = EVENT.prepare(work)
        assert isinstance(answer, Done)
        given.append((settlement(EVENT, work, decide(EVENT, work, answer, 0.0)), answer.shared))
    return given


def settle(events: Sequence[Event]) -> list[bool | type[Exception]]:
    """As threads do that settle at the same moment, in this order."""
    results = settle_with_effects(EVENT, claimed(events))
    return [one if isinstance(one, bool) else type(one) for one in results]


def numbers(user: User, key: str = "a") -> list[int]:
    return list(Run.objects.get(user=user, key=key).state["numbers"])


def states() -> dict[str, int]:
    return dict(Counter(Event.objects.values_list("state", flat=True)))


def test_events_are_applied_once_in_the_order_of_their_being_recorded(ada: User) -> None:
    bob = make_user()
    events = [publish(user, "add", number=number) for number in range(10) for user in (ada, bob)]
    assert settle(events[::-1]) == [True] * 20
    assert (numbers(ada), numbers(bob)) == ([*range(10)], [*range(10)])
    assert {(run.applied, run.status) for run in Run.objects.all()} == {(10, "open")}
    applied = FlowEffect.objects.filter(run__user=ada, outcome="applied").order_by("id")
    assert [effect.event_id for effect in applied] == [event.id for event in events[::2]]
    assert states() == {"handled": 20}
    more = [publish(ada, "add", number=10), publish(ada, "add", key="new", number=1)]
    assert settle(more) == [True, True]
    assert (numbers(ada), numbers(ada, "new")) == ([*range(11)], [1])


def test_a_worker_of_threads_settles_each_event_with_others(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    together: list[int] = []

    def apply_together(shared: Sequence[Any], settle: Any) -> list[bool | Exception]:
        together.append(len(shared))
        return real(shared, settle)

    real = apply.apply_together
    monkeypatch.setattr(apply, "apply_together", apply_together)
    monkeypatch.setattr(engine_settlement, "has_threads", lambda: True)
    runner.run(EVENT, publish(ada, "add", number=1).id, "worker")
    assert (numbers(ada), states(), together) == ([1], {"handled": 1}, [1])


def test_the_number_of_statements_does_not_grow_with_the_events(ada: User) -> None:
    def statements(count: int) -> int:
        events = [publish(ada, "add", key=f"{number % 10}") for number in range(count)]
        given = claimed(events)
        with CaptureQueriesContext(connection) as captured:
            assert settle_with_effects(EVENT, given) == [True] * count
        return len(captured)

    statements(20)  # the runs are there
    assert statements(5) == statements(20)


def test_a_poison_event_is_left_alone_and_its_neighbours_are_applied(ada: User) -> None:
    good = [publish(ada, "add", number=1), publish(ada, "add", number=2)]
    poison, after = publish(ada, "bad", how="raise"), publish(ada, "add", number=3)
    others = [publish(ada, "add", key="b", number=4), publish(make_user(), "add", number=5)]
    assert settle([*others, after, poison, *good]) == [True, True, Busy, Alone, True, True]
    assert numbers(ada) == [1, 2]
    assert numbers(ada, "b") == [4]
    assert states() == {"handled": 4, "handling": 2}


@pytest.mark.parametrize("how", ["emit", "grow", "nul", "wrong", "reserved", "step"])
def test_a_flow_that_misbehaves_is_left_alone(ada: User, how: str) -> None:
    events = [publish(ada, "add"), publish(ada, "bad", how=how), publish(ada, "add", key="b")]
    assert settle(events) == [True, Alone, True]
    assert numbers(ada) == [1]
    assert numbers(ada, "b") == [1]


def test_handlers_that_take_long_hold_up_others_for_a_moment_only(ada: User) -> None:
    events = [publish(ada, "bad", key=f"{number}", how="loop") for number in range(5)]
    with patch.object(apply, "SECONDS_TOGETHER", 0.2), patch.object(apply, "advance", wraps=apply.advance) as called:
        assert settle([*events, publish(ada, "add")]) == [Alone] * 6
    assert called.call_count <= 1


def test_what_ends_or_withdraws_is_applied_alone_and_what_comes_behind_it_later(ada: User) -> None:
    make_channel(ada, "email")
    events = [publish(ada, "add", number=1), publish(ada, "say"), publish(ada, "end"), publish(ada, "add", number=2)]
    assert settle(events) == [True, True, Alone, Busy]
    assert Delivery.objects.get().state == "pending"
    assert Run.objects.get().status == "open"


def test_messages_steps_waits_and_splits_are_those_of_events_that_are_applied_alone(ada: User) -> None:
    make_channel(ada)
    what: list[tuple[str, dict[str, Any]]] = [
        ("add", {}),
        ("wait", {"timeout": 60}),
        ("say", {}),
        ("split", {"parts": 3}),
        ("fetch", {"what": "sea"}),
        ("add", {}),
    ]
    for key in ("together", "alone"):
        events = [publish(ada, name, key=key, **data) for name, data in what]
        if key == "together":
            assert settle(events) == [True] * len(events)
        else:
            for event in events:
                with suppress(TryAgain):
                    runner.run(EVENT, event.id, "worker")
    one, other = Run.objects.order_by("id")
    for name in ("status", "state", "waits", "waits_for", "wait_until", "applied", "begun", "version"):
        assert getattr(one, name) == getattr(other, name)
    assert Event.objects.filter(type=types.WAIT_OVER, state="cancelled").count() == 2
    assert Event.objects.filter(type="counter.part").count() == 6
    assert Step.objects.filter(state="pending").count() == 2
    assert Delivery.objects.count() == 2


def test_a_stopped_run_ignores_events_together(ada: User) -> None:
    first = publish(ada, "add")
    settle([first])
    Run.objects.update(status="stopped", reason_code=EventCode.FLOW_FAULT)
    assert settle([publish(ada, "add"), publish(ada, "add")]) == [True, True]
    ignored = FlowEffect.objects.filter(outcome="ignored")
    assert {effect.reason_code for effect in ignored} == {EventCode.FLOW_RUN_STOPPED}
    assert ignored.count() == 2
    assert numbers(ada) == [1]


def test_an_event_whose_run_somebody_else_has_comes_back(ada: User) -> None:
    events = [publish(ada, "add"), publish(ada, "add", key="b")]
    settle(events)
    theirs = rows.Target(ada.pk, "counter", "a")
    by_key = rows.by_key

    def skipped(targets: Any, otherwise: str) -> dict[rows.Target, Run]:
        return {target: run for target, run in by_key(targets, otherwise).items() if target != theirs}

    with patch("events.runs.rows.by_key", side_effect=skipped):
        assert settle([publish(ada, "add"), publish(ada, "add", key="b")]) == [Busy, True]
    assert (numbers(ada), numbers(ada, "b")) == ([1], [1, 1])


def test_nothing_is_applied_where_one_event_is_no_longer_the_workers(ada: User) -> None:
    events = [publish(ada, "add"), publish(ada, "add", key="b")]
    prepare = EVENT.prepare

    def taken_over(work: Any) -> Any:
        answer = prepare(work)
        Event.objects.filter(id=events[0].id).update(lease_token=events[1].id)
        return answer

    with patch.object(EVENT, "prepare", side_effect=taken_over), pytest.raises(Alone):
        settle(events)
    assert not Run.objects.exists()
    assert not FlowEffect.objects.exists()
    assert states() == {"handling": 2}


def test_one_without_a_key_or_an_open_run_is_left_to_be_noted_alone(ada: User) -> None:
    assert settle([publish(ada, "add", key=""), publish(ada, "say"), publish(ada, "add", key="b")]) == [
        Alone,
        Alone,
        True,
    ]
