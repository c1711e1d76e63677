"""Explain says of each slot what was checked, and why the reminder spoke or stayed silent."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from jobs.checks import results
from jobs.checks.results import Check
from jobs.models import Job
from jobs.models.job import OnError
from people.models import User
from schedules.changes import editing
from schedules.explain import history
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from schedules.rules import civil
from tests.make import NINE, NOON, check, make_channel, make_job_schedule, make_schedule

pytestmark = pytest.mark.usefixtures("sample_kinds")


def fired(ada: User, value: str, tries: int = 1, **fields: Any) -> tuple[Schedule, Check]:
    schedule = make_job_schedule(ada, payload={"value": value}, **fields)
    fire.fire_due(NINE)
    for _ in range(tries):
        check(Job.objects.get(origin_id=schedule.id))
    [story] = history.past(schedule, civil.FIRST_INSTANT, civil.LAST_INSTANT, fire.read_clock().now)
    assert story.check is not None
    assert results.last(ada.pk, [schedule.id]) == {schedule.id: story.check}
    return schedule, story.check


@pytest.mark.parametrize(
    ("value", "tries", "fields", "outcome", "code"),
    [
        ("seven", 0, {}, "waiting", ""),
        ("seven", 1, {}, "spoke", "sample-checked"),
        ("nothing", 1, {}, "silent", "sample-checked"),
        ("later", 1, {}, "retrying", "sample-away"),
        ("later", 3, {}, "failed", "sample-away"),
        ("refused", 1, {}, "failed", "sample-away"),
        ("refused", 1, {"on_error": OnError.SEND}, "spoke", "sent-anyway"),
    ],
)
def test_each_check_has_an_outcome_with_its_evidence(
    ada: User, value: str, tries: int, fields: dict[str, Any], outcome: str, code: str
) -> None:
    _, found = fired(ada, value, tries, **fields)
    assert (found.outcome, found.job.reason_code) == (outcome, code)
    assert (found.at is not None) == (outcome in {"waiting", "retrying"})
    assert (found.job.notification_id is not None) == (outcome == "spoke")


def test_a_check_that_is_spread_says_so(ada: User) -> None:
    schedule, _ = fired(ada, "seven", 0)
    Job.objects.update(available_at=fire.read_clock().now + timedelta(minutes=1))
    assert results.last(ada.pk, [schedule.id])[schedule.id].outcome == "spread"


def test_a_check_that_was_cancelled_says_why(ada: User) -> None:
    schedule, _ = fired(ada, "seven", 0)
    editing.pause(schedule.id, NOON)
    assert results.last(ada.pk, [schedule.id])[schedule.id].outcome == "dropped"


def test_the_sentence_tells_what_was_checked_and_what_followed(ada: User) -> None:
    _, found = fired(ada, "nothing")
    assert found.text == "Checked the sample: nothing. Nothing sent."


def test_the_command_tells_it_too(ada: User) -> None:
    schedule, _ = fired(ada, "nothing")
    out = StringIO()
    call_command("explain", str(schedule.id), "--since", "2026-06-01", stdout=out)
    assert "  Checked the sample: nothing. Nothing sent." in out.getvalue()


def test_pages_tell_it_of_the_last_check_and_of_each_slot(browser: Client, ada: User) -> None:
    schedule, _ = fired(ada, "nothing")
    for path in ("/reminders/", f"/reminders/{schedule.id}/", f"/reminders/{schedule.id}/explain/"):
        assert "Checked the sample: nothing. Nothing sent." in browser.get(path).content.decode(), path


def test_the_list_of_occurrences_links_a_silent_slot_to_its_job(operator: Client, ada: User) -> None:
    _, found = fired(ada, "nothing")
    page = operator.get("/admin/schedules/occurrence/").content.decode()
    assert f"/admin/jobs/job/{found.job.id}/change/" in page


def test_what_was_said_before_a_silent_check_is_no_trouble_of_it(browser: Client, ada: User) -> None:
    schedule, _ = fired(ada, "seven")
    Schedule.objects.update(job_payload={"value": "nothing"})
    fire.fire_due(NINE + timedelta(days=1))
    check(Job.objects.filter(origin_id=schedule.id).latest("id"))
    assert results.last(ada.pk, [schedule.id])[schedule.id].outcome == "silent"
    assert browser.get("/reminders/").context["groups"][0][1][0]["last"] is None


def test_checks_take_one_statement_for_any_number_of_slots_and_reminders(
    browser: Client, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    inbox = make_channel(ada)
    for count in (1, 5):
        for _ in range(count):
            make_job_schedule(ada, payload={"value": "nothing"}, channels=[inbox])
        for day in range(count):
            fire.fire_due(NINE + timedelta(days=day))
        schedule = Schedule.objects.first()
        with django_assert_num_queries(12 + (count == 1)):  # beside few reminders a card offers to ring elsewhere
            browser.get("/reminders/")
        with django_assert_num_queries(16):
            browser.get(f"/reminders/{schedule.id}/explain/")
    assert Occurrence.objects.count() == Job.objects.count() == 30


def test_a_reminder_without_a_job_has_no_check(ada: User) -> None:
    schedule = make_schedule(ada, [make_channel(ada)])
    fire.fire_due(NINE)
    assert [story.check for story in history.past(schedule, civil.FIRST_INSTANT, civil.LAST_INSTANT, NINE)] == [None]
