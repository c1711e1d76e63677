"""Flows in processes that are killed: each event is applied once, and a run goes on behind its last finished step."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from demo.child import Child, worker_command
from events import flows
from events.flows.incident import RAISED
from events.intake import ledger
from events.kinds.event import EVENT
from events.kinds.step import STEP
from events.models import Event, FlowEffect, FlowSettings, Run, Step, StepAttempt
from events.pure import types
from events.pure.envelope import Envelope
from events.reasons import EventCode
from notifications.models import Delivery
from tests.make import make_channel, make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment, run_in_a_process
from work.engine import rescue
from work.engine.claim import LEASE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]

_FLOWS = "tests.process.events.sample_flows"
_EVENTS = 120

# Children are forked from a process that has loaded everything: one that is killed is followed by another at once.
_KILLED_AT_RANDOM = """
import os, random, signal, sys, time, django
django.setup()
from contextlib import suppress
from django.db.models.functions import Now
from events.kinds.event import EVENT
from events.models import Event
from django.urls import reverse
from events import flows
from notifications.deliveries.preload import preload
from work.engine import runner
preload(), flows.all(), reverse("events:runs")

def work():
    random.seed(os.getpid())
    while True:
        due = Event.objects.filter(state="pending", available_at__lte=Now())
        for key in due.order_by("?").values_list("id", flat=True)[:5]:
            with suppress(runner.TryAgain):
                runner.run(EVENT, key, f"worker {os.getpid()}")
        time.sleep(0.02)

def start():
    if pid := os.fork():
        return pid
    work()

workers = [start() for _ in range(4)]
while True:
    time.sleep(random.uniform(0.05, 0.3))
    at = random.randrange(len(workers))
    os.kill(workers[at], signal.SIGKILL)
    os.waitpid(workers[at], 0)
    workers[at] = start()
    print("killed", flush=True)
"""
_RUN_ONE = """
import sys, uuid, django
django.setup()
from contextlib import suppress
from work.engine import runner
from work.kinds import KINDS
with suppress(runner.TryAgain):
    runner.run(KINDS[sys.argv[1]], uuid.UUID(sys.argv[2]), "doomed")
"""


@pytest.fixture(autouse=True)
def sample_flows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Rescue, in this process, asks a flow how often its steps are tried."""
    monkeypatch.setattr(flows.registry, "_packages", [*flows.PACKAGES, _FLOWS])
    vars(flows.registry).pop("by_name", None)
    yield
    vars(flows.registry).pop("by_name", None)


def work_while_workers_are_killed_at_random() -> int:
    """Until all events are handled. Returns how many workers were killed."""

    def is_over() -> bool:
        time.sleep(0.25)
        held = Event.objects.filter(state="handling", lease_until__lt=Now() + timedelta(seconds=LEASE - 2))
        held.update(lease_until=Now() - timedelta(seconds=1))
        rescue.rescue()
        return not Event.objects.filter(settled_at=None).exclude(type=types.WAIT_OVER).exists()

    killed: list[str] = []
    command = [sys.executable, "-c", _KILLED_AT_RANDOM]
    workers = Child(
        "workers", command, environment=environment(FLOWS=_FLOWS), on_line=lambda line, _: killed.append(line)
    )
    workers.start()
    try:
        wait_until(is_over)
    finally:
        workers.stop(0.0)
    return killed.count("killed")


def test_a_storm_of_alerts_makes_one_incident_a_key_that_rings_once() -> None:
    ada = make_user()
    channels = [make_channel(ada, "webhook", label=label) for label in ("first", "second")]
    FlowSettings.objects.create(user=ada, flow="incident", settings={"channels": [str(one.id) for one in channels]})
    keys = [f"disk {number % 10}" for number in range(100)]
    ledger.record(ada.pk, [Envelope(RAISED, {"key": key, "title": "Disk full"}) for key in keys])
    assert work_while_workers_are_killed_at_random()
    assert Counter({run.key: run.state["raised"] for run in Run.objects.all()}) == Counter(keys)
    assert Run.objects.count() == 10
    assert Counter(Delivery.objects.values_list("channel__label", flat=True)) == {"first": 10}


def test_events_of_one_key_are_each_applied_once_by_workers_that_are_killed_at_random() -> None:
    ada = make_user()
    ledger.record(ada.pk, [Envelope("slow.add", {"key": "a", "number": number}) for number in range(_EVENTS)])
    assert work_while_workers_are_killed_at_random() > 10
    run = Run.objects.get()
    assert sorted(run.state["numbers"]) == list(range(_EVENTS))
    assert (run.state["total"], run.applied) == (sum(range(_EVENTS)), _EVENTS)
    effects = FlowEffect.objects.filter(run=run, outcome="applied")
    assert effects.count() == effects.values("event").distinct().count() == FlowEffect.objects.count() == _EVENTS
    assert set(Event.objects.values_list("state", flat=True)) == {"handled"}


@pytest.mark.parametrize("point", ["ran", "settled"])
def test_a_run_goes_on_behind_each_crash_and_repeats_no_finished_step(point: str, tmp_path: Path) -> None:
    """Each piece of work, steps and the events between them, is killed once: before its commit, or right behind it."""
    ada = make_user()
    file = tmp_path / "called"
    ledger.record(ada.pk, [Envelope("three.begin", {"key": "a", "file": str(file)})])
    killed = 0

    def run(kind: Any, key: object) -> int:
        return run_in_a_process(
            _RUN_ONE, kind.name, str(key), FLOWS=_FLOWS, CARILLON_FAULT_POINTS=str(tmp_path)
        ).returncode

    while due := [(kind, row.id) for kind in (EVENT, STEP) for row in kind.model.objects.filter(state="pending")]:
        for kind, key in due:
            # Events have no code that runs outside of their settlement.
            (tmp_path / ("claimed" if (kind, point) == (EVENT, "ran") else point)).write_text("kill")
            assert run(kind, key) == -signal.SIGKILL
            killed += 1
            row = kind.model.objects.filter(id=key)
            row.filter(settled_at=None).update(lease_until=Now() - timedelta(seconds=1))
            rescue.rescue()
            row.filter(state="pending").update(available_at=Now())
            assert run(kind, key) == 0
    ended = Run.objects.get()
    assert killed == 7  # one event that begins, three steps, and an event behind each
    assert (ended.status, ended.state["done"], ended.applied) == ("finished", ["first", "second", "third"], 4)
    each = Counter(file.read_text().splitlines())
    assert list(each) == [f"{step.handler.removeprefix('three.')} {step.id}" for step in Step.objects.order_by("id")]
    # One that was killed before its result was stored is called again, with the same key.
    assert set(each.values()) == ({2} if point == "ran" else {1})
    assert StepAttempt.objects.count() == sum(each.values())
    assert set(Step.objects.values_list("state", flat=True)) == {"done"}


def work(**variables: str) -> Child:
    """A worker with threads that is starting."""
    worker = Child("worker", worker_command("flows", "ERROR"), environment=environment(FLOWS=_FLOWS, **variables))
    worker.start()
    return worker


@pytest.mark.parametrize("point", ["recorded", "settlements-committed"])
def test_a_worker_that_is_killed_while_it_applies_events_together_loses_and_repeats_none(
    point: str, tmp_path: Path
) -> None:
    ada, bob = make_user(), make_user()
    good = [{"key": f"{number % 3}"} for number in range(45)]
    poisoned = [{"key": "poisoned", **({"how": "raise"} if number == 10 else {})} for number in range(20)]
    ledger.record(ada.pk, [Envelope("bad.do", data) for data in good + poisoned])
    ledger.record(bob.pk, [Envelope("bad.do", {"key": "0"})])
    (tmp_path / point).write_text("kill")
    doomed = work(CARILLON_FAULT_POINTS=str(tmp_path))
    try:
        wait_until(lambda: doomed.exit_status() is not None)
    finally:
        doomed.stop(10.0)
    assert not (tmp_path / point).exists()

    def is_over() -> bool:
        time.sleep(0.25)
        rescue.rescue()
        return not Event.objects.filter(settled_at=None).exists()

    # What it had in hand is given back, before another one has begun.
    Event.objects.filter(state="handling").update(lease_until=Now() - timedelta(seconds=1))
    worker = work()
    try:
        wait_until(is_over)
    finally:
        worker.stop(10.0)
    applied = {(run.user_id, run.key): (run.status, run.applied, run.state["count"]) for run in Run.objects.all()}
    stopped = applied.pop((ada.pk, "poisoned"))
    assert applied == {(ada.pk, f"{key}"): ("open", 15, 15) for key in range(3)} | {(bob.pk, "0"): ("open", 1, 1)}
    outcomes = Counter(FlowEffect.objects.filter(run__key="poisoned").values_list("outcome", flat=True))
    assert stopped == ("stopped", outcomes["applied"], outcomes["applied"])
    assert (outcomes["stopped"], outcomes.total()) == (1, 20)
    assert FlowEffect.objects.count() == 66
    assert set(Event.objects.values_list("state", flat=True)) == {"handled"}


def test_a_flow_that_misbehaves_stops_its_own_runs_and_nobody_else_notices_it() -> None:
    ada, bob = make_user(), make_user()
    reasons = {
        "raise": EventCode.FLOW_FAULT,
        "loop": EventCode.FLOW_TOO_LONG,
        "emit": EventCode.FLOW_TOO_MANY,
        "grow": EventCode.FLOW_TOO_LARGE,
    }
    ledger.record(ada.pk, [Envelope("bad.do", {"key": how, "how": how}) for how in reasons])
    ledger.record(ada.pk, [Envelope("bad.do", {"key": "good"}), Envelope("bad.do", {})])
    ledger.record(bob.pk, [Envelope("bad.do", {"key": "good"}), Envelope("slow.add", {"key": "a", "number": 1})])
    lines: list[str] = []
    worker = Child(
        "worker",
        worker_command("bad", "ERROR"),
        environment=environment(FLOWS=_FLOWS),
        on_line=lambda line, _: lines.append(line),
    )
    worker.start()
    try:
        wait_until(lambda: not Event.objects.filter(settled_at=None).exists())
        assert worker.exit_status() is None
    finally:
        worker.stop(10.0)
    stopped = Run.objects.filter(status="stopped")
    assert {run.key: run.reason_code for run in stopped} == reasons
    assert all(run.reason for run in stopped)
    others = Run.objects.exclude(status="stopped")
    assert {(run.user_id, run.key, run.applied) for run in others} == {
        (ada.pk, "good", 1),
        (bob.pk, "good", 1),
        (bob.pk, "a", 1),
    }
    assert FlowEffect.objects.get(run=None).reason_code == EventCode.FLOW_NO_KEY
    assert set(Event.objects.values_list("state", "tries")) == {("handled", 1)}
    assert any(f"{_FLOWS}.broken is left out: ImportError" in line for line in lines)
