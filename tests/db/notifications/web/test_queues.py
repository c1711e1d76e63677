"""The page of a queue: what it is, what waits and is held, how to pull it, and its limits."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from notifications.deliveries import pull
from notifications.models import Channel, Delivery
from people.models import User
from tests.make import NOON, make_channel, make_delivery, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def queue(ada: User) -> Channel:
    return make_channel(ada, "queue")


def page(browser: Client, path: str) -> str:
    return browser.get(path).content.decode()


def test_a_queue_is_added_ready_without_a_code(browser: Client, ada: User) -> None:
    assert "pull them over the API" in page(browser, "/channels/new/queue/")
    browser.post("/channels/new/queue/", {"label": "Jobs", "concurrency": "1"})
    [queue] = Channel.objects.for_user(ada)
    assert queue.verified_at is not None
    assert queue.address == {"batch_size": 100, "concurrency": 1, "tries": 5, "batch_timeout": 0, "cloudevents": False}
    assert not Delivery.objects.exists()
    assert "one message at a time" in page(browser, "/channels/")


def test_a_wrong_limit_is_named_and_nothing_is_added(browser: Client) -> None:
    answer = browser.post("/channels/new/queue/", {"concurrency": "251"})
    assert list(answer.context["details"].errors) == ["concurrency"]
    assert not Channel.objects.exists()


def test_the_page_shows_what_waits_and_is_held_and_how_to_pull(browser: Client, queue: Channel) -> None:
    for _ in range(3):
        make_delivery(queue)
    Delivery.objects.update(available_at=NOON)
    assert len(pull.pull(queue, 1, 600.0, "token").messages) == 1
    shown = browser.get(f"/channels/{queue.id}/")
    standing = shown.context["queue"]
    assert (standing.waiting, standing.leased, standing.oldest) == (2, 1, NOON)
    assert f"/api/v1/queues/{queue.id}/pull" in shown.content.decode()


def test_the_page_costs_one_query_more_than_that_of_another_channel(browser: Client, ada: User, queue: Channel) -> None:
    counts = []
    for channel in (make_channel(ada), queue):
        with CaptureQueriesContext(connection) as queries:
            browser.get(f"/channels/{channel.id}/")
        counts.append(len(queries))
    assert counts[1] - counts[0] == 1


def test_a_queue_has_no_setting_for_sends_and_keeps_its_name(browser: Client, queue: Channel) -> None:
    shown = page(browser, f"/channels/{queue.id}/")
    assert "on_unknown" not in shown and "give_up_after" not in shown
    browser.post(f"/channels/{queue.id}/", {"label": "Jobs", "on_unknown": "hold", "give_up_after": "600"})
    queue.refresh_from_db()
    assert (queue.label, queue.on_unknown, queue.give_up_after) == ("Jobs", "", None)


def test_its_limits_are_changed_without_a_code(browser: Client, queue: Channel) -> None:
    form = browser.get(f"/channels/{queue.id}/change/")
    assert "verified with a code" not in form.content.decode()
    fields = {"label": "Jobs", "read": form.context["read"], "batch_size": "10", "tries": "3"}
    browser.post(f"/channels/{queue.id}/change/", fields)
    queue.refresh_from_db()
    assert queue.verified_at is not None
    assert (queue.address["batch_size"], queue.address["tries"], queue.address["concurrency"]) == (10, 3, 250)


def test_another_persons_queue_is_not_found(browser: Client) -> None:
    foreign = make_channel(make_user(), "queue")
    assert browser.get(f"/channels/{foreign.id}/").status_code == 404


def test_a_test_that_waits_says_who_has_to_pull_it(browser: Client, queue: Channel) -> None:
    shown = browser.post(f"/channels/{queue.id}/test/", headers={"HX-Request": "true"}).content.decode()
    assert "Waiting for your program" in shown
    Delivery.objects.update(created_at=NOON)
    shown = page(browser, f"/channels/tests/{Delivery.objects.get().id}/")
    assert "worker" not in shown
