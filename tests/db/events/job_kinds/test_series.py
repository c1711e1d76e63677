"""Series: steps in their order and time, each once, until their end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from events import ledger
from events.envelope import Envelope
from events.job_kinds.series import SeriesForm
from jobs.models import Job
from notifications.models import Notification
from schedules import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import look, make_job_schedule, make_user

pytestmark = pytest.mark.django_db
STEPS = "now | Welcome {name} | Here you are.\n1 hour | Still there?\n2 days | How is it going? | Tell us."


def begun(steps: str = STEPS, **payload: Any) -> tuple[Schedule, Job]:
    """A series that begins now, and its first job."""
    form = SeriesForm({"steps": steps, "ends_on": payload.pop("ends_on", "")})
    assert form.is_valid(), form.errors
    schedule = make_job_schedule(make_user(), "series", form.cleaned_data, title="Series", now=fire.read_clock().now)
    editing.run_now(schedule.id, fire.read_clock().now)
    return schedule, Job.objects.get(origin_id=schedule.id)


def newest(schedule: Schedule) -> Job:
    return Job.objects.filter(origin_id=schedule.id).latest("id")


def said() -> list[str]:
    return list(Notification.objects.order_by("id").values_list("subject", flat=True))


def test_each_step_follows_at_its_time_from_the_beginning_and_once() -> None:
    schedule, first = begun()
    look(first)
    look(first)
    second = newest(schedule)
    assert (second.state, second.available_at - first.slot) == ("pending", timedelta(hours=1))
    look(second)
    third = newest(schedule)
    assert third.available_at - first.slot == timedelta(days=2)
    look(third)
    assert said() == ["Welcome Ada", "Still there?", "How is it going?"]
    assert Job.objects.count() == 3
    assert {job.correlation_id for job in (second, third)} == {first.batch_id}


def test_an_event_ends_it_and_the_evidence_says_so() -> None:
    schedule, first = begun(ends_on="order.paid")
    look(first)
    ledger.record(schedule.user_id, [Envelope(type="order.paid", source="shop", data={})])
    second = look(newest(schedule))
    assert (second.state, second.reason_code, said()) == ("decided", "series-ended", ["Welcome Ada"])
    assert "order.paid happened" in second.reason
    assert newest(schedule) == second


def test_events_of_others_and_before_it_end_nothing() -> None:
    ledger.record(make_user().pk, [Envelope(type="order.paid", source="shop", data={})])
    schedule, first = begun(ends_on="order.paid")
    look(first)
    look(newest(schedule))
    assert said() == ["Welcome Ada", "Still there?"]


def test_pausing_its_reminder_ends_it() -> None:
    schedule, first = begun()
    look(first)
    editing.pause(schedule.id, fire.read_clock().now)
    assert newest(schedule).state == "cancelled"


def test_a_first_step_may_come_later() -> None:
    schedule, first = begun("1 day | Tomorrow")
    assert (look(first).reason_code, said()) == ("series-begun", [])
    look(newest(schedule))
    assert (said(), Job.objects.count()) == (["Tomorrow"], 2)


def test_a_damaged_step_ends_visibly() -> None:
    _, first = begun()
    Job.objects.filter(id=first.id).update(payload={"steps": [{"after": "x"}], "step": 7})
    assert (look(first).state, first.reason_code) == ("dead", "unreadable-payload")


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ("", "Enter a step"),
        ("tomorrow | Hello", "is no step"),
        ("now", "is no step"),
        ("2 days | B\n1 day | A", "comes later"),
        ("400 days | A", "too late"),
        ("now | {nmae}", "Did you mean {name}"),
        ("\n".join(f"{number} days | A" for number in range(1, 23)), "at most 20"),
    ],
)
def test_steps_that_cannot_be_are_refused_with_a_remedy(steps: str, problem: str) -> None:
    assert problem in str(SeriesForm({"steps": steps}).errors["steps"])


def test_an_end_by_an_event_needs_steps_within_the_time_that_events_are_kept(settings: Settings) -> None:
    settings.EVENTS_KEPT_DAYS = 7
    assert SeriesForm({"steps": "7 days | A\n14 days | B", "ends_on": "order.paid"}).is_valid()
    assert "7 days" in str(SeriesForm({"steps": "8 days | A", "ends_on": "order.paid"}).errors["steps"])
