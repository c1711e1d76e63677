"""Pings to a real web process, and what real beats tell of them, while things die."""

from __future__ import annotations

import http.client
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from events.models import Event
from notifications.models import Notification
from people.models import User
from schedules.firing.fire import read_clock
from tests.db.locks import locked
from tests.make import make_channel, make_user, make_watch
from tests.process.conftest import wait_until
from tests.process.schedules.test_beat import lines, running_beat
from tests.process.web import Web
from watches import notices, pings
from watches.models import Ping, PingKey, Watch
from watches.pings import NewPing

pytestmark = pytest.mark.django_db(transaction=True)


def missed(user: User, count: int) -> list[Watch]:
    """Watches whose deadline has passed."""
    channel, passed = [make_channel(user)], read_clock().now - timedelta(seconds=5)
    with transaction.atomic():  # with their channels, or a beat sees them without
        return [make_watch(user, channel, name=f"Job {n}", state="up", deadline=passed) for n in range(count)]


def together(*calls: Callable[[], Any]) -> list[Any]:
    """What calls return that threads make at the same moment."""
    begin = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        begin.wait()
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [one.result() for one in [pool.submit(run, call) for call in calls]]


def record(ping: NewPing) -> list[str]:
    """As those do who take pings: again while another transaction locks the watch."""
    while (outcomes := pings.record([ping])) == [pings.BUSY]:
        time.sleep(0.01)
    return outcomes


def told(type: str) -> Counter[str]:
    """How many events of this type each watch has."""
    return Counter(Event.objects.filter(type=type).values_list("data__watch_id", flat=True))


def once(watches: list[Watch]) -> dict[str, int]:
    return {str(watch.id): 1 for watch in watches}


def test_the_address_of_a_watch(ada: User) -> None:
    watch = make_watch(ada, longest_run=600, slug="backup")
    key = PingKey.objects.create(user=ada).key
    address = f"/ping/{watch.token}"
    with Web() as web:
        answer = web.ask("GET", address)
        assert (answer.status, answer.text) == (200, "OK")
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert web.ask("HEAD", f"{address}/").status == 200
        rid = uuid4()
        assert web.ask("GET", f"{address}/start?rid={rid}").status == 200
        assert web.ask("POST", f"{address}/3?rid={rid}", b"no space \0 left \xff").status == 200
        assert web.ask("POST", f"{address}/log", b"x" * 10_000_000).status == 200
        kinds = ["log", "fail", "start", "success", "success"]
        rows = list(watch.pings.all())
        assert [one.kind for one in rows] == kinds
        log, fail, start = rows[:3]
        assert (len(log.output), log.size) == (100_000, 10_000_000)
        assert (fail.output, fail.exit_code, fail.rid) == ("no space  left �", 3, str(rid))
        assert fail.milliseconds is not None
        assert not start.is_open
        for path, status in (
            (f"/ping/{uuid4()}", 404),
            ("/ping/nothing", 404),
            (f"{address}/256", 404),
            (f"{address}/stop", 404),
            (f"{address}?rid=1", 400),
        ):
            refused = web.ask("GET", path)
            assert (refused.status, "Traceback" in refused.text) == (status, False), path
        assert web.ask("PUT", address).status == 405
        for path, status in (
            (key, 404),
            (f"{key}/other", 404),
            (f"{key}/backup/stop", 404),
            (f"{key}/backup/log", 200),
        ):
            assert web.ask("GET", f"/ping/{path}").status == status, path
        locked = make_watch(ada, [], lock="db", longest_run=600)
        assert [web.ask("GET", f"/ping/{locked.token}/start").status for _ in range(2)] == [200, 409]
        web.database.cut()
        away = web.ask("GET", address)
        assert (away.status, away.headers["Retry-After"]) == (503, "5")
        web.database.mend()
        wait_until(lambda: web.ask("GET", address).status == 200, 30)
        assert watch.pings.count() == 7


def test_a_watch_that_is_locked_delays_no_other(ada: User) -> None:
    held, other = (make_watch(ada, [], name=name) for name in ("Held", "Other"))
    with Web() as web, ThreadPoolExecutor(1) as pool:
        assert [web.ask("GET", f"/ping/{one.token}").status for one in (held, other)] == [200, 200]
        with locked("watches_watch", held.id):
            waiting = pool.submit(web.ask, "GET", f"/ping/{held.token}")  # it is tried again for 5 s
            for _ in range(10):
                time.sleep(0.02)
                assert web.ask("GET", f"/ping/{other.token}").status == 200
            assert not waiting.done()
        assert waiting.result().status == 200
        with locked("watches_watch", held.id):
            assert web.ask("GET", f"/ping/{held.token}").status == 503
    assert held.pings.count() == 2


def test_each_ping_that_was_answered_is_there_whatever_is_killed(settings: Settings) -> None:
    settings.PINGS_PER_MINUTE = 100_000
    watches = [make_watch(make_user(), []) for _ in range(20)]
    answered: list[tuple[UUID, int]] = []
    is_over = threading.Event()

    def keep_pinging(part: int) -> None:
        number = 0
        while not is_over.is_set():
            watch, number = watches[part], number + 1
            with suppress(OSError, http.client.HTTPException):
                if web.ask("POST", f"/ping/{watch.token}/log", str(number)).status == 200:
                    answered.append((watch.id, number))

    with Web(PINGS_PER_MINUTE="100000") as web, ThreadPoolExecutor(20) as pool:
        done = [pool.submit(keep_pinging, part) for part in range(20)]

        def answer_more() -> None:
            before = len(answered)
            wait_until(lambda: len(answered) > before + 100)

        try:
            answer_more()
            web.kill()
            web.restart()
            answer_more()
            web.database.cut()
            web.database.mend()
            answer_more()
        finally:
            is_over.set()
        for one in done:
            one.result()
    stored = set(Ping.objects.values_list("watch_id", "output"))
    newest = Counter(Watch.objects.values_list("id", "ping_count"))
    lost = [one for one in answered if (one[0], str(one[1])) not in stored]
    # Only the last hundred of each are stored.
    kept = {watch.id: min((int(text) for key, text in stored if key == watch.id), default=0) for watch in watches}
    assert not [one for one in lost if one[1] >= kept[one[0]]], newest


def test_two_beats_tell_each_miss_once(ada: User, tmp_path: Path) -> None:
    watches = missed(ada, 60)
    (tmp_path / "second").mkdir()
    with (
        lines() as (database, broker),
        running_beat(database, broker, tmp_path / "log"),
        running_beat(database, broker, tmp_path / "second" / "log"),
    ):
        wait_until(lambda: not Watch.objects.filter(state="up").exists())
        more = missed(ada_again := make_user(), 60)
        wait_until(lambda: not Watch.objects.filter(state="up").exists())
        time.sleep(2)
    assert told("watch.missed") == once([*watches, *more])
    assert Notification.objects.filter(user__in=[ada, ada_again]).count() == 120


def test_a_beat_that_dies_before_its_commit_has_told_nothing_and_the_next_tells_it(ada: User, tmp_path: Path) -> None:
    (tmp_path / "recorded").write_text("kill")
    watches = missed(ada, 3)
    with (
        lines() as (database, broker),
        running_beat(database, broker, tmp_path / "log", CARILLON_FAULT_POINTS=str(tmp_path)) as beat,
    ):
        wait_until(lambda: beat.exit_status() == -signal.SIGKILL)
        assert not Event.objects.exists()
        assert Watch.objects.filter(state="up").count() == 3
        assert notices.record_due() == 3
    assert told("watch.missed") == once(watches)


def test_a_ping_in_the_same_moment_as_the_end_of_the_grace_is_told_as_it_was(ada: User) -> None:
    """Whoever is first: the miss is told once, and so is the recovery; one that came in time tells nothing."""
    for number in range(30):
        is_late = number % 2 == 0
        watch = make_watch(ada, [])
        assert pings.record([NewPing(watch.token, "success")]) == ["taken"]
        # Beat waits a second for pings that are on their way.
        deadline = read_clock().now - timedelta(seconds=1.0005)
        Watch.objects.filter(id=watch.id).update(deadline=deadline)
        waited = 0.0 if is_late else 1.3
        new = NewPing(watch.token, "success", waited=waited)
        assert together(partial(record, new), notices.record_due)[0] == ["taken"]
        notices.record_due()
        watch.refresh_from_db()
        assert watch.state == "up"
        types = Counter(Event.objects.filter(correlation_id=watch.id).values_list("type", flat=True))
        if is_late:
            assert types == {"watch.missed": 1, "watch.recovered": 1}
        else:  # it had waited longer than beat does, so both are possible
            assert types in ({}, {"watch.missed": 1, "watch.recovered": 1})
