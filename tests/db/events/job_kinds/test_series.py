"""Series: steps in their order and time, each once, until their end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from pytest_django import Settings

from events.inputs.rule_form import RuleForm
from events.intake import ledger
from events.job_kinds.series import SeriesForm
from events.kinds.event import EVENT
from events.models import Rule
from events.pure.envelope import Envelope
from events.rules import changes, words
from jobs.models import Job
from notifications.models import Notification
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import check, happen, make_channel, make_job_schedule, make_rule, make_user, signed_in
from work.engine import runner

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


def test_each_step_follows_at_its_time_from_the_beginning_and_once(published: list[UUID]) -> None:
    schedule, first = begun()
    check(first)
    check(first)
    second = newest(schedule)
    assert (second.state, second.available_at - first.slot) == ("pending", timedelta(hours=1))
    check(second)
    third = newest(schedule)
    assert third.available_at - first.slot == timedelta(days=2)
    check(third)
    assert said() == ["Welcome Ada", "Still there?", "How is it going?"]
    assert Job.objects.count() == 3
    assert {second.id, third.id} <= set(published)
    assert {job.correlation_id for job in (second, third)} == {first.batch_id}
    assert [job.reason_params for job in (first, second, third)] == [{"step": step, "of": 3} for step in (1, 2, 3)]


def test_an_event_ends_it_and_the_evidence_says_so() -> None:
    schedule, first = begun(ends_on="order.paid")
    check(first)
    ledger.record(schedule.user_id, [Envelope(type="order.paid", source="shop", data={})])
    second = check(newest(schedule))
    assert (second.state, second.reason_code, said()) == ("decided", "series-ended", ["Welcome Ada"])
    assert "at step 2 of 3: order.paid happened" in second.reason
    assert newest(schedule) == second


def test_events_of_others_and_before_it_end_nothing() -> None:
    ledger.record(make_user().pk, [Envelope(type="order.paid", source="shop", data={})])
    schedule, first = begun(ends_on="order.paid")
    check(first)
    check(newest(schedule))
    assert said() == ["Welcome Ada", "Still there?"]


def test_pausing_its_reminder_ends_it() -> None:
    schedule, first = begun()
    check(first)
    editing.pause(schedule.id, fire.read_clock().now)
    assert newest(schedule).state == "cancelled"


def test_a_first_step_may_come_later() -> None:
    schedule, first = begun("1 day | Tomorrow")
    assert (check(first).reason_code, said()) == ("series-begun", [])
    check(newest(schedule))
    assert (said(), Job.objects.count()) == (["Tomorrow"], 2)


def test_a_damaged_step_ends_visibly() -> None:
    _, first = begun()
    Job.objects.filter(id=first.id).update(payload={"steps": [{"after": "x"}], "step": 7})
    assert (check(first).state, first.reason_code) == ("dead", "unreadable-payload")


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ("", "Enter a step"),
        ("tomorrow | Hello", "is not a step"),
        ("now", "is not a step"),
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


@pytest.mark.parametrize("written", ["an order.paid", "order.paid!", "Order.paid", "order"])
def test_a_series_does_not_wait_for_what_is_no_type_of_an_event(written: str) -> None:
    assert list(SeriesForm({"steps": "7 days | A", "ends_on": written}).errors) == ["ends_on"]


# Begun by a rule.


def orders(**overrides: Any) -> Rule:
    draft: dict[str, Any] = {
        "type_pattern": "order.placed",
        "conditions": [],
        "series": "1 hour | Pay {data.order_id} | It is {data.note}\n2 days | Last call",
        "series_ends_on": "order.paid",
        "series_key": "data.order_id",
    }
    return make_rule(make_user(), **draft | overrides)


def test_a_rule_begins_a_series_that_the_same_order_ends() -> None:
    rule = orders()
    placed = [happen(rule.user, type="order.placed", data={"order_id": key, "note": "{name}"}) for key in ("*7*", 8)]
    first, second = Job.objects.filter(origin_id=rule.id).order_by("id")
    assert (check(first).reason_code, check(second).reason_code) == ("series-begun", "series-begun")
    assert first.correlation_id == placed[0].correlation_id
    happen(rule.user, type="order.paid", data={"order_id": 8})
    steps = list(Job.objects.filter(origin_id=rule.id, state="pending").order_by("id"))
    assert [check(step).reason_code for step in steps] == ["series-said", "series-ended"]
    said = Notification.objects.get(subject="Pay *7*")
    assert (said.body, said.origin, said.origin_id, said.hops) == ("It is { name }", "event", rule.id, 1)


def test_the_same_order_ends_it_however_many_others_are_paid_after_it() -> None:
    rule = orders()
    happen(rule.user, type="order.placed", data={"order_id": 7})
    check(Job.objects.get(origin_id=rule.id))
    paid = [Envelope(type="order.paid", source="shop", data={"order_id": 7 + number}) for number in range(202)]
    ledger.record(rule.user_id, paid)
    assert check(Job.objects.get(origin_id=rule.id, state="pending")).reason_code == "series-ended"


@pytest.mark.parametrize(("chain", "code"), [("cart 1", "series-ended"), ("cart 2", "series-said")])
def test_what_belongs_together_can_be_something_else_than_data(chain: str, code: str) -> None:
    rule = orders(series_key="correlation_id")
    happen(rule.user, type="order.placed", correlation_id="cart 1")
    check(Job.objects.get(origin_id=rule.id))
    happen(rule.user, type="order.paid", correlation_id=chain)
    assert check(Job.objects.get(origin_id=rule.id, state="pending")).reason_code == code


def test_an_event_that_is_handled_twice_begins_one_series() -> None:
    rule = orders()
    event = happen(rule.user, type="order.placed", data={"order_id": 7})
    runner.run(EVENT, event.id, "worker")
    assert Job.objects.filter(origin_id=rule.id).count() == 1


def test_switching_the_rule_off_ends_its_series() -> None:
    rule = orders()
    happen(rule.user, type="order.placed", data={"order_id": 7})
    changes.switch(rule.id, False)
    assert Job.objects.get(origin_id=rule.id).state == "cancelled"


def test_the_rules_page_says_what_its_series_does() -> None:
    rule = orders()
    happen(rule.user, type="order.placed", data={"order_id": 7})
    check(Job.objects.get(origin_id=rule.id))
    page = signed_in(rule.user).get(f"/rules/{rule.id}/").content.decode()
    assert "2 steps follow, until order.paid with the same data.order_id" in page
    assert "Newest step of its series" in page
    rule.series_key = ""
    assert words.series(rule) == "2 steps follow, until order.paid"
    rule.series_ends_on = ""
    assert words.series(rule) == "2 steps follow"


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"series": "soon | A"}, "series"),
        ({"series": "1 day | {nothing.here}"}, "series"),
        ({"series": "1 day | A", "digest_seconds": "3600"}, "series"),
        ({"series": "30 days | A", "series_ends_on": "order.paid"}, "series"),
        ({"series_ends_on": "order.paid"}, "series_ends_on"),
        ({"series": "1 day | A", "series_ends_on": "Order paid"}, "series_ends_on"),
        ({"series": "1 day | A", "series_ends_on": "an order.paid"}, "series_ends_on"),
        ({"series": "1 day | A", "series_key": "data.x"}, "series_key"),
        ({"series": "1 day | A", "series_ends_on": "order.paid", "series_key": "x"}, "series_key"),
    ],
)
def test_a_rules_series_is_refused_at_its_field(typed: dict[str, str], field: str) -> None:
    user = make_user()
    plain = {"name": "Orders", "type_pattern": "order.placed", "title": "New", "channels": [str(make_channel(user).id)]}
    assert list(RuleForm(plain | typed, user=user).errors) == [field]
