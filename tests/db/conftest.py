"""An operator signed in to the admin, and a reminder that has gone all the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from uuid import UUID

import pytest
from django.db import transaction
from django.test import Client
from django_celery_results.models import TaskResult

from events.models import Rule
from jobs import kinds
from jobs.checks import check_now
from notifications.models import Channel, Delivery, Notification
from people.models import User
from people.sign_in import security_log
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from tests.db import lock_order
from tests.make import NOON, make_channel, make_rule, make_schedule, make_user, settle, signed_in, take
from work.broker import wakes


@pytest.fixture(scope="module", autouse=True)
def watched() -> Iterator[lock_order.Transaction]:
    with lock_order.watched() as current:
        yield current


@pytest.fixture(autouse=True)
def quick(db: None, watched: lock_order.Transaction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test of this lane has a database, in whose transaction it prepares. No worker runs for “Check now”.

    All tests share an address, whose events of security would reach the limit of a minute on a fast machine.
    """
    watched.depth = 0
    monkeypatch.setattr(check_now, "WAIT", 0.0)
    monkeypatch.setattr(security_log, "counts", security_log._Counts())


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The ids of what is published after a commit, as if the test's transaction were committed at each of them."""
    ids: list[UUID] = []
    monkeypatch.setattr(wakes, "transaction", SimpleNamespace(on_commit=lambda hook, robust: hook()))
    monkeypatch.setattr(wakes, "publish", lambda due: ids.extend(wake.id for wake in due))
    return ids


@pytest.fixture
def sample_kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kinds of job whose payload says what they find."""
    monkeypatch.setattr(kinds.registry, "_packages", [*kinds.PACKAGES, "tests.db.jobs.sample_kinds"])
    vars(kinds.registry).pop("by_name", None)
    yield
    vars(kinds.registry).pop("by_name", None)


@contextmanager
def undone() -> Iterator[None]:
    """What is written within is rolled back: the next row of a table of cases begins where this one did."""
    # No `atomic`: what is within has transactions of its own, each with its own order of locks.
    begin = transaction.savepoint()
    yield
    transaction.savepoint_rollback(begin)


@dataclass
class Story:
    """A schedule that fired once, to an inbox and to a webhook that refused; and a rule."""

    person: User
    inbox: Channel
    hook: Channel
    schedule: Schedule
    occurrence: Occurrence
    notification: Notification
    delivered: Delivery
    dead: Delivery
    result: TaskResult
    rule: Rule


@pytest.fixture
def operator() -> Client:
    return signed_in(email="operator@example.org", is_staff=True, is_superuser=True)


@pytest.fixture
def story() -> Story:
    person = make_user(email="ada@example.org")
    inbox, hook = make_channel(person), make_channel(person, "webhook")
    schedule = make_schedule(person, [inbox, hook])
    fire.fire_due(NOON.replace(hour=9) + timedelta(days=1))
    notification = Notification.objects.get()
    for delivery in notification.deliveries.all():
        claim = take(delivery.id, "host:1")
        assert claim is not None
        if delivery.provider == "inbox":
            settle(claim, "delivered")
        else:
            settle(claim, "dead", "It answered 404 Not Found.")
    return Story(
        person=person,
        inbox=inbox,
        hook=hook,
        schedule=Schedule.objects.get(id=schedule.id),
        occurrence=Occurrence.objects.get(),
        notification=notification,
        delivered=Delivery.objects.get(provider="inbox"),
        dead=Delivery.objects.get(provider="webhook"),
        rule=make_rule(person, channels=[inbox]),
        result=TaskResult.objects.create(task_id="t-1", task_name="work.rescue", status="SUCCESS"),
    )
