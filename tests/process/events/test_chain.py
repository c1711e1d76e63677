"""Events, a digest, and what it causes, through a real beat and a real worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from config.processes import Child, worker_command
from events import ledger
from events.envelope import MOST_HOPS, Envelope
from events.models import Event
from notifications.models import Delivery, Notification
from tests.db.events.test_digests import make_digest_rule
from tests.make import make_channel, make_rule, make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment


@pytest.fixture
def running(broker: object) -> Iterator[None]:
    celery = [sys.executable, "-m", "celery", "-A", "config", "--quiet"]
    children = [
        Child("worker", worker_command("chain", "ERROR"), environment=environment()),
        Child("beat", [*celery, "beat", "--loglevel", "ERROR"], environment=environment()),
    ]
    for child in children:
        child.start()
    yield
    for child in reversed(children):
        child.stop(10.0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("running")
def test_a_digest_and_the_chain_that_it_causes_arrive_and_the_chain_ends() -> None:
    ada = make_user()
    inbox = [make_channel(ada)]
    make_digest_rule(ada, channels=inbox, digest_seconds=6, title="{count} orders")
    make_rule(ada, channels=inbox, type_pattern="notification.full", conditions=[], title="It arrived")
    ledger.record(ada.pk, [Envelope("order.paid", {"order_id": number}) for number in range(3)])
    last = Event.objects.filter(type="notification.full", state="cancelled", hops=MOST_HOPS + 1)
    wait_until(last.exists)
    assert not Delivery.objects.exclude(state="delivered").exists()
    assert Notification.objects.filter(subject="3 orders").count() == 1
    assert list(Event.objects.filter(type="notification.full").order_by("id").values_list("hops", flat=True)) == [
        *range(1, MOST_HOPS + 2)
    ]
