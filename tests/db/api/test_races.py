"""Calls at the same time: one of them wins, and the others are told."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction
from django.http import HttpResponse
from pytest_django import Settings

from common.redis import request_slots
from people.models import User
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from tests.db.api.conftest import Api
from tests.make import make_channel, make_schedule

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 6


@pytest.fixture(autouse=True)
def all_in_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server lets the others wait, which the test client cannot."""
    monkeypatch.setattr(request_slots, "AT_ONCE", AT_ONCE)


def at_once(call: Callable[[], HttpResponse]) -> Counter[int]:
    """The statuses of as many calls, begun together."""
    barrier = Barrier(AT_ONCE)

    def run(_: int) -> int:
        barrier.wait()
        try:
            return call().status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return Counter(pool.map(run, range(AT_ONCE)))


def test_one_of_several_changes_of_one_version_is_made(api: Api, ada: User) -> None:
    made = make_schedule(ada)
    statuses = at_once(lambda: api("PATCH", f"/schedules/{made.id}", {"title": "Tea"}, If_Match='"1"'))
    assert statuses == {200: 1, 412: AT_ONCE - 1}
    assert Schedule.objects.get().version == 2


def test_one_slot_is_skipped_once(api: Api, ada: User) -> None:
    made = make_schedule(ada, now=fire.read_clock().now)
    assert made.next_fire_at is not None
    slot = {"slot_at": made.next_fire_at.isoformat()}
    assert at_once(lambda: api.post(f"/schedules/{made.id}/skip", slot)) == {200: 1, 409: AT_ONCE - 1}
    assert Occurrence.objects.count() == 1


def test_nobody_gets_past_the_limit_by_calls_at_the_same_time(api: Api, ada: User, settings: Settings) -> None:
    settings.MOST_SCHEDULES = 2
    timing = {"daily": {"time": "09:00"}}
    body = {"title": "Rent", "timing": timing, "time_zone": "UTC", "channel_ids": [str(make_channel(ada).id)]}
    assert at_once(lambda: api.post("/schedules", body)) == {201: 2, 422: AT_ONCE - 2}
    assert Schedule.objects.count() == 2


def test_a_run_with_a_key_sends_once(api: Api, ada: User) -> None:
    made = make_schedule(ada, now=fire.read_clock().now)
    assert at_once(lambda: api.post(f"/schedules/{made.id}/run", Idempotency_Key="once")) == {202: AT_ONCE}
    assert Occurrence.objects.count() == 1


@pytest.fixture
def hanging(settings: Settings) -> Iterator[socket.socket]:
    """A server that never answers the TLS handshake."""
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        yield listener


def url_of(listener: socket.socket) -> str:
    return f"https://127.0.0.1:{listener.getsockname()[1]}/"


def test_a_change_that_waits_for_an_address_locks_nothing(api: Api, ada: User, hanging: socket.socket) -> None:
    made = make_channel(ada, "status", address={"url": "https://example.org/", "types": ["delivery.*"]})

    def change() -> int:
        try:
            return api("PATCH", f"/status-webhooks/{made.id}", {"url": url_of(hanging)}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change)
        with hanging.accept()[0], transaction.atomic():
            assert User.objects.select_for_update(nowait=True).get(pk=ada.pk)
            assert not changing.done()
        assert changing.result() == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [("/channels", {"kind": "webhook", "fields": {}}), ("/status-webhooks", {"types": ["delivery.*"]})],
)
def test_a_create_with_a_key_waits_for_no_address(
    api: Api, hanging: socket.socket, path: str, body: dict[str, Any]
) -> None:
    filled = {"fields": {"url": url_of(hanging)}} if "fields" in body else {"url": url_of(hanging)}
    assert api.post(path, body | filled, Idempotency_Key="k").status_code == 201
    hanging.settimeout(0)
    with pytest.raises(BlockingIOError):
        hanging.accept()
