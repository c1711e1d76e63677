"""One person publishes many events at once: a worker handles them about as fast as those of many people."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import pytest
from django.db import transaction

from demo.child import Child
from events.intake import ledger
from events.models import Event
from events.pure.envelope import Envelope
from people.models import User
from tests.make import make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment
from work.broker import fair_queue

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]

EVENTS = 400


def publish(people: Sequence[User], each: int) -> None:
    for person in people:
        for _ in range(each // fair_queue.FEW):
            ledger.record(person.pk, [Envelope(type="order.paid") for _ in range(fair_queue.FEW)])


def waiting(**those: object) -> int:
    return Event.objects.filter(settled_at=None, **those).count()


def seconds_for(people: Sequence[User], each: int) -> float:
    started = time.monotonic()
    publish(people, each)
    wait_until(lambda: not waiting())
    return time.monotonic() - started


def test_a_burst_of_one_person_takes_about_as_long_as_that_of_many_who_do_not_wait_behind_it() -> None:
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", "threads", "--concurrency", "64"]
    celery += ["-Q", "deliveries,events,jobs,bulk,maintenance", "--without-mingle", "--without-gossip"]
    worker = Child("worker", celery, ready_sign=".> maintenance", environment=environment())
    worker.start()
    try:
        many = [make_user() for _ in range(EVENTS // fair_queue.FEW)]
        seconds_for(many, fair_queue.FEW)  # warms up
        ordinary = seconds_for(many, fair_queue.FEW)
        assert seconds_for([make_user()], EVENTS) < 5 * ordinary + 1  # it was 40 times as long
        busy, other = make_user(), make_user()
        with transaction.atomic():
            publish([busy], EVENTS)
        ledger.record(other.pk, [Envelope(type="order.paid")])
        wait_until(lambda: not waiting())
        last = Event.objects.filter(user=busy).latest("settled_at")
        assert Event.objects.get(user=other).settled_at < last.settled_at
    finally:
        worker.stop(10.0)
