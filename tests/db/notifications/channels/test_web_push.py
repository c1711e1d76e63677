"""A browser as a channel: added without a code, rung, disabled when it is gone, and cleared when it is answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.test import Client
from pytest_django import Settings

from demo.receivers import HTTPReceiver, web_push
from notifications import tasks
from notifications.deliveries import acknowledge
from notifications.models import Channel, Delivery, Notification
from people.models import User
from schedules.firing import fire
from tests.db.notifications.conftest import fresh, send_all
from tests.make import NINE, make_channel, make_delivery, make_schedule, make_user, signed_in, taken

pytestmark = pytest.mark.django_db


@pytest.fixture
def service(settings: Settings) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS, settings.PUSH_SERVICES = ["127.0.0.0/8"], ["127.0.0.1"]
    with HTTPReceiver(web_push.answer) as receiver:
        yield receiver


@pytest.fixture
def ringing(browser: Client, ada: User, service: HTTPReceiver) -> Channel:
    """Ada's browser, added as its script does."""
    subscribed = web_push.subscription(service.origin)
    browser.post("/channels/new/web_push/", {**subscribed, "label": "Chrome on Linux"})
    return Channel.objects.get(user=ada)


def fired(channel: Channel) -> Notification:
    make_schedule(channel.user, [channel])
    fire.fire_due(NINE)
    return Notification.objects.get(origin="schedule")


def test_it_needs_no_code_and_its_page_shows_no_secret(browser: Client, ringing: Channel) -> None:
    assert ringing.verified_at is not None
    assert not Delivery.objects.exists()
    for path in ("/channels/", f"/channels/{ringing.id}/"):
        page = browser.get(path).content.decode()
        assert "Chrome on Linux" in page
        assert "planted" not in page
    assert browser.get(f"/channels/{ringing.id}/change/").status_code == 302


def test_the_page_knows_which_browsers_ring(browser: Client, ringing: Channel) -> None:
    assert ringing.address["digest"] in browser.get("/channels/").content.decode()
    assert ringing.address["digest"] not in signed_in(make_user()).get("/channels/").content.decode()
    Channel.objects.update(disabled_at=NINE)
    assert ringing.address["digest"] not in browser.get("/channels/new/web_push/").content.decode()


def test_another_address_than_a_push_service_is_refused_and_stays_out(browser: Client, service: HTTPReceiver) -> None:
    typed = web_push.subscription("https://hooks.example.org")
    page = browser.post("/channels/new/web_push/", typed).content.decode()
    assert "hooks.example.org is not a known push service" in page
    assert not Channel.objects.exists()


def test_a_reminder_rings_with_its_links(ringing: Channel, service: HTTPReceiver) -> None:
    said = fired(ringing)
    send_all()
    [request] = service.requests
    document = web_push.read(request)
    assert document["title"] == "Water the plants"
    assert document["open"] == f"/history/{said.id}/"
    page = Client().post(document["answer"], {"answer": "acknowledge"})
    assert page.status_code == 302, "what the worker takes for saved"
    said.refresh_from_db()
    assert said.acknowledged_at is not None


def test_a_browser_that_is_gone_is_disabled_and_says_how_to_ring_again(ringing: Channel, service: HTTPReceiver) -> None:
    fired(ringing)
    service.answers.append(web_push.Reply(410))
    send_all()
    assert "Ring in this browser" in fresh(ringing).disabled_reason


def test_an_answer_closes_it_on_every_device_that_shows_it(
    ada: User, ringing: Channel, service: HTTPReceiver, broker: redis.Redis, django_capture_on_commit_callbacks: Any
) -> None:
    make_channel(ada, "web_push", dict(ringing.destination().secrets), address=ringing.address, label="Phone")
    gone = make_channel(ada, "web_push", dict(ringing.destination().secrets), address=ringing.address, label="Lost")
    make_schedule(ada, list(ada.channels.all()))
    fire.fire_due(NINE)
    said = Notification.objects.get(origin="schedule")
    send_all()
    Channel.objects.filter(id=gone.id).update(disabled_at=NINE)
    rung = [web_push.read(request)["tag"] for request in service.requests]
    assert len(rung) == 3
    service.requests.clear()
    broker.flushdb()
    with django_capture_on_commit_callbacks(execute=True):
        acknowledge.acknowledge(said.id)
        acknowledge.acknowledge(said.id)
    [message] = broker.lrange("carillon:deliveries", 0, -1)  # type: ignore[misc]
    assert json.loads(message)["headers"]["argsrepr"] == f"['{said.id}']"
    tasks.close_shown(str(said.id))
    closed = [web_push.read(request) for request in service.requests]
    assert [document["closed"] for document in closed] == ["Done", "Done"]
    assert {document["tag"] for document in closed} < set(rung)
    assert {request.headers["Topic"] for request in service.requests} == {document["tag"] for document in closed}


def test_an_answer_closes_also_what_is_on_its_way(
    ringing: Channel, broker: redis.Redis, django_capture_on_commit_callbacks: Any
) -> None:
    claim = taken(make_delivery(ringing, origin="schedule").id)
    broker.flushdb()
    with django_capture_on_commit_callbacks(execute=True):
        acknowledge.acknowledge(Notification.objects.get(deliveries=claim.id).id)
    assert broker.llen("carillon:deliveries") == 1


def test_what_rings_nowhere_is_answered_without_a_message(
    ada: User, broker: redis.Redis, django_capture_on_commit_callbacks: Any
) -> None:
    said = fired(make_channel(ada))
    broker.flushdb()
    with django_capture_on_commit_callbacks(execute=True):
        acknowledge.acknowledge(said.id)
    assert not broker.llen("carillon:deliveries")
