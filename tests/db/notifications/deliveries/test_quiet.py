"""What would disturb a person in their quiet hours waits for the end of them, and no try is counted."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from notifications.deliveries import send
from notifications.deliveries.kind import DELIVERY
from notifications.messages.message import Delivered
from notifications.models import Attempt, Delivery, Notification
from notifications.providers import email
from people.models import User
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Holiday
from tests.db.notifications.conftest import state_after_a_try
from tests.make import NOON, make_channel, make_delivery, make_schedule, make_user, noted, send_now, signed_in, try_once
from work import dead_letters
from work.answers import Answer, Retryable
from work.broker import wakes
from work.dead_letters import Who
from work.engine import recovery

pytestmark = pytest.mark.django_db

BERLIN = ZoneInfo("Europe/Berlin")


def quiet_person(begins: float, ends: float, **overrides: Any) -> tuple[User, datetime]:
    """Somebody whose quiet hours begin and end so many hours from now, and when they end."""
    now = fire.read_clock().now.astimezone(BERLIN)
    edges = [(now + timedelta(hours=hours)).replace(second=0, microsecond=0) for hours in (begins, ends)]
    user = make_user(quiet_from=edges[0].time(), quiet_until=edges[1].time(), **overrides)
    return user, edges[1]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """What email says, in order; its sends are counted by what is left."""
    said: list[Answer] = []
    monkeypatch.setattr(email.Email, "send", lambda self, message, destination: said.pop(0))
    return said


def test_a_message_for_a_time_that_has_passed_waits_for_the_quiet_hours_of_now() -> None:
    user, end = quiet_person(-1, 2)
    mail = make_channel(user, "email")
    now = timezone.now()
    for send_at in (now - timedelta(hours=2), None):
        sent = send.send(user, now, "Bins", "The blue one", [mail], send_at)
        delivery = Delivery.objects.get(id=sent.deliveries[0])
        assert (delivery.reason_code, delivery.available_at) == ("quiet-hours", end)


def test_what_is_claimed_in_quiet_hours_waits_and_counts_no_try(answers: list[Answer]) -> None:
    user, end = quiet_person(-1, 2)
    delivery = make_delivery(make_channel(user, "email"))
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries) == ("pending", 0)
    assert abs(delivery.available_at - end) < timedelta(seconds=1)
    assert delivery.available_at - delivery.wake_at == timedelta(seconds=wakes.EARLY)
    assert delivery.reason == f"Waits until {end:%H:%M}: your quiet hours."
    assert Attempt.objects.get().outcome == "released"


@pytest.mark.parametrize(
    ("begins", "fields"), [(1, {"urgent": False}), (-1, {"urgent": True}), (-1, {"origin": "test"})]
)
def test_outside_of_quiet_hours_or_urgent_or_as_a_test_it_goes_out(
    answers: list[Answer], begins: int, fields: dict[str, Any]
) -> None:
    delivery = make_delivery(make_channel(quiet_person(begins, 2)[0], "email"))
    Notification.objects.update(**fields)
    answers.append(Delivered())
    assert state_after_a_try(delivery) == "delivered"


@pytest.mark.parametrize(("own", "state"), [(True, "delivered"), (False, "pending")])
def test_what_a_person_sends_again_passes_and_an_operators_replay_waits(
    answers: list[Answer], own: bool, state: str
) -> None:
    user, _ = quiet_person(-1, 2)
    delivery = make_delivery(make_channel(user, "email"), state="dead")
    for by in (user, make_user())[:: -1 if own else 1]:  # the last one counts
        Delivery.objects.exclude(state="dead").update(state="sending", lease_token=uuid4(), lease_until=NOON)
        ended = {"state": "dead", "cause": "email-refused", "settled_at": NOON}
        Delivery.objects.exclude(state="dead").update(lease_token=None, lease_until=None, **ended)
        dead_letters.replay(Delivery.objects.all(), "", Who(by.pk, by.email))
    answers.append(Delivered())
    assert state_after_a_try(delivery) == state


def test_what_a_person_runs_now_passes(answers: list[Answer]) -> None:
    user, _ = quiet_person(-1, 2)
    now = fire.read_clock().now - timedelta(minutes=1)
    schedule = make_schedule(user, [make_channel(user, "email")], now=now)
    editing.run_now(schedule.id, now, user)
    answers.append(Delivered())
    assert state_after_a_try(Delivery.objects.get()) == "delivered"


def test_a_message_for_later_waits_for_the_quiet_hours_of_its_time_and_not_for_those_of_now() -> None:
    user, end = quiet_person(-1, 2)
    mails, now = make_channel(user, "email"), fire.read_clock().now
    for hours, due, reason in ((5, now + timedelta(hours=5), ""), (1, end, "quiet-hours")):
        sent = send.send(user, now, "Hi", "", [mails], send_at=now + timedelta(hours=hours))
        delivery = Delivery.objects.get(id=sent.deliveries[0])
        assert (delivery.available_at, delivery.reason_code) == (due, reason)


def test_the_inbox_disturbs_nobody() -> None:
    user, _ = quiet_person(-1, 2)
    assert state_after_a_try(make_delivery(make_channel(user))) == "delivered"


def test_a_removed_channel_is_told_at_once() -> None:
    user, _ = quiet_person(-1, 2)
    delivery = make_delivery(make_channel(user, "email", removed_at=fire.read_clock().now))
    assert state_after_a_try(delivery) == "dead"


def test_a_retry_that_would_fall_into_quiet_hours_waits_for_their_end(answers: list[Answer]) -> None:
    user, end = quiet_person(0.2, 2)
    delivery = make_delivery(make_channel(user, "email"))
    answers.append(Retryable(noted("Busy."), retry_after=1_800))
    try_once(delivery)
    assert (delivery.state, delivery.tries) == ("pending", 1)
    assert abs(delivery.available_at - end) < timedelta(seconds=2)
    assert delivery.reason == f"Busy. Waits until {end:%H:%M}: your quiet hours."


def test_waiting_does_not_keep_it_from_going_stale() -> None:
    user, end = quiet_person(-1, 2)
    stale = end - timedelta(hours=1)
    delivery = make_delivery(make_channel(user, "email"), expires_at=stale)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert delivery.expires_at == stale
    Delivery.objects.update(expires_at=NOON)
    recovery.expire(DELIVERY, 10)
    delivery.refresh_from_db()
    assert delivery.state == "expired"


def held_reminder(**overrides: Any) -> tuple[Delivery, date]:
    """Mail of a reminder that waits for the end of quiet hours; and the day on its person's clock on which they end."""
    user, end = quiet_person(-1, 2)
    schedule = make_schedule(user, [make_channel(user, "email")], **overrides)
    now = fire.read_clock().now
    delivery = make_delivery(schedule.channels.get(), origin_id=schedule.id, slot=now)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert delivery.reason_code == "quiet-hours"
    return delivery, end.date()


def end_quiet_hours() -> None:
    """As time does: nobody is told."""
    User.objects.update(quiet_from=None, quiet_until=None)
    Delivery.objects.filter(state="pending").update(available_at=NOON, wake_at=NOON)


def tried_again(delivery: Delivery) -> tuple[str, str]:
    send_now(delivery.id)
    delivery.refresh_from_db()
    return delivery.state, delivery.reason_code


def test_what_quiet_hours_hold_is_decided_anew_when_a_holiday_is_planned() -> None:
    delivery, day = held_reminder()
    person = signed_in(delivery.notification.user)
    person.post("/holidays/", {"first": day - timedelta(days=3), "last": day + timedelta(days=3), "urgent_rings": "on"})
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code, delivery.available_at <= timezone.now()) == ("pending", "", True)
    assert tried_again(delivery) == ("cancelled", "holiday")


@pytest.mark.parametrize("holiday", [{"tags": ["garden"]}, {"first": 1, "last": 5}, {"first": -5, "last": -2}])
def test_what_a_holiday_does_not_concern_goes_on_waiting(holiday: dict[str, Any]) -> None:
    delivery, day = held_reminder(tags=["home"])
    dates = {"first": -1, "last": 1} | holiday
    shifted = {name: day + timedelta(days=dates[name]) for name in ("first", "last")}
    Holiday.objects.create(user=delivery.notification.user, **dates | shifted)
    assert tried_again(delivery) == ("pending", "quiet-hours")


def test_a_holiday_that_was_changed_or_deleted_before_the_worker_came_counts_as_it_is_now() -> None:
    delivery, day = held_reminder()
    holiday = Holiday.objects.create(user=delivery.notification.user, first=day, last=day + timedelta(days=1))
    holiday.tags = ["garden"]
    holiday.save()
    assert tried_again(delivery) == ("pending", "quiet-hours")
    holiday.delete()
    delivery.refresh_from_db()
    assert delivery.reason_code == ""


def test_what_was_due_before_a_holiday_does_not_ring_within_it() -> None:
    delivery, day = held_reminder()
    Notification.objects.update(slot=fire.read_clock().now - timedelta(days=3))
    both = {"first": day - timedelta(days=1), "last": day}
    Holiday.objects.bulk_create([Holiday(user=delivery.notification.user, **both)])
    end_quiet_hours()
    assert tried_again(delivery) == ("cancelled", "holiday")


def test_nothing_that_quiet_hours_have_held_rings_in_a_holiday_that_was_there_before(answers: list[Answer]) -> None:
    delivery, day = held_reminder()
    both = {"first": day - timedelta(days=1), "last": day}  # before midnight, quiet hours end on the next day
    Holiday.objects.bulk_create([Holiday(user=delivery.notification.user, **both)])  # it tells nobody
    end_quiet_hours()
    assert tried_again(delivery) == ("cancelled", "holiday")
    others, day = held_reminder()
    end_quiet_hours()
    answers += [Delivered(), Delivered()]
    assert tried_again(others)[0] == "delivered"
    slot = fire.read_clock().now
    on_time = make_delivery(others.channel, origin_id=others.notification.origin_id, slot=slot)
    Holiday.objects.bulk_create([Holiday(user=others.notification.user, **both)])
    assert tried_again(on_time)[0] == "delivered"
