"""Events, a digest, and what it causes, through a real beat and a real worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from uuid import UUID

import pytest
from django.conf import settings

from demo.child import Child, worker_command
from events.intake import ledger
from events.models import Event
from events.pure.envelope import Envelope
from notifications.models import Delivery, Notification
from notifications.net import chain
from tests.db.events.test_digests import make_digest_rule
from tests.db.events.test_inbound import make_address
from tests.make import make_channel, make_rule, make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment
from tests.process.web import Web


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
    last = Event.objects.filter(type="notification.full", state="cancelled", hops=settings.MOST_HOPS + 1)
    wait_until(last.exists)
    assert not Delivery.objects.exclude(state="delivered").exists()
    assert Notification.objects.filter(subject="3 orders").count() == 1
    assert list(Event.objects.filter(type="notification.full").order_by("id").values_list("hops", flat=True)) == [
        *range(1, settings.MOST_HOPS + 2)
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("provider", ["status", "webhook"])
def test_a_webhook_to_an_address_of_this_installation_ends_its_chain(provider: str) -> None:
    ada = make_user()
    with Web() as web:
        make_address(ada, token="a" * 48)
        there = {"url": f"http://127.0.0.1:{web.port}"}
        secrets = {"secret": "whsec_" + "c2VjcmV0" * 4, "path": f"/in/{'a' * 48}"}
        if provider == "status":
            # by way of an inbox: its delivery is a change, which the status webhook posts
            make_channel(ada, "status", secrets, address=there | {"types": ["delivery.*"]})
            rung = [make_channel(ada)]
        else:
            rung = [make_channel(ada, "webhook", secrets, address=there)]
        make_rule(ada, channels=rung, type_pattern="*", conditions=[], title="It happened")
        first = Envelope("order.paid", {"order_id": 1})
        ledger.record(ada.pk, [first])
        wait_until(Event.objects.filter(state="cancelled", hops__gt=settings.MOST_HOPS).exists)
        wait_until(lambda: not Delivery.objects.filter(state__in=["pending", "sending"]).exists())
        events = list(Event.objects.order_by("id"))
        step = 2 if provider == "status" else 1
        assert [event.hops for event in events] == list(range(0, settings.MOST_HOPS + 2, step))
        assert {event.correlation_id for event in events} == {UUID(first.key)}


@pytest.mark.parametrize("forged", ["1 6f1c2b40-0000-7000-8000-000000000000", "9 x:signed", "", "x" * 5_000, "é"])
def test_a_forged_chain_is_ignored(forged: str) -> None:
    assert chain.read(forged) is None
