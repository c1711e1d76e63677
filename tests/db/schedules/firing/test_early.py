"""Early messages: the newest that is due, once, while its slot is still ahead and will ring."""

from __future__ import annotations

import threading
from datetime import date, datetime, time, timedelta
from typing import Any

import pytest
from django.db import connections

from common.database import fault_points
from notifications.deliveries import acknowledge, nag, outbox
from notifications.models import Channel, Delivery, Notification
from schedules.agenda import moving
from schedules.beat import zone_updates
from schedules.changes import answers, editing
from schedules.firing import early_messages, fire
from schedules.firing.early_messages import send_due
from schedules.models import Holiday, Schedule
from tests.db.locks import impatient, locked
from tests.make import NINE, NOON, edit_schedule, make_channel, make_schedule, make_user, send_now
from work.models import Hold

pytestmark = pytest.mark.django_db

DAY = 24 * 60
TOMORROW = NINE + timedelta(days=1)


def make(**overrides: Any) -> Schedule:
    """One that comes at NINE and at TOMORROW, and rings 2 hours and 10 minutes before."""
    return make_schedule(overrides.pop("user", None) or make_user(), **({"early": [120, 10]} | overrides))


def next_early(schedule: Schedule) -> datetime | None:
    return Schedule.objects.values_list("next_early_at", flat=True).get(id=schedule.id)


def before(minutes: float, slot: datetime = NINE) -> datetime:
    return slot - timedelta(minutes=minutes)


def sent() -> list[tuple[int | None, str]]:
    return list(Notification.objects.exclude(early=None).order_by("id").values_list("early", "subject"))


def test_each_rings_once_and_then_the_slot_itself() -> None:
    schedule = make(user=make_user(time_zone="UTC"))
    assert next_early(schedule) == before(120)
    assert send_due(before(121)) == 0
    assert [send_due(before(120)), send_due(before(120))] == [1, 0]
    assert next_early(schedule) == before(10)
    assert [send_due(before(10)), send_due(before(9))] == [1, 0]
    assert sent() == [(120, "In 2 hours: Water the plants"), (10, "In 10 minutes: Water the plants")]
    one = Notification.objects.latest("id")
    assert (one.body, one.slot, one.origin_id) == ("Tue 2 Jun, 09:00\n\nAll of them.", NINE, schedule.id)
    assert {delivery.expires_at for delivery in Delivery.objects.all()} == {NINE}
    assert next_early(schedule) is None
    assert fire.fire_due(NINE) == 1
    assert next_early(schedule) == before(120, TOMORROW)
    assert not schedule.occurrences.exclude(scheduled_for=NINE).exists()


@pytest.mark.parametrize(("left", "said"), [(42, "42 minutes"), (1, "1 minute"), (0.2, "1 minute"), (59.5, "1 hour")])
def test_after_an_outage_only_the_newest_rings_and_says_how_long_it_is(left: float, said: str) -> None:
    make(early=[DAY // 2, 120, 60])
    assert send_due(before(left)) == 1
    assert sent() == [(60, f"In {said}: Water the plants")]


def test_after_the_slot_none_rings() -> None:
    schedule = make()
    assert send_due(NINE) == 0
    fire.fire_due(NINE)
    assert (sent(), next_early(schedule)) == ([], before(120, TOMORROW))


def test_an_outage_over_the_slot_leaves_what_is_due_for_the_next_one() -> None:
    make()
    late = before(30, TOMORROW)
    fire.fire_due(late)
    assert send_due(late) == 1
    assert [early for early, _ in sent()] == [120]


def test_none_rings_with_or_before_the_slot_in_front() -> None:
    schedule = make(early=[DAY, 2 * DAY, 10])
    fire.fire_due(NINE)
    assert next_early(schedule) == before(10, TOMORROW)


def test_what_lies_behind_a_new_reminder_does_not_ring() -> None:
    schedule = make_schedule(make_user(), now=before(60), early=[120, 10])
    assert next_early(schedule) == before(10)


def test_it_is_said_in_the_language_and_zone_of_its_person() -> None:
    make(user=make_user(language="de", time_zone="Asia/Tokyo"), early=[DAY])
    edit_schedule(Schedule.objects.get(), early=[180])
    assert send_due(before(180)) == 1
    one = Notification.objects.get()
    assert one.subject == "Noch 3 Stunden: Water the plants"
    assert one.body.startswith("Di, 2. Jun, 18:00")


def test_quiet_hours_hold_it_until_they_end_and_it_says_what_is_left_then() -> None:
    user = make_user(time_zone="UTC", quiet_from=time(22), quiet_until=time(8))
    make_schedule(user, [make_channel(user, "email")], early=[120])
    assert send_due(before(120)) == 1
    [delivery] = Delivery.objects.all()
    assert (delivery.reason_code, delivery.expires_at) == ("quiet-hours", NINE)
    assert sent() == [(120, "In 1 hour: Water the plants")]


def test_in_quiet_hours_that_end_with_the_slot_it_says_how_long_it_is_now() -> None:
    user = make_user(time_zone="UTC", quiet_from=time(22), quiet_until=time(9))
    make_schedule(user, early=[120])
    assert send_due(before(120)) == 1
    assert sent() == [(120, "In 2 hours: Water the plants")]


def test_an_urgent_one_rings_in_quiet_hours() -> None:
    user = make_user(time_zone="UTC", quiet_from=time(22), quiet_until=time(8))
    make_schedule(user, [make_channel(user, "email")], early=[120], urgent=True)
    assert send_due(before(120)) == 1
    assert [one.reason_code for one in Delivery.objects.all()] == [""]
    assert Notification.objects.get().urgent  # for the worker, which decides again


@pytest.mark.parametrize("day", [NINE.date(), before(3 * DAY).date()])
def test_a_holiday_of_its_slot_or_of_the_moment_keeps_it_silent(day: date) -> None:
    user, now = make_user(time_zone="UTC"), before(3 * DAY)
    channel = make_channel(user)
    at_nine, at_ten = ({"at": f"{slot:%Y-%m-%dT%H:%M}"} for slot in (NINE, now + timedelta(hours=1)))
    make_schedule(user, [channel], now=before(4 * DAY), kind="once", rule=at_nine, early=[3 * DAY])
    make_schedule(user, [channel], now=before(4 * DAY), kind="once", rule=at_ten, early=[60], urgent=True)
    Holiday.objects.create(user=user, first=day, last=day)
    assert send_due(now) == 1
    assert [early for early, _ in sent()] == [60]
    assert not Schedule.objects.exclude(next_early_at=None).exists()


def test_without_a_channel_none_rings() -> None:
    schedule = make()
    Channel.objects.update(removed_at=NOON)
    assert (send_due(before(120)), next_early(schedule)) == (0, before(10))


def test_everything_waits_while_it_is_on_hold() -> None:
    make()
    Hold.objects.update(is_on=True)
    assert send_due(before(120)) == 0
    Hold.objects.update(is_on=False)
    assert send_due(before(119)) == 1


@pytest.mark.parametrize("stop", [editing.pause, editing.archive, editing.delete])
def test_what_is_stopped_rings_no_more_and_what_waits_is_cancelled(stop: editing.StateChange) -> None:
    schedule = make()
    send_due(before(120))
    stop(schedule.id, before(60))
    assert next_early(schedule) is None
    assert [one.state for one in Delivery.objects.all()] == ["cancelled"]
    assert send_due(before(10)) == 0


def test_what_goes_on_rings_from_then_on() -> None:
    schedule = make()
    editing.pause(schedule.id, before(180))
    editing.resume(schedule.id, before(60))
    assert next_early(schedule) == before(10)
    editing.delete(schedule.id, before(50))
    editing.restore(schedule.id, before(5))
    assert next_early(schedule) is None


def test_a_slot_that_is_skipped_does_not_ring_early_and_what_waits_for_it_is_cancelled() -> None:
    schedule = make()
    send_due(before(120))
    editing.skip_next(schedule.id, NINE, before(60))
    assert next_early(schedule) == before(120, TOMORROW)
    assert [(one.state, one.reason_code) for one in Delivery.objects.all()] == [("cancelled", "other-time")]
    editing.unskip(schedule.id, NINE, before(50))
    assert next_early(schedule) == before(10)


def test_what_a_slot_itself_has_said_still_comes_when_the_next_one_is_skipped() -> None:
    schedule = make()
    fire.fire_due(NINE)
    editing.skip_next(schedule.id, TOMORROW, NINE + timedelta(minutes=1))
    [one] = Delivery.objects.select_related("notification")
    assert (one.notification.slot, one.state) == (NINE, "pending")


def test_a_moved_slot_rings_early_where_it_comes() -> None:
    schedule = make(user=make_user(time_zone="UTC"))
    copy = moving.move_one(schedule, NINE.date(), schedule.version, NOON, schedule.user, time(11), NINE)
    assert (next_early(schedule), next_early(copy)) == (before(120, TOMORROW), NINE)


def test_a_snooze_keeps_it_silent_until_its_end() -> None:
    schedule = make()
    editing.snooze(schedule.id, before(60), before(180))
    assert next_early(schedule) == before(10)


def test_what_waits_for_another_time_is_cancelled_also_where_none_rings_early_any_more() -> None:
    user = make_user(time_zone="UTC", quiet_from=time(22), quiet_until=time(8))
    schedule = make_schedule(user, [make_channel(user, "email")], early=[120])
    send_due(before(120))
    schedule.refresh_from_db()
    edit_schedule(schedule, before(110), early=[], rule={"time": "18:00"})
    assert Delivery.objects.get().reason_code == "other-time"


def test_an_edit_of_the_title_keeps_what_waits() -> None:
    schedule = make()
    send_due(before(120))
    schedule.refresh_from_db()
    edit_schedule(schedule, before(110), title="Water all plants")
    assert ([one.state for one in Delivery.objects.all()], next_early(schedule)) == (["pending"], before(10))


def test_other_minutes_count_at_once() -> None:
    schedule = make()
    edit_schedule(schedule, before(130), early=[30])
    assert next_early(schedule) == before(30)
    schedule.refresh_from_db()
    edit_schedule(schedule, before(120), early=[])
    assert next_early(schedule) is None


def test_new_zone_data_moves_it_with_its_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = make()
    monkeypatch.setattr(fire, "read_clock", lambda: fire.Clock(before(180), None))
    Schedule.objects.update(next_fire_at=NINE + timedelta(hours=1), next_early_at=NINE)
    assert [new for batch in zone_updates.recompute() for *_, new in batch] == [NINE]
    assert next_early(schedule) == before(120)


def test_a_slot_that_now_comes_later_rings_at_its_new_times_and_says_nothing_twice() -> None:
    schedule = make(early=[DAY // 2, 120])
    assert send_due(before(DAY // 2)) == 1
    Schedule.objects.update(next_fire_at=NINE + timedelta(hours=1))  # new zone data; its early times come afterwards
    assert send_due(before(120)) == 0
    assert next_early(schedule) == before(60)
    assert send_due(before(60)) == 1
    assert [early for early, _ in sent()] == [DAY // 2, 120]


def test_done_of_an_early_ring_is_not_done_of_its_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fire, "read_clock", lambda: fire.Clock(TOMORROW, None))
    every = {"every": 3, "unit": "days", "anchor": NINE.isoformat()}
    schedule = make(kind="interval", rule=every, after_done=True)
    send_due(before(10))
    fire.fire_due(NINE)
    early, slot = Notification.objects.order_by("id")
    assert acknowledge.acknowledge(early.id)
    assert (Schedule.objects.get().state, next_early(schedule)) == ("awaiting", None)
    assert answers.done(Schedule.objects.get(), TOMORROW, schedule.user, Notification.AnsweredFrom.PAGE)
    slot.refresh_from_db()
    assert slot.acknowledged_at is not None
    assert next_early(schedule) == before(120, TOMORROW + timedelta(days=3))


def test_an_early_ring_does_not_end_the_repeats_of_the_slot_before() -> None:
    make(nag_every=10, nag_times=3)
    fire.fire_due(NINE)
    send_due(before(120, TOMORROW))
    Notification.objects.filter(early=None).update(nag_at=NOON)
    for key in Delivery.objects.filter(notification__early=None).values_list("id", flat=True):
        send_now(key)
    assert nag.advance() == 1
    assert [one.nag_every for one in Notification.objects.exclude(early=None)] == [None]


@pytest.mark.parametrize("first", ["inbox", "email"])
def test_it_goes_to_the_first_channel_in_order(first: str) -> None:
    user = make_user()
    channels = [make_channel(user), make_channel(user, "email")]
    order = [one.id for one in sorted(channels, key=lambda one: one.provider != first)]
    make_schedule(user, channels, channel_order=order, escalate_after=5, early=[10])
    assert send_due(before(10)) == 1
    [one] = Notification.objects.all()
    assert (one.deliveries.get().provider, one.escalate_after, len(one.channel_order)) == (first, None, 2)


def test_a_crash_before_the_commit_leaves_it_due_and_a_copy_of_the_database_makes_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schedule = make()
    with monkeypatch.context() as broken:
        broken.setattr(fault_points, "reach", _fail)
        with pytest.raises(_Crash):
            send_due(before(120))
    assert (sent(), next_early(schedule)) == ([], before(120))
    assert send_due(before(120)) == 1
    made = Notification.objects.get()
    Notification.objects.all().delete()
    Schedule.objects.update(next_early_at=before(120))
    assert send_due(before(119)) == 1
    assert Notification.objects.get().id == made.id
    Schedule.objects.update(next_early_at=before(120))
    send_due(before(119))
    assert Notification.objects.count() == 1


class _Crash(BaseException):
    pass


def _fail(point: str) -> None:
    raise _Crash


def test_one_that_the_database_refuses_keeps_no_other_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    bad, _good = make(title="Bad"), make()
    record = outbox.record

    def refusing(new: Any) -> Any:
        if any("Bad" in one.subject for one in new):
            raise ValueError
        return record(new)

    monkeypatch.setattr(early_messages.outbox, "record", refusing)
    assert send_due(before(120)) == 1
    assert (sent(), next_early(bad)) == ([(120, "In 2 hours: Water the plants")], None)


def test_many_ring_in_a_fixed_number_of_statements(django_assert_num_queries: Any) -> None:
    user = make_user()
    inbox = make_channel(user)
    for _ in range(5):
        make_schedule(user, [inbox], early=[120])
    with django_assert_num_queries(7):  # a savepoint and its release, the due, channels, holidays, both writes
        assert send_due(before(120)) == 5


@pytest.mark.django_db(transaction=True)
def test_two_at_once_send_it_once() -> None:
    make()
    barrier, recorded = threading.Barrier(2), []

    def send() -> None:
        barrier.wait(10)
        recorded.append(send_due(before(120)))
        connections.close_all()

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (sorted(recorded), len(sent())) == ([0, 1], 1)


@pytest.mark.django_db(transaction=True)
def test_one_that_somebody_edits_at_this_moment_is_left_out() -> None:
    schedule = make()
    with locked("schedules_schedule", schedule.id), impatient():
        assert send_due(before(120)) == 0
    assert send_due(before(120)) == 1
