"""Creates over the API against a real web process: at once, and while it is killed."""

from __future__ import annotations

import http.client
import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from api.models import StoredAnswer
from people import tokens
from people.models import User
from schedules.models import Schedule, ScheduleEvent
from tests.make import make_channel, make_user
from tests.process.web import Answer, Web

pytestmark = pytest.mark.django_db(transaction=True)

CREATES = 160


class Caller:
    """A person's program, with a token and a body."""

    def __init__(self, person: User) -> None:
        self.token = tokens.create(person, "Test", ["read", "schedules"], None)[1]
        self.body = {
            "title": "Rent",
            "timing": {"monthly": {"day": 1, "time": "09:00"}},
            "time_zone": "UTC",
            "channel_ids": [str(make_channel(person).id)],
        }

    def create(self, web: Web, title: str, key: str) -> Answer:
        return web.ask(
            "POST",
            "/api/v1/schedules",
            json.dumps(self.body | {"title": title}),
            Authorization=f"Bearer {self.token}",
            Content_Type="application/json",
            Idempotency_Key=key,
        )


def test_a_hundred_equal_creates_at_once_make_one_and_get_a_hundred_equal_answers(web: Web) -> None:
    caller = Caller(make_user())
    with ThreadPoolExecutor(100) as pool:
        barrier = threading.Barrier(100)

        def create(_: int) -> Answer:
            barrier.wait()
            return web.ask_until_served(lambda: caller.create(web, "Rent", "the same"))

        answers = list(pool.map(create, range(100)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert len({(answer.headers["Location"], answer.headers["ETag"]) for answer in answers}) == 1
    assert Counter(answer.headers["Idempotency-Replayed"] for answer in answers) == {None: 1, "true": 99}
    assert Schedule.objects.count() == ScheduleEvent.objects.count() == StoredAnswer.objects.count() == 1


def test_what_was_answered_is_there_once_though_the_web_process_is_killed_again_and_again(web: Web) -> None:
    caller, made = Caller(make_user()), {}
    with ThreadPoolExecutor(8) as pool:
        sent, unanswered, running = Counter[int](), Counter[int](), threading.Event()
        running.set()

        def create(number: int) -> None:
            while number not in made:
                running.wait()
                sent[number] += 1
                try:
                    answer = web.ask_until_served(lambda: caller.create(web, f"Number {number}", f"key {number}"))
                except (OSError, http.client.HTTPException):
                    unanswered[number] += 1  # a caller cannot know, and sends the same again
                    continue
                assert answer.status == 201, answer.text
                made[number] = json.loads(answer.text)["id"]

        work = [pool.submit(create, number) for number in range(CREATES)]
        for reached in (30, 70, 110):
            web.wait_until(lambda reached=reached: len(made) >= reached)  # type: ignore[misc]
            web.kill()
            running.clear()
            web.restart()
            running.set()
        for one in work:
            one.result()
    assert unanswered
    stored = dict(Schedule.objects.values_list("title", "id"))
    assert Schedule.objects.count() == len(stored) == CREATES
    assert {f"Number {number}": key for number, key in made.items()} == {
        title: str(key) for title, key in stored.items()
    }
