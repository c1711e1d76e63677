"""Firing in quiet hours: what would disturb is recorded to wait, and says so."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.test import TestCase
from django.utils import timezone
from redis import Redis

from notifications.deliveries.kind import DELIVERY
from notifications.models import Delivery, Notification
from people import quiet
from people.models import User
from schedules.firing import fire, sending
from schedules.models import Schedule
from tests.db.people.test_quiet import save
from tests.db.test_limits import at_once
from tests.make import make_channel, make_delivery, make_schedule, make_user, signed_in
from work.broker import wakes
from work.engine import runner

# 23:30 in Berlin, and the morning after; in the future, because nothing becomes available before the database's now.
SLOT = datetime.fromisoformat("2099-12-01T22:30:00+00:00")
MORNING = datetime.fromisoformat("2099-12-02T06:00:00+00:00")


def fired(**overrides: Any) -> list[Delivery]:
    """The deliveries, email first, of a reminder that fired at 23:30, its person being quiet from 22:00 to 07:00."""
    user = make_user(quiet_from=time(22), quiet_until=time(7))
    channels = [make_channel(user, "email"), make_channel(user)]
    schedule = make_schedule(user, channels, now=SLOT - timedelta(hours=1), rule={"time": "22:30"}, **overrides)
    assert fire.fire_due(SLOT) == 1
    assert schedule.next_fire_at == SLOT
    return sorted(Delivery.objects.all(), key=lambda delivery: delivery.provider)


def test_a_slot_in_quiet_hours_waits_for_their_end_and_the_inbox_does_not() -> None:
    email, inbox = fired()
    assert (email.available_at, email.wake_at) == (MORNING, MORNING - timedelta(seconds=wakes.EARLY))
    assert email.reason == "Waits until 07:00: your quiet hours."
    assert (inbox.available_at, inbox.reason) == (SLOT, "")
    assert {email.state, inbox.state} == {"pending"}
    assert email.tries == 0


def test_the_wait_is_said_on_the_page_of_the_notification() -> None:
    email, _ = fired()
    client = signed_in(email.channel.user)
    page = client.get(f"/history/{email.notification_id}/").content.decode()
    assert "Waits until 07:00: your quiet hours." in page


def test_an_urgent_reminder_does_not_wait() -> None:
    email, _ = fired(urgent=True)
    assert (email.available_at, email.reason) == (SLOT, "")
    assert Notification.objects.get().urgent


def test_spread_into_quiet_hours_waits_too_and_spread_out_of_them_does_not() -> None:
    email, _ = fired(spread=86_400)
    spread = sending.spread_of(email.notification.origin_id, SLOT, 86_400)  # type: ignore[arg-type]  # a schedule's
    due = SLOT + spread
    quiet = due < MORNING or due >= MORNING + timedelta(hours=15)
    assert bool(email.reason) == quiet
    assert email.available_at >= due


def test_what_is_stale_by_the_end_of_quiet_hours_still_goes_stale() -> None:
    email, _ = fired(stale_after=3_600)
    assert email.expires_at == SLOT + timedelta(hours=1)
    assert email.available_at == MORNING


def test_a_slot_outside_of_quiet_hours_does_not_wait() -> None:
    user = make_user(quiet_from=time(22), quiet_until=time(23))
    make_schedule(user, [make_channel(user, "email")], now=SLOT - timedelta(hours=1), rule={"time": "22:30"})
    fire.fire_due(SLOT)
    assert Delivery.objects.get().reason == ""


def test_a_slot_found_late_waits_when_it_is_found_in_quiet_hours() -> None:
    user = make_user(quiet_from=time(23, 45), quiet_until=time(7))
    make_schedule(user, [make_channel(user, "email")], now=SLOT - timedelta(hours=1), rule={"time": "22:30"})
    fire.fire_due(SLOT + timedelta(hours=1))
    assert Delivery.objects.get().available_at == MORNING


def test_urgent_is_a_box_in_the_form() -> None:
    user = make_user()
    client = signed_in(user)
    typed = {"title": "Fire drill", "kind": "daily", "time": "09:00", "time_zone": "Europe/Berlin"}
    client.post("/reminders/new/", typed | {"channels": str(make_channel(user).id), "urgent": "on"})
    schedule = Schedule.objects.get()
    assert schedule.urgent
    page = client.get(f"/reminders/{schedule.id}/edit/").content.decode()
    assert re.search(r'<input [^>]*name="urgent"[^>]* checked', page)


def held_now(**quiet: Any) -> Delivery:
    """A delivery that a worker has put off until the end of quiet hours, which have just begun and last for long."""
    user = make_user(quiet_from=time(0), quiet_until=time(23, 59, 59), time_zone="UTC", **quiet)
    delivery = make_delivery(make_channel(user, "email"))
    runner.run(DELIVERY, delivery.id, "worker")
    delivery.refresh_from_db()
    return delivery


def test_what_waits_goes_at_once_when_quiet_hours_are_switched_off(broker: Redis) -> None:
    delivery = held_now()
    assert (delivery.state, delivery.reason_code, delivery.tries) == ("pending", "quiet-hours", 0)
    with TestCase.captureOnCommitCallbacks(execute=True):
        save(delivery.channel.user, quiet_from="", quiet_until="")
    delivery = Delivery.objects.get()
    assert (delivery.reason_code, delivery.channel.user.quiet_from) == ("", None)
    runner.run(DELIVERY, delivery.id, "worker")
    delivery.refresh_from_db()
    assert delivery.state == "delivered"


def test_what_waits_waits_for_the_new_end_when_quiet_hours_are_moved() -> None:
    delivery = held_now()
    user = delivery.channel.user
    user.quiet_until = time(23, 59, 58)
    user.save(update_fields=["quiet_until"])
    runner.run(DELIVERY, delivery.id, "worker")
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code, delivery.tries) == ("pending", "quiet-hours", 0)
    assert f"{delivery.available_at:%H:%M:%S}" in {"23:59:58", "23:59:57"}


def test_what_waits_goes_at_once_when_its_person_moves_to_a_zone_where_it_is_day() -> None:
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    around = {"quiet_from": (now - timedelta(hours=2)).time(), "quiet_until": (now + timedelta(hours=2)).time()}
    user = make_user(time_zone="UTC", **around)
    delivery = make_delivery(make_channel(user, "email"))
    runner.run(DELIVERY, delivery.id, "worker")
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code) == ("pending", "quiet-hours")
    user.time_zone = "Asia/Tokyo"
    user.save(update_fields=["time_zone"])
    runner.run(DELIVERY, delivery.id, "worker")
    delivery.refresh_from_db()
    assert delivery.state == "delivered"


def test_what_is_not_due_yet_does_not_come_early_when_quiet_hours_change() -> None:
    email, _ = fired()
    user = email.channel.user
    user.quiet_from = user.quiet_until = None
    user.save()
    email.refresh_from_db()
    assert (email.available_at, email.reason) == (SLOT, "")


def test_signing_in_decides_nothing_anew() -> None:
    delivery = held_now()
    delivery.channel.user.save(update_fields=["last_login"])
    delivery.refresh_from_db()
    assert delivery.reason_code == "quiet-hours"


def closed_hours() -> dict[str, list[str]]:
    """Hours by weekday that begin tomorrow at noon."""
    return {quiet.DAYS[(datetime.now(UTC) + timedelta(days=1)).weekday()]: ["12:00", "18:00"]}


def test_what_comes_outside_of_hours_by_weekday_waits_until_they_begin_and_urgent_does_not() -> None:
    user = make_user(weekly_hours=closed_hours(), time_zone="UTC")
    plain, urgent = (make_delivery(make_channel(user, "email")) for _ in range(2))
    Notification.objects.filter(id=urgent.notification_id).update(urgent=True)
    for delivery in (plain, urgent):
        runner.run(DELIVERY, delivery.id, "worker")
        delivery.refresh_from_db()
    assert (plain.state, plain.reason_code, urgent.state) == ("pending", "quiet-hours", "delivered")
    assert f"{plain.available_at:%H:%M}" in {"12:00", "11:59"}
    assert timezone.now() < plain.available_at <= timezone.now() + timedelta(hours=36)


def test_what_waits_is_decided_anew_when_hours_by_weekday_are_set_and_when_they_are_widened() -> None:
    delivery = held_now()
    user = delivery.channel.user
    user.quiet_from, user.quiet_until, user.weekly_hours = None, None, closed_hours()
    user.save()
    runner.run(DELIVERY, delivery.id, "worker")
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code, delivery.tries) == ("pending", "quiet-hours", 0)
    user.weekly_hours = {day: ["00:00", "00:00"] for day in quiet.DAYS}
    user.save()
    runner.run(DELIVERY, delivery.id, "worker")
    delivery.refresh_from_db()
    assert delivery.state == "delivered"


@pytest.mark.django_db(transaction=True)
def test_two_who_save_other_hours_at_once_release_what_waits_and_send_it_once() -> None:
    delivery = held_now()
    page = {"name": "Ada", "time_zone": "UTC"}
    [(day, [begins, ends])] = closed_hours().items()
    closed = {f"weekly_hours-{day}-from": begins, f"weekly_hours-{day}-until": ends}
    tabs = [signed_in(delivery.channel.user) for _ in range(2)]
    at_once(lambda: tabs[0].post("/settings/", page), lambda: tabs[1].post("/settings/", page | closed))
    for _ in range(2):
        runner.run(DELIVERY, delivery.id, "worker")
    delivery.refresh_from_db()
    is_open = not User.objects.get().weekly_hours
    assert (delivery.state, delivery.reason_code) == (("delivered", "") if is_open else ("pending", "quiet-hours"))
    assert delivery.history.filter(outcome="delivered").count() == is_open
