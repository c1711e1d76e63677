"""A streak reminder, from its slot to what it says: silent for who has committed, and it rings for who has not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from demo.receivers.github import GitHub, token
from jobs.checks.recording import JobClaim
from jobs.models import Connection, Job
from notifications.models import Notification
from schedules.firing import fire
from tests.make import NINE, check, make_connection, make_job_schedule, make_user
from tests.network import served

TODAY = NINE.date()
TEXTS = {
    "title": "Your {streak}-day streak is at risk",
    "body": "Your {streak}-day streak is at risk: {hours_left} hours are left. {day}",
}


@pytest.fixture
def github(settings: Settings) -> Iterator[GitHub]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    hub = GitHub({})
    with served(hub.answer):
        yield hub


def row(*counts: int) -> dict[date, int]:
    return {TODAY - timedelta(days=back): count for back, count in enumerate(reversed(counts))}


def fired(owner: str, **payload: Any) -> Job:
    """The job of the newest slot, at 09:00 UTC, checked in that minute."""
    user = make_user(time_zone="Europe/Berlin")
    connection = make_connection(user, secrets={"token": token(owner)})
    schedule = make_job_schedule(user, "github_streak", payload, connection=connection, **TEXTS)
    fire.fire_due(NINE)
    return check(Job.objects.get(origin_id=schedule.id))


@pytest.fixture(autouse=True)
def nine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks happen at 09:00 of the slot's day."""
    ask = JobClaim.ask
    monkeypatch.setattr(JobClaim, "ask", lambda claim: replace(ask(claim), now=NINE))


def test_it_is_silent_for_somebody_who_has_contributed(github: GitHub) -> None:
    github.accounts = {"ada": row(*[1] * 40, 3)}
    job = fired("ada")
    assert (job.state, job.reason) == ("decided", "checked GitHub: 3 contributions today, streak 41")
    assert not Notification.objects.exists()


def test_it_rings_for_somebody_who_has_not(github: GitHub) -> None:
    github.accounts = {"ada": row(*[1] * 40, 0)}
    job = fired("ada")
    [said] = Notification.objects.all()
    assert (job.notification_id, job.reason) == (said.id, "checked GitHub: 0 contributions today, streak 40")
    assert said.subject == "Your 40-day streak is at risk"
    assert said.body == "Your 40-day streak is at risk: 13 hours are left. Tuesday 2 June"


def test_with_always_it_praises_with_its_second_text(github: GitHub) -> None:
    github.accounts = {"ada": row(1, 2)}
    fired("ada", when="always")
    [said] = Notification.objects.all()
    assert (said.subject, said.body) == (
        "Your 2-day streak is safe",
        "Great job! You made 2 contributions today. Your 2-day streak is safe.",
    )


def test_a_revoked_token_disables_the_connection_and_its_person_is_told_once(github: GitHub) -> None:
    github.accounts = {"revoked": {}}
    job = fired("revoked")
    assert (job.state, job.reason_code) == ("dead", "github-token")
    assert job.connection is not None
    assert (job.connection.state, job.connection.failing_code) == ("disabled", "github-token")
    [told] = Notification.objects.all()
    assert told.origin == "notice" and token("revoked") not in told.body


def test_a_rate_limit_is_waited_for(github: GitHub) -> None:
    github.accounts = {"secondary": {}}
    job = fired("secondary")
    assert (job.state, job.reason_code) == ("pending", "github-limited")
    assert job.connection is not None and job.connection.state == "working"


def test_the_first_check_through_an_unchecked_connection_says_that_it_works(github: GitHub) -> None:
    github.accounts = {"ada": row(1)}
    job = fired("ada")
    Connection.objects.update(working_since=None, verified_at=None)
    fire.fire_due(NINE + timedelta(days=1))
    check(Job.objects.exclude(id=job.id).get())
    assert Connection.objects.get().state == "working"


def test_a_check_with_an_old_token_says_nothing_of_the_new_one(github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    github.accounts = {"revoked": {}}

    def enter_another(claim: JobClaim) -> Any:
        Connection.objects.update(version=9)
        return at_nine(claim)

    at_nine = JobClaim.ask
    monkeypatch.setattr(JobClaim, "ask", enter_another)
    assert fired("revoked").reason_code == "github-token"
    assert Connection.objects.get().state == "working"
