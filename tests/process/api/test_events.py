"""Events published over the API to a real web process, while it is killed."""

from __future__ import annotations

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from events.models import Event
from people import tokens
from tests.make import make_user
from tests.process.web import Answer, Web

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_event_that_was_answered_is_there_once_though_the_web_process_is_killed_three_times(
    web: Web,
) -> None:
    token = tokens.create(make_user(), "Test", ["events"], None)[1]
    keys = [str(uuid4()) for _ in range(160)]
    answered: set[str] = set()
    unanswered: set[str] = set()
    running = threading.Event()

    def post(key: str) -> Answer:
        return web.ask(
            "POST",
            "/api/v1/events",
            json.dumps({"id": key, "type": "order.paid", "data": {"order_id": int(key[:8], 16) % 1_000}}),
            Authorization=f"Bearer {token}",
            Content_Type="application/json",
        )

    with ThreadPoolExecutor(8) as pool:
        running.set()

        def publish(key: str) -> None:
            while key not in answered:
                running.wait()
                try:
                    answer = web.ask_until_served(lambda: post(key))
                except (OSError, http.client.HTTPException):
                    unanswered.add(key)  # a program cannot know, and publishes it again
                    continue
                assert answer.status == 202, answer.text
                assert [one["id"] for one in json.loads(answer.text)["items"]] == [key]
                answered.add(key)

        work = [pool.submit(publish, key) for key in keys]
        for reached in (30, 70, 110):
            web.wait_until(lambda reached=reached: len(answered) >= reached)  # type: ignore[misc]
            web.kill()
            running.clear()
            known = set(answered)
            stored = Event.objects.filter(key__in=known).count()
            web.restart()
            running.set()  # before the test may fail, for the others wait for it
            assert stored == len(known)
        for one in work:
            one.result()
    assert unanswered
    assert sorted(Event.objects.values_list("key", flat=True)) == sorted(keys)
    assert set(Event.objects.values_list("state", flat=True)) == {"pending"}
