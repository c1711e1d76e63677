"""Flows: one event at a time is applied to a run, with all that follows from it, or nothing is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from uuid import uuid5

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.uuid7 import uuid7
from events import apps, flows
from events.kinds.event import EVENT
from events.kinds.step import STEP
from events.models import Event, FlowEffect, Run, Step
from events.pure import types
from events.reasons import EventCode
from events.runs import apply, steps
from notifications.models import Delivery, Notification
from people.models import User
from tests.db.events.sample_flows import counter
from tests.make import NOON, happen, make_channel, make_user
from work import dead_letters
from work.answers import Busy
from work.dead_letters import Who
from work.engine import runner
from work.engine.runner import TryAgain


@pytest.fixture(autouse=True)
def sample_flows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(flows.registry, "_packages", [*flows.PACKAGES, "tests.db.events.sample_flows"])
    vars(flows.registry).pop("by_name", None)
    counter.CALLS.clear()
    yield
    vars(flows.registry).pop("by_name", None)


def count(user: User, what: str, /, key: str = "a", **data: Any) -> Event:
    return happen(user, type=f"counter.{what}", data={"key": key, **data})


def run_of(user: User, key: str = "a") -> Run:
    return Run.objects.filter(user=user, key=key).latest("id")


def work_through() -> None:
    """Do all steps and events that are due, as workers do."""
    for _ in range(20):
        due = [
            (STEP, key)
            for key in Step.objects.filter(state="pending", wake_at__isnull=False).values_list("id", flat=True)
        ]
        waiting = Event.objects.filter(state="pending").exclude(type=types.WAIT_OVER)
        due += [(EVENT, key) for key in waiting.order_by("id").values_list("id", flat=True)]
        if not due:
            return
        for kind, key in due:
            kind.model._default_manager.filter(id=key, state="pending").update(available_at=NOON)
            with suppress(TryAgain):
                runner.run(kind, key, "worker")


def over(user: User) -> None:
    """The time of the newest wait is over."""
    timer = Event.objects.filter(user=user, type=types.WAIT_OVER).latest("id")
    Event.objects.filter(id=timer.id, state="pending").update(available_at=NOON)
    runner.run(EVENT, timer.id, "worker")


def test_events_of_one_key_are_applied_to_one_run(ada: User) -> None:
    events = [count(ada, "add", number=number) for number in (1, 2, 3)]
    count(ada, "add", key="b")
    run = run_of(ada)
    assert (run.flow, run.version, run.status, run.applied) == ("counter", 1, "open", 3)
    assert run.state["numbers"] == [1, 2, 3]
    assert run.correlation_id == events[0].correlation_id
    assert [one.state for one in events] == ["handled"] * 3
    assert list(run.effects.order_by("id").values_list("event_id", "outcome")) == [
        (one.id, "applied") for one in events
    ]
    assert Run.objects.count() == 2


def test_runs_are_of_one_person(ada: User) -> None:
    bob = make_user()
    count(ada, "add")
    count(bob, "add")
    assert run_of(ada).applied == run_of(bob).applied == 1


def test_an_event_that_does_not_begin_a_run_is_noted(ada: User) -> None:
    event = count(ada, "say")
    assert not Run.objects.exists()
    effect = FlowEffect.objects.get(event=event)
    assert (effect.outcome, effect.reason_code) == ("ignored", EventCode.FLOW_NO_RUN)


@pytest.mark.parametrize("data", [{}, {"key": ""}, {"key": "x" * 201}, {"key": "half"}])
def test_an_event_without_a_key_is_noted_and_stops_nothing(ada: User, data: dict[str, Any]) -> None:
    event = happen(ada, type="counter.add", data=data)
    effect = FlowEffect.objects.get(event=event)
    assert (event.state, effect.outcome, effect.reason_code) == ("handled", "ignored", EventCode.FLOW_NO_KEY)


def test_a_split_has_ids_that_follow_from_its_event(ada: User) -> None:
    count(ada, "add")
    event = count(ada, "split", parts=3)
    parts = Event.objects.filter(type="counter.part")
    assert {one.correlation_id for one in parts} == {event.correlation_id}
    assert {(one.hops, one.source) for one in parts} == {(1, "flow.counter")}
    assert {one.key for one in parts} == {str(uuid5(event.id, f"counter {number}")) for number in range(3)}


def test_a_message_goes_to_the_channels_with_the_chain(ada: User) -> None:
    make_channel(ada)
    count(ada, "add")
    event = count(ada, "say")
    said = Notification.objects.get()
    assert (said.subject, said.origin_id, said.correlation_id) == ("a has 1", run_of(ada).id, event.correlation_id)
    assert Delivery.objects.filter(notification=said).exists()


def test_what_was_sent_and_has_not_gone_out_is_withdrawn_at_the_end(ada: User) -> None:
    make_channel(ada, "email")
    count(ada, "add")
    count(ada, "say")
    count(ada, "end")
    assert set(Delivery.objects.values_list("state", flat=True)) == {"cancelled"}
    assert run_of(ada).status == "finished"


def test_a_key_whose_run_has_ended_begins_another(ada: User) -> None:
    count(ada, "add")
    count(ada, "end")
    count(ada, "add", number=5)
    assert Run.objects.filter(user=ada, key="a").count() == 2
    assert run_of(ada).state["numbers"] == [5]


def test_the_result_of_a_step_is_given_once(ada: User) -> None:
    count(ada, "add")
    event = count(ada, "fetch", what="sea")
    step = Step.objects.get()
    assert (step.state, step.correlation_id) == ("pending", event.correlation_id)
    work_through()
    step.refresh_from_db()
    assert (step.state, step.result) == ("done", {"found": "sea"})
    assert [str(step.id)] == counter.CALLS
    assert run_of(ada).state["results"] == ["sea"]
    assert Event.objects.get(type=types.STEP_DONE).correlation_id == event.correlation_id


def test_a_step_that_asks_for_it_is_tried_again_with_the_same_key(ada: User) -> None:
    count(ada, "add")
    count(ada, "fetch", how="later")
    work_through()
    step = Step.objects.get()
    assert (step.state, step.tries, step.reason) == ("dead", 2, "It is busy.")
    assert [str(step.id)] * 2 == counter.CALLS
    assert run_of(ada).state["results"] == ["failed"]


@pytest.mark.parametrize("how", ["refused", "loop", "bug", "exit"])
def test_a_step_that_fails_tells_its_run_once(ada: User, how: str) -> None:
    count(ada, "add")
    count(ada, "fetch", how=how)
    work_through()
    assert steps.note_failures() == 0
    assert Step.objects.get().state == "dead"
    assert run_of(ada).state["results"] == ["failed"]
    assert run_of(ada).status == "open"


def test_rescue_tells_the_run_of_a_step_whose_worker_was_lost(ada: User) -> None:
    count(ada, "add")
    count(ada, "fetch", how="refused")
    Step.objects.update(available_at=NOON)
    with patch.object(type(STEP), "after"):
        runner.run(STEP, Step.objects.get().id, "worker")
    assert Step.objects.get().state == "dead"
    assert steps.note_failures() == 1
    work_through()
    assert run_of(ada).state["results"] == ["failed"]


def test_a_failed_step_that_is_replayed_goes_on(ada: User) -> None:
    count(ada, "add")
    count(ada, "fetch", how="refused")
    work_through()
    Step.objects.update(input={"what": "land"})
    dead_letters.replay(Step.objects.all(), "this", Who(ada.pk, "ada"))
    work_through()
    assert run_of(ada).state["results"] == ["failed", "land"]


def test_a_step_with_a_key_that_exists_is_skipped(ada: User) -> None:
    count(ada, "add")
    count(ada, "fetch", once="k", times=2)
    count(ada, "fetch", once="k")
    assert Step.objects.count() == 1


def test_steps_above_the_limit_are_held_and_released_one_by_one(ada: User) -> None:
    count(ada, "add")
    count(ada, "fetch", what="x", times=4, most_open=2)
    assert sum(one.is_held for one in Step.objects.all()) == 2
    work_through()
    assert run_of(ada).state["results"] == ["x"] * 4


@pytest.mark.parametrize("what", ["fetch", "say"])
def test_many_steps_or_messages_cost_no_more_statements_than_two(ada: User, what: str) -> None:
    count(ada, "add")
    count(ada, what)
    costs = []
    for times in (2, 15):
        with CaptureQueriesContext(connection) as queries:
            count(ada, what, times=times, most_open=1)
        costs.append(len(queries))
    assert costs[0] == costs[1]


def test_a_wait_ends_by_its_event(ada: User) -> None:
    count(ada, "add")
    count(ada, "wait", timeout=60)
    run = run_of(ada)
    assert (run.status, run.waits_for) == ("waiting", "counter.add")
    assert run.wait_until is not None
    count(ada, "say")
    assert run_of(ada).wait_until == run.wait_until
    count(ada, "add")
    run = run_of(ada)
    assert (run.status, run.waits_for, run.wait_until) == ("open", "", None)
    assert Event.objects.get(type=types.WAIT_OVER).state == "cancelled"
    assert run.state["results"] == []


def test_a_wait_ends_by_its_time(ada: User) -> None:
    count(ada, "add")
    count(ada, "wait", timeout=60)
    over(ada)
    run = run_of(ada)
    assert (run.status, run.waits_for, run.state["results"]) == ("open", "", ["over"])


def test_the_time_of_an_earlier_wait_does_nothing(ada: User) -> None:
    count(ada, "add")
    count(ada, "wait", timeout=60)
    first = Event.objects.get(type=types.WAIT_OVER)
    with patch("events.runs.advance._timer_key", side_effect=lambda run: f"wait {run.waits}"):
        count(ada, "wait", timeout=60)
    Event.objects.filter(id=first.id).update(available_at=NOON)
    runner.run(EVENT, first.id, "worker")
    assert run_of(ada).state["results"] == []
    assert FlowEffect.objects.get(event=first).reason_code == EventCode.FLOW_WAIT_ENDED


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("raise", EventCode.FLOW_FAULT),
        ("exit", EventCode.FLOW_FAULT),
        ("loop", EventCode.FLOW_TOO_LONG),
        ("emit", EventCode.FLOW_TOO_MANY),
        ("grow", EventCode.FLOW_TOO_LARGE),
        ("nul", EventCode.FLOW_UNREADABLE),
        ("wrong", EventCode.FLOW_FAULT),
        ("reserved", EventCode.FLOW_BAD_TYPE),
        ("deep", EventCode.FLOW_FAULT),
        ("step", EventCode.FLOW_NO_STEP),
    ],
)
def test_a_flow_that_misbehaves_stops_this_run_alone(ada: User, how: str, code: EventCode) -> None:
    make_channel(ada)
    count(ada, "add")
    count(ada, "add", key="b")
    with patch("events.runs.apply.SECONDS", 1):
        event = count(ada, "bad", how=how)
    run = run_of(ada)
    assert (event.state, run.status, run.reason_code) == ("handled", "stopped", code)
    assert run.reason
    assert "secret" not in run.reason
    assert run.state["numbers"] == [1]
    assert not Event.objects.filter(type="counter.part").exists()
    after = count(ada, "add")
    assert FlowEffect.objects.get(event=after).reason_code == EventCode.FLOW_RUN_STOPPED
    count(ada, "add", key="b")
    assert run_of(ada, "b").applied == 2


def test_a_run_of_another_version_is_stopped_or_migrated(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    count(ada, "add")
    count(ada, "add", key="b")
    monkeypatch.setattr(counter.Counter, "version", 2)
    count(ada, "add")
    assert (run_of(ada).status, run_of(ada).reason_code) == ("stopped", EventCode.FLOW_VERSION)
    monkeypatch.setattr(counter.Counter, "migrate", lambda self, state, version: {"numbers": [100 * version]})
    count(ada, "add", key="b")
    run = run_of(ada, "b")
    assert (run.status, run.version, run.state["numbers"]) == ("open", 2, [100, 1])


def test_a_file_or_package_that_cannot_be_imported_leaves_the_others(
    ada: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(flows.registry, "_packages", ["no.such.package", *flows.registry._packages])
    flows.BROKEN.clear()
    count(ada, "add")
    assert run_of(ada).applied == 1
    broken = {
        "no.such.package": "ModuleNotFoundError",
        "tests.db.events.sample_flows.broken": "ImportError",
        "tests.db.events.sample_flows.quitting": "SystemExit",
    }
    assert broken == flows.BROKEN
    for path, error in broken.items():
        assert f"{path} is left out: {error}" in caplog.text
    assert [(one.id, one.msg.split()[0]) for one in apps._check_flows()] == [("events.W001", path) for path in broken]
    flows.BROKEN.clear()


def test_a_run_whose_flow_is_gone_stops_with_words(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    count(ada, "add")
    count(ada, "wait", timeout=60)
    monkeypatch.setattr(flows.registry, "_packages", flows.PACKAGES)
    vars(flows.registry).pop("by_name", None)
    over(ada)
    assert (run_of(ada).status, run_of(ada).reason_code) == ("stopped", EventCode.FLOW_NOT_INSTALLED)


def test_an_event_whose_run_is_busy_comes_back_and_nothing_is_written(ada: User) -> None:
    count(ada, "add")
    with patch("events.runs.rows.by_key", side_effect=Busy):
        event = count(ada, "add")
    assert (event.state, event.released, run_of(ada).applied) == ("pending", 1, 1)
    assert not FlowEffect.objects.filter(event=event).exists()


def test_nobody_can_send_an_event_to_a_run() -> None:
    assert all(types.is_reserved(one) for one in types.TO_RUNS)


def test_steps_that_are_open_are_cancelled_with_their_run(ada: User) -> None:
    count(ada, "add")
    count(ada, "fetch", what="sea")
    count(ada, "end")
    assert Step.objects.get().state == "cancelled"


def test_a_run_goes_on_without_a_step_that_is_discarded_as_without_one_that_is_skipped(ada: User) -> None:
    count(ada, "add")
    count(ada, "fetch", how="refused")
    work_through()
    assert run_of(ada).state["results"] == ["failed"]
    done = dead_letters.discard(Step.objects.all(), "all", Who(None, "operator"), "Not needed.")
    work_through()
    assert (len(done.changed), run_of(ada).state["results"]) == (1, ["failed", "skipped"])


def test_an_event_reaches_no_run_of_another_person_and_ends_none_twice(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run.objects.create(user=make_user(), flow="gone", key="a", correlation_id=uuid7(), status="open")
    written: list[Any] = []
    monkeypatch.setattr(apply, "record_effects", written.extend)

    def reach(user_id: int) -> tuple[str, int]:
        event: Any = SimpleNamespace(id=uuid7(), user_id=user_id, data={"run_id": str(run.id)})
        apply.apply_to_run(event)
        run.refresh_from_db()
        return run.status, len(written)

    assert reach(ada.pk) == ("open", 0)
    assert reach(run.user_id) == ("stopped", 1)  # its flow is not installed
    Run.objects.update(status="finished", ended_at=NOON)
    assert reach(run.user_id) == ("finished", 2)
