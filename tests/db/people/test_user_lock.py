"""A person's lock is waited for a second, and few of their changes are in work at a time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.conf import settings as configured
from django.db import OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client
from redis import Redis

from api.protocol import idempotency
from common.database.postgres import is_locked
from common.redis import request_slots
from common.redis.request_limiter import calls, requests_of
from common.redis.request_slots import CHANGE, READ, Kind
from people.models import User
from people.user_lock import Busy, lock_at_once, lock_in_transaction, lock_user
from schedules.agenda import feed
from schedules.models import Schedule
from tests.db.api.conftest import Api
from tests.db.events.test_inbound import TOKEN, make_address
from tests.db.locks import locked
from tests.make import make_channel, make_schedule, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def api(ada: User) -> Api:
    return Api(ada)


def limit() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        return str(cursor.fetchone()[0])


def test_the_limit_of_the_wait_ends_with_its_statement(ada: User) -> None:
    before = limit()  # of a connection of the web process it is a second
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '7s'")
        lock_in_transaction(ada)
        assert limit() == "7s"
        assert idempotency._begin({"user": ada.pk, "key": "k", "fingerprint": "f"})
        assert not idempotency._begin({"user": ada.pk, "key": "k", "fingerprint": "f"})
        assert limit() == "7s"
    assert limit() == before


def test_who_waits_for_a_persons_lock_gives_up(ada: User) -> None:
    with locked("people_user", ada.pk):
        with pytest.raises(Busy) as raised, lock_user(ada):
            pass
        assert is_locked(raised.value)
        with pytest.raises(Busy), transaction.atomic():
            lock_at_once(ada.pk)
        with lock_user(make_user()):
            pass
    with lock_user(ada):
        pass


def test_a_person_that_is_gone_is_not_a_busy_one(ada: User) -> None:
    gone = make_user()
    User.objects.filter(pk=gone.pk).delete()
    for lock in (lambda: lock_in_transaction(gone), lambda: lock_at_once(gone.pk)):
        with pytest.raises(User.DoesNotExist), transaction.atomic():
            lock()


def test_a_page_that_waits_in_vain_keeps_what_was_typed(ada: User, browser: Client) -> None:
    typed = {"title": 'Rent & "milk"', "password": "planted", "channels": [str(make_channel(ada).id)]}
    typed |= {"kind": "daily", "time": "09:00", "time_zone": "UTC", "tags": ["home", "garden"]}
    with locked("people_user", ada.pk):
        response = browser.post("/reminders/new/", typed)
    page = response.content.decode()
    assert (response.status_code, response["Retry-After"]) == (409, "1")
    fields = [(unescape(one), unescape(other)) for one, other in re.findall(r'name="(.*?)" value="(.*?)"', page)]
    assert {("title", 'Rent & "milk"'), ("tags", "home"), ("tags", "garden")} <= set(fields)
    assert 'action="/reminders/new/"' in page and "planted" not in page
    assert not Schedule.objects.exists()


def test_any_lock_that_a_page_waits_for_in_vain_is_no_fault(ada: User, browser: Client) -> None:
    made = make_schedule(ada)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")  # as in the web process
        with locked("schedules_schedule", made.id):
            assert browser.post(f"/reminders/{made.id}/pause/").status_code == 409
        cursor.execute("RESET lock_timeout")
    assert Schedule.objects.get().state == "active"


@pytest.mark.parametrize("key", [{}, {"Idempotency_Key": "k"}])
def test_a_call_that_waits_in_vain_may_be_sent_again(ada: User, api: Api, key: dict[str, str]) -> None:
    made = make_schedule(ada)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
        with locked("schedules_schedule", made.id):
            refused = api.post(f"/schedules/{made.id}/pause", **key)
        cursor.execute("RESET lock_timeout")
    assert (refused.status_code, refused["Retry-After"], refused.json()["code"]) == (503, "1", "locked")
    with locked("people_user", ada.pk):
        refused = api.post("/schedules/bulk", {"ids": [str(made.id)], "action": "pause"}, **key)
    assert (refused.status_code, refused["Retry-After"], refused.json()["code"]) == (409, "1", "busy")
    assert api.post(f"/schedules/{made.id}/pause", **key).status_code == 200


def test_the_same_request_under_way_is_waited_for_a_second(ada: User, api: Api) -> None:
    made = make_schedule(ada)
    with transaction.atomic():
        idempotency._begin({"user": ada.pk, "key": "k", "fingerprint": "f"})
        connection.set_rollback(True)
    assert api.post(f"/schedules/{made.id}/pause", Idempotency_Key="k").status_code == 200


def test_a_statement_that_takes_too_long_is_an_outage_and_no_fault(browser: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '50ms'")
        with pytest.raises(OperationalError) as raised:
            cursor.execute("SELECT pg_sleep(60)")
        cursor.execute("RESET statement_timeout")
    assert not is_locked(raised.value)
    assert raised.value.__cause__.sqlstate == "57014"  # type: ignore[union-attr]


@contextmanager
def working(kind: Kind, who: int | str) -> Iterator[None]:
    """As many requests as may be in work, in this process."""
    requests = [HttpRequest() for _ in range(request_slots.AT_ONCE)]
    assert all(request_slots.enter(one, kind, who, HttpResponse) is None for one in requests)
    yield
    for one in requests:
        request_slots.leave(one)
    assert not request_slots._in_work


@pytest.fixture
def in_work(ada: User) -> Iterator[None]:
    with working(CHANGE, ada.pk):
        yield


def test_a_third_change_of_one_person_is_refused_and_reading_is_not(
    ada: User, browser: Client, api: Api, in_work: None
) -> None:
    made = make_schedule(ada)
    assert browser.post(f"/reminders/{made.id}/pause/").status_code == 409
    refused = api.post(f"/schedules/{made.id}/pause")
    assert (refused.status_code, refused["Retry-After"], refused.json()["code"]) == (409, "1", "busy")
    assert browser.get("/reminders/").status_code == 200
    assert api.get("/schedules").status_code == 200
    other = make_user()
    theirs = make_schedule(other)
    assert Api(other).post(f"/schedules/{theirs.id}/pause").status_code == 200


def test_a_third_read_of_one_person_is_refused_whatever_lets_it_in(ada: User, browser: Client, api: Api) -> None:
    made, other = make_schedule(ada), make_user()
    calendar, inbound = urlsplit(feed.url(feed.make(ada))).path, f"/in/{TOKEN}"
    stranger = Client()
    make_address(ada)
    with working(READ, ada.pk):
        pages = [browser.get("/reminders/"), browser.get("/reminders/month/"), stranger.get(calendar)]
        assert [(one.status_code, one["Retry-After"]) for one in pages] == [(429, "1")] * 3
        posted = stranger.post(inbound, {}, content_type="application/json")
        for refused in (api.get("/schedules"), posted):
            assert (refused.status_code, refused["Retry-After"]) == (429, "1")
            assert refused.json()["code"] == "too-many-at-once"
        assert browser.post(f"/reminders/{made.id}/pause/").status_code == 302
        assert Api(other).get("/schedules").status_code == 200
        assert stranger.get("/account/login/").status_code == 200
    assert [browser.get("/reminders/").status_code, stranger.get(calendar).status_code] == [200, 200]
    assert stranger.post(inbound, {}, content_type="application/json").status_code == 202


@pytest.mark.parametrize("kind", [CHANGE, READ])
def test_no_page_is_written_for_a_request_that_still_waits(kind: Kind) -> None:
    request = HttpRequest()
    request.can_wait = True  # type: ignore[attr-defined]
    limit = requests_of(uuid4().hex)
    with working(kind, 1):
        waiting = request_slots.enter(request, kind, 1, lambda: pytest.fail("a refusal was written"), limit)
        assert waiting is not None and hasattr(waiting, "wait")
        request.slot_until = 0.0  # type: ignore[attr-defined]
        refused = request_slots.enter(request, kind, 1, lambda: HttpResponse(status=409), limit)
        assert refused is not None and (refused.status_code, hasattr(refused, "wait")) == (409, False)
    assert (
        limit.verdict(*calls.ask(*limit.calls())).remaining == limit.most - 2
    )  # it counts once, however long it waits


def test_as_requests_end_those_that_wait_ask_again_one_by_one() -> None:
    kind, asked = Kind("test", 600.0, 600.0), []

    async def wait(number: int) -> None:
        request = HttpRequest()
        request.can_wait = True  # type: ignore[attr-defined]
        waiting: Any = request_slots.enter(request, kind, 1, HttpResponse)
        await waiting.wait()
        asked.append(number)

    async def end_two() -> None:
        waiting = [asyncio.create_task(wait(number)) for number in range(2)]
        await asyncio.sleep(0)  # until both wait
        for number, one in enumerate(in_work):
            request_slots.leave(one)
            await asyncio.wait_for(waiting[number], 60)
            assert asked == [*range(number + 1)]

    in_work = [HttpRequest() for _ in range(request_slots.AT_ONCE)]
    assert all(request_slots.enter(one, kind, 1, HttpResponse) is None for one in in_work)
    asyncio.run(end_two())
    assert not request_slots._in_work and not request_slots._waiting


def test_a_third_request_of_a_stranger_is_refused_to_their_address_alone(ada: User, browser: Client, api: Api) -> None:
    stranger = Client()
    with working(READ, "address:127.0.0.1"):
        for refused in (stranger.get("/account/login/"), stranger.post("/account/login/", {"login": ada.email})):
            assert (refused.status_code, refused["Retry-After"]) == (429, "1")
        assert stranger.get("/account/login/", REMOTE_ADDR="192.0.2.7").status_code == 200
        assert stranger.get("/healthz").status_code == 200  # a load balancer may share the address
        assert [browser.get("/reminders/").status_code, api.get("/schedules").status_code] == [200, 200]


def test_changes_in_another_process_count_until_their_lease_ends(ada: User, api: Api) -> None:
    made, name = make_schedule(ada), request_slots._name((CHANGE, ada.pk))
    with Redis.from_url(configured.REDIS_URL) as redis:
        now = redis.time()[0]
        redis.zadd(name, {"one": now + 600, "other": now + 600})
        assert api.post(f"/schedules/{made.id}/pause").status_code == 409
        redis.zadd(name, {"other": now - 1})  # of a process that was killed
        assert api.post(f"/schedules/{made.id}/pause").status_code == 200
        assert 0 < redis.pttl(name) <= request_slots.LEASE * 1000
        assert redis.zrange(name, 0, -1) == [b"one"]
    assert not request_slots._in_work


def test_a_forged_request_is_refused_before_its_fields_are_shown(ada: User, in_work: None) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    response = client.post("/reminders/bulk/", {"do": "delete"})
    assert response.status_code == 403
