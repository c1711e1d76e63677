"""What one person does at once makes nobody else wait: a real web process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any
from uuid import uuid4

import pytest

from api.resources.transfer import load
from common.redis.request_slots import AT_ONCE
from demo.receivers.http import Hang, HTTPReceiver
from schedules.models import Schedule
from tests.db.locks import locked
from tests.make import make_channel, make_connection, make_schedule, make_user
from tests.process.web import Answer, Web, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

ENTRIES = 150


@contextmanager
def ending(event: Event) -> Iterator[None]:
    """Set the event, whatever fails: others wait for it."""
    try:
        yield
    finally:
        event.set()


def entry(channel: Any) -> dict[str, Any]:
    timing = {"daily": {"time": "09:00"}}
    return {"id": str(uuid4()), "title": "Rent", "timing": timing, "time_zone": "UTC", "channels": [str(channel.id)]}


def test_posts_of_one_person_beside_their_import_stop_no_page_of_others() -> None:
    greedy, other = make_user(), make_user()
    inbox = make_channel(greedy)
    made = [make_schedule(greedy, [inbox]) for _ in range(3)]
    reminders = [entry(inbox) for _ in range(ENTRIES)]
    own = {"id": str(inbox.id), "kind": "inbox", "label": "Inbox", "fields": {}}
    file = {"format": load.FORMAT, "version": load.VERSION, "channels": [own], "reminders": reminders}
    cookie, others = signed_in(greedy), signed_in(other)
    over = Event()
    with Web() as web, ThreadPoolExecutor(50) as pool, ending(over):

        def bulk(do: str) -> Answer:
            return web.ask("POST", "/reminders/bulk/", {"do": do, "chosen": str(made[0].id)}, cookie)

        def watch() -> list[int]:
            seen = []
            while not over.is_set():
                seen += [web.ask("GET", "/reminders/", cookie=others).status, web.ask("GET", "/healthz").status]
            return seen

        watching = pool.submit(watch)
        importing = pool.submit(web.ask, "POST", "/settings/import/", {"content": json.dumps(file)}, cookie)
        web.wait_until(lambda: Schedule.objects.filter(user=greedy).count() > len(made))  # it has begun
        posts = [pool.submit(bulk, do) for do in ["pause", "resume"] * 22]
        answers = [one.result().status for one in posts]
        assert set(answers) <= {302, 409} and 302 in answers
        assert importing.result().status == 302
        with locked("people_user", greedy.pk):  # another change of theirs that takes long
            answers = [one.result().status for one in [pool.submit(bulk, "pause") for _ in range(24)]]
        assert set(answers) == {409}
        over.set()
        assert set(watching.result()) == {200}
        assert bulk("pause").status == 302
    assert Schedule.objects.filter(user=greedy).count() == ENTRIES + len(made)


def test_a_third_change_waits_for_its_turn_and_is_done() -> None:
    person = make_user()
    made = make_schedule(person)
    cookie = signed_in(person)
    form = {"do": "pause", "chosen": str(made.id)}
    with Web() as web, ThreadPoolExecutor(12) as pool:
        # The first one of a process takes much longer than the second that others wait.
        assert web.ask("POST", "/reminders/bulk/", form, cookie).status == 302
        asked = [pool.submit(web.ask, "POST", "/reminders/bulk/", form, cookie) for _ in range(AT_ONCE + 1)]
        assert [one.result().status for one in asked] == [302] * len(asked)


def test_pages_that_one_person_opens_at_once_are_read_in_turn() -> None:
    person, other = make_user(), make_user()
    cookie, others = signed_in(person), signed_in(other)
    with Web() as web, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(web.ask, "GET", "/reminders/month/", cookie=cookie) for _ in range(4 * AT_ONCE)]
        assert web.ask("GET", "/reminders/", cookie=others).status == 200
        assert [one.result().status for one in asked] == [200] * len(asked)


def test_checks_of_a_source_that_never_answers_hold_two_threads() -> None:
    person, other = make_user(), make_user()
    cookie, others = signed_in(person), signed_in(other)
    with HTTPReceiver(Hang()) as source, Web() as web, ThreadPoolExecutor(8) as pool:
        made = [make_connection(person, "address", address={"url": source.url}, secrets={}) for _ in range(8)]
        asked = [pool.submit(web.ask, "POST", f"/connections/{one.id}/check/", {}, cookie) for one in made]
        web.wait_until(lambda: sum(one.done() for one in asked) >= len(made) - AT_ONCE)
        assert len(source.requests) == AT_ONCE
        assert web.ask("GET", "/reminders/", cookie=others).status == 200
        answers = sorted(one.result().status for one in asked)
    assert answers == [302] * AT_ONCE + [409] * (len(made) - AT_ONCE)
