"""Checks slow sources hold up neither other people nor other work."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import redis
from celery.concurrency import prefork, thread
from pytest_django import Settings

from common.redis import rate_limiter
from jobs.checks import limits, steps
from jobs.checks.kind import JOB
from jobs.models import Job
from people.models import User
from schedules.firing import fire
from tests.db.jobs.sample_kinds.sample import Sample
from tests.make import NINE, check, make_channel, make_job_schedule, make_user
from work.broker import load
from work.engine.claim import LEASE, claim


def two_jobs(*people: User) -> list[Job]:
    channels = {person: make_channel(person) for person in set(people)}
    for person in people:
        make_job_schedule(person, payload={"value": "nothing"}, channels=[channels[person]])
    fire.fire_due(NINE)
    return list(Job.objects.order_by("id"))


@pytest.fixture
def check_during(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Check the first job, and while it checks the second one."""
    plain = steps.check

    def check_both(first: Job, second: Job) -> None:
        def meanwhile(*args: Any, **options: Any) -> Any:
            monkeypatch.setattr(steps, "check", plain)
            check(second)
            return plain(*args, **options)

        monkeypatch.setattr(steps, "check", meanwhile)
        check(first)

    return check_both


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> threading.BoundedSemaphore:
    """The two threads of a worker that may check."""
    both = threading.BoundedSemaphore(2)
    monkeypatch.setattr(limits._Worker, "threads", both)
    return both


def test_a_person_has_so_many_checks_at_once(
    monkeypatch: pytest.MonkeyPatch, check_during: Any, threads: threading.BoundedSemaphore
) -> None:
    monkeypatch.setattr(limits, "OF_A_PERSON", 1)
    person = make_user()
    first, second = two_jobs(person, person)
    check_during(first, second)
    assert (first.state, second.state, second.reason_code) == ("decided", "pending", "checks-of-person")
    assert check(second).state == "decided"
    assert [threads.acquire(blocking=False) for _ in range(3)] == [True, True, False]


def test_a_check_that_could_not_ask_for_its_limit_keeps_no_thread(
    monkeypatch: pytest.MonkeyPatch, threads: threading.BoundedSemaphore
) -> None:
    [job] = two_jobs(make_user())
    claimed = claim(JOB, job.id, "worker")
    assert claimed is not None
    monkeypatch.setattr(rate_limiter, "take", Mock(side_effect=ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        limits.limited(claimed)
    assert [threads.acquire(blocking=False) for _ in range(3)] == [True, True, False]


def test_a_worker_keeps_threads_for_other_work(monkeypatch: pytest.MonkeyPatch, check_during: Any) -> None:
    monkeypatch.setattr(limits._Worker, "threads", threading.BoundedSemaphore(1))
    first, second = two_jobs(make_user(), make_user())
    check_during(first, second)
    assert (first.state, second.state, second.reason_code) == ("decided", "pending", "checks-of-worker")
    assert check(second).state == "decided"


def test_a_check_without_a_thread_waits_twice_as_long_each_time_up_to_20_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits._Worker, "threads", threading.BoundedSemaphore(0))
    monkeypatch.setattr("random.random", lambda: 0.5)
    [job] = two_jobs(make_user())
    claimed = claim(JOB, job.id, "worker")
    assert claimed is not None
    deferred = [limits.limited(replace(claimed, released=released)) for released in (0, 1, 2, 5, 6, 30)]
    assert [defer and defer.wait for defer in deferred] == [0.5, 1, 2, 16, 20, 20]


@pytest.mark.parametrize(("threads", "most"), [(1, 1), (8, 7), (80, 78)])
def test_a_worker_of_threads_checks_with_all_but_a_few(
    threads: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits._Worker, "threads", None)
    monkeypatch.setattr(load, "_limits", {})
    limits._know_worker(instance=SimpleNamespace(pool_cls=prefork.TaskPool, concurrency=threads))
    assert load.room("jobs", 100) == 100 and limits._Worker.threads is None
    limits._know_worker(instance=SimpleNamespace(pool_cls=thread.TaskPool, concurrency=threads))
    assert load.room("jobs", 100) == most
    assert [limits._Worker.threads.acquire(blocking=False) for _ in range(most + 1)] == [True] * most + [False]


def test_what_a_killed_worker_held_is_free_soon_after_the_longest_check(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(limits, "OF_A_PERSON", 1)
    person = make_user()
    first, second = two_jobs(person, person)
    killed = claim(JOB, first.id, "killed")
    assert killed is not None and limits.limited(killed) is None
    assert check(second).reason_code == "checks-of-person"
    slots = limits._slots(killed)
    assert slots.seconds == Sample.deadline + limits._MARGIN < LEASE
    key, *_ = rate_limiter._keys(slots, str(person.pk))
    with redis.Redis.from_url(settings.CACHES["default"]["LOCATION"]) as client:
        client.zincrby(key, -slots.seconds, str(killed.token))  # so much later
    assert check(second).state == "decided"
