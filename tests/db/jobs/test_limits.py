"""Looks at slow sources hold up neither other people nor other work."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import redis
from pytest_django import Settings

from common.redis import rate_limiter
from jobs.checks import limits, looking
from jobs.checks.kind import JOB
from jobs.models import Job
from people.models import User
from schedules.firing import fire
from tests.db.jobs.sample_kinds.sample import Sample
from tests.make import NINE, look, make_channel, make_job_schedule, make_user
from work.engine.claim import LEASE, claim


def two_jobs(*people: User) -> list[Job]:
    channels = {person: make_channel(person) for person in set(people)}
    for person in people:
        make_job_schedule(person, payload={"value": "nothing"}, channels=[channels[person]])
    fire.fire_due(NINE)
    return list(Job.objects.order_by("id"))


@pytest.fixture
def look_during(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Look at the first job, and while it looks at the second one."""
    plain = looking.look

    def look_both(first: Job, second: Job) -> None:
        def meanwhile(*args: Any) -> Any:
            monkeypatch.setattr(looking, "look", plain)
            look(second)
            return plain(*args)

        monkeypatch.setattr(looking, "look", meanwhile)
        look(first)

    return look_both


def test_a_person_has_so_many_looks_at_once(monkeypatch: pytest.MonkeyPatch, look_during: Any) -> None:
    monkeypatch.setattr(limits, "OF_A_PERSON", 1)
    person = make_user()
    first, second = two_jobs(person, person)
    look_during(first, second)
    assert (first.state, second.state, second.reason_code) == ("decided", "pending", "looks-of-person")
    assert look(second).state == "decided"


def test_a_worker_keeps_threads_for_other_work(monkeypatch: pytest.MonkeyPatch, look_during: Any) -> None:
    monkeypatch.setattr(limits._Worker, "threads", threading.BoundedSemaphore(1))
    first, second = two_jobs(make_user(), make_user())
    look_during(first, second)
    assert (first.state, second.state, second.reason_code) == ("decided", "pending", "looks-of-worker")
    assert look(second).state == "decided"


def test_what_a_killed_worker_held_is_free_soon_after_the_longest_look(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(limits, "OF_A_PERSON", 1)
    person = make_user()
    first, second = two_jobs(person, person)
    killed = claim(JOB, first.id, "killed")
    assert killed is not None and limits.limited(killed) is None
    assert look(second).reason_code == "looks-of-person"
    slots = limits._slots(killed)
    assert slots.seconds == Sample.deadline + limits._MARGIN < LEASE
    key, *_ = rate_limiter._keys(slots, str(person.pk))
    with redis.Redis.from_url(settings.CACHES["default"]["LOCATION"]) as client:
        client.zincrby(key, -slots.seconds, str(killed.token))  # so much later
    assert look(second).state == "decided"
