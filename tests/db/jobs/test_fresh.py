"""Answers that serve others: who asks, whom one serves and for how long, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.postgres.functions import TransactionNow
from django.utils import timezone
from pytest_django import Settings

from demo.receivers import HTTPReceiver, Reply
from jobs import kinds
from jobs.checks import results, steps
from jobs.kinds.web_value import WebValue
from jobs.models import Job, Result
from jobs.reasons import JobCode
from people import tokens
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import NINE, check, make_channel, make_connection, make_job_schedule, make_user, signed_in


@pytest.fixture
def page(settings: Settings) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with HTTPReceiver(lambda _: Reply(body=b'{"price": 90}')) as server:
        yield server


def watching(page: HTTPReceiver, fresh_for: Any = 300, limit: str = "100", **overrides: Any) -> Schedule:
    question = {"url": page.url, "how": "json", "expression": "price", "condition": "below", "limit": limit}
    payload = question if fresh_for is None else question | {"fresh_for": fresh_for}
    user = overrides.pop("user", None) or make_user()
    return make_job_schedule(user, "web_value", payload, title="{value}", **overrides)


def run(*schedules: Schedule) -> list[Job]:
    fire.fire_due(NINE)
    return [check(Job.objects.get(origin_id=one.id)) for one in schedules]


def test_one_request_serves_all_who_ask_the_same_whatever_they_compare_with(page: HTTPReceiver) -> None:
    jobs = run(*(watching(page, limit=limit) for limit in ("100", "80", "95")))
    assert [job.reason_code for job in jobs] == ["web-holds", "web-does-not-hold", "web-holds"]
    assert len(page.requests) == 1


def test_what_used_a_kept_answer_says_how_old_it_was(page: HTTPReceiver) -> None:
    first, second = watching(page), watching(page)
    run(first)
    Result.objects.update(fetched_at=TransactionNow() - timedelta(seconds=200))
    then = Result.objects.get().fetched_at
    [job] = [check(Job.objects.get(origin_id=second.id))]
    assert job.reason.endswith(" (from an answer that was 3 min 20 s old)")
    assert results.instant(Job.objects.get(origin_id=first.id).reason_params, "answered_at") is None
    found = results.last(second.user_id, [second.id])[second.id]
    assert (results.instant(found.job.reason_params, "answered_at"), found.outcome) == (then, "spoke")
    _, token = tokens.create(second.user, "Test", ["read"], None)
    shown = signed_in(second.user).get(f"/reminders/{second.id}/").content.decode()
    assert "3 min 20 s old" in shown and "at most 5 min old" in shown
    client = signed_in(second.user)
    headers = {"Authorization": f"Bearer {token}"}
    [slot] = client.get(f"/api/v1/schedules/{second.id}/occurrences", headers=headers).json()["items"]
    assert slot["check"]["answered_at"].startswith(f"{then:%Y-%m-%dT%H:%M:%S}")
    answer = client.get(f"/api/v1/schedules/{second.id}", headers=headers).json()
    assert answer["job"]["payload"]["fresh_for"] == 300


@pytest.mark.parametrize(("fresh_for", "requests"), [(None, 2), (0, 2), (100, 2), (300, 1), (10**9, 1), ("x", 2)])
def test_who_asks_says_how_old_an_answer_may_be(page: HTTPReceiver, fresh_for: Any, requests: int) -> None:
    run(watching(page))
    Result.objects.update(fetched_at=timezone.now() - timedelta(seconds=200))
    run(watching(page, fresh_for))
    assert len(page.requests) == requests


def test_who_runs_it_now_gets_an_answer_of_now(page: HTTPReceiver) -> None:
    schedule = watching(page)
    run(schedule)
    editing.run_now(schedule.id, NINE + timedelta(minutes=1), schedule.user)
    check(Job.objects.filter(origin_id=schedule.id).latest("id"))
    assert len(page.requests) == 2


def test_an_answer_that_a_secret_got_serves_nobody_else(page: HTTPReceiver) -> None:
    schedules = []
    for _ in range(2):
        user = make_user()
        mine = make_connection(
            user, "address", address={"url": page.url}, secrets={"Authorization": f"Bearer {user.pk}"}
        )
        schedules.append(watching(page, user=user, connection=mine))
    schedules.append(watching(page))
    run(*schedules)
    sent = [one.headers.get("Authorization") for one in page.requests]
    assert sent == [f"Bearer {schedules[0].user_id}", f"Bearer {schedules[1].user_id}", None]


def test_who_asks_while_another_asks_waits_and_one_that_waited_long_asks(
    page: HTTPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (watching(page) for _ in range(3))
    fire.fire_due(NINE)
    waited: list[Job] = []
    ask = WebValue.check

    def beside(*given: Any) -> Any:
        if not waited:
            waited.append(check(Job.objects.get(origin_id=second.id)))
        return ask(*given)

    monkeypatch.setattr(WebValue, "check", beside)
    check(Job.objects.get(origin_id=first.id))
    [job] = waited
    assert (job.state, job.tries, job.released, job.reason_code) == ("pending", 0, 1, JobCode.ASKED_ALREADY)
    assert check(job).state == "decided"
    assert len(page.requests) == 1

    Result.objects.all().delete()
    # somebody asks, and does not come to an end
    monkeypatch.setattr(steps, "cache", SimpleNamespace(add=lambda *_: False))
    Job.objects.filter(origin_id=third.id).update(released=10)
    assert check(Job.objects.get(origin_id=third.id)).state == "decided"
    assert len(page.requests) == 2


def test_a_failure_is_not_kept_and_lets_the_next_one_ask(page: HTTPReceiver) -> None:
    first, second = watching(page), watching(page)
    page.answer = Reply(500)
    [failed] = run(first)
    assert (failed.state, Result.objects.count()) == ("pending", 0)
    page.answer = Reply(body=b'{"price": 90}')
    assert check(Job.objects.get(origin_id=second.id)).state == "decided"


def test_the_form_offers_it_with_a_default_and_bounds() -> None:
    user = make_user()
    form = kinds.find("feed").form  # type: ignore[union-attr]
    for typed, stored in (("", 0), ("0", 0), ("604800", 604_800)):
        filled = form({"url": "https://example.org/feed.xml", "fresh_for": typed})
        assert filled.is_valid()
        assert kinds.find("feed").payload(filled.cleaned_data).get("fresh_for", 0) == stored  # type: ignore[union-attr]
    for wrong in ("-1", "604801", "soon"):
        assert "fresh_for" in form({"url": "https://example.org/feed.xml", "fresh_for": wrong}).errors
    page = signed_in(user).post("/reminders/job/", {"job_kind": "feed"}).content.decode()
    assert 'name="job-fresh_for" value="30"' in page
    old = make_job_schedule(user, "feed", {"url": "https://example.org/"}, channels=[make_channel(user)])
    assert 'name="job-fresh_for" value="0"' in signed_in(user).get(f"/reminders/{old.id}/edit/").content.decode()
