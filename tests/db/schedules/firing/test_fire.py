"""fire_due: every slot of an active schedule ends in exactly one occurrence, by statements whose number is fixed."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
import redis
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django_celery_beat.models import PeriodicTask

from common.database.postgres import query
from common.uuid7 import uuid7
from notifications.models import Delivery, Notification
from schedules.changes import editing
from schedules.firing import due, fire, sending
from schedules.models import Occurrence, Schedule
from tests.db.locks import impatient, locked
from tests.make import NINE, NOON, make_channel, make_schedule, make_user, without_triggers
from work.broker.wakes import Wake


def outcomes(schedule: Schedule) -> list[tuple[datetime, str, str]]:
    return list(schedule.occurrences.order_by("scheduled_for").values_list("scheduled_for", "outcome", "reason"))


def test_a_due_slot_becomes_an_occurrence_a_notification_and_a_delivery_a_channel() -> None:
    user = make_user()
    schedule = make_schedule(user, [make_channel(user), make_channel(user, "email")])
    assert fire.fire_due(NINE) == 1
    [occurrence] = Occurrence.objects.all()
    [notification] = Notification.objects.all()
    assert (occurrence.scheduled_for, occurrence.outcome, occurrence.reason) == (NINE, "fired", "")
    assert notification.batch_id == occurrence.id
    assert (notification.subject, notification.slot, notification.origin_id) == ("Water the plants", NINE, schedule.id)
    assert sorted(Delivery.objects.values_list("provider", "state")) == [("email", "pending"), ("inbox", "pending")]
    schedule.refresh_from_db()
    assert schedule.next_fire_at == NINE + timedelta(days=1)
    assert schedule.fired_count == 1


def test_a_slot_is_not_fired_before_its_time() -> None:
    make_schedule(make_user())
    assert fire.fire_due(NINE - timedelta(microseconds=1)) == 0
    assert not Occurrence.objects.exists()


def test_firing_again_at_the_same_instant_does_nothing() -> None:
    make_schedule(make_user())
    assert (fire.fire_due(NINE), fire.fire_due(NINE)) == (1, 0)
    assert Delivery.objects.count() == 1


def test_a_recorded_slot_is_not_sent_again(schedule: Schedule) -> None:
    fire.fire_due(NINE)
    Schedule.objects.filter(id=schedule.id).update(next_fire_at=NINE)  # as if the advance had been undone
    fire.fire_due(NINE)
    assert Occurrence.objects.count() == Notification.objects.count() == Delivery.objects.count() == 1
    schedule.refresh_from_db()
    assert (schedule.fired_count, schedule.next_fire_at) == (1, NINE + timedelta(days=1))


def test_a_one_off_fires_once_is_finished_and_says_when_it_was_late() -> None:
    schedule = make_schedule(make_user(), kind="once", rule={"at": "2026-06-02T09:00:00"})
    fire.fire_due(NINE + timedelta(hours=5))
    schedule.refresh_from_db()
    assert (schedule.state, schedule.next_fire_at) == ("finished", None)
    assert outcomes(schedule) == [(NINE, "fired", "late")]


@pytest.mark.parametrize(("policy", "fired"), [("latest", 1), ("all", 5), ("skip", 0)])
def test_missed_slots_are_all_recorded_and_sent_by_the_policy(policy: str, fired: int) -> None:
    schedule = make_schedule(make_user(), misfire=policy)
    fire.fire_due(NINE + timedelta(days=4, hours=1))
    slots = [NINE + timedelta(days=day) for day in range(5)]
    assert outcomes(schedule) == [
        (slot, "fired", "late") if index >= 5 - fired else (slot, "skipped", "misfire")
        for index, slot in enumerate(slots)
    ]
    assert Delivery.objects.count() == fired
    schedule.refresh_from_db()
    assert schedule.next_fire_at == NINE + timedelta(days=5)


def test_a_long_outage_is_caught_up_in_steps_without_losing_a_slot() -> None:
    schedule = make_schedule(
        make_user(),
        kind="interval",
        rule={"every": 1, "unit": "minutes", "anchor": "2026-06-01T12:00:00+00:00"},
        misfire="all",
    )
    end = NOON + timedelta(minutes=3500, seconds=1)
    steps = 0
    while fire.fire_due(end):
        steps += 1
    assert steps == 3
    assert schedule.occurrences.count() == 3500
    assert schedule.occurrences.filter(outcome="fired").count() == 100 + 1  # the newest slot is within its grace
    newest = schedule.occurrences.filter(outcome="fired").order_by("scheduled_for").first()
    assert newest is not None
    assert newest.scheduled_for == NOON + timedelta(minutes=3400)


def every_minute(**overrides: Any) -> Schedule:
    rule = {"every": 1, "unit": "minutes", "anchor": "2026-06-01T12:00:00+00:00"}
    return make_schedule(make_user(), kind="interval", rule=rule, **overrides)


def days_off(*schedules: Schedule, minutes: int) -> list[int]:
    """Fire after so long without a beat, in ticks; returns how many reminders each tick sent."""
    sent = [0]
    while fire.fire_due(NOON + timedelta(minutes=minutes, seconds=1)):
        sent.append(Notification.objects.count())
    return [after - before for before, after in pairwise(sent)]


def test_what_is_within_its_grace_is_all_sent_a_hundred_a_tick() -> None:
    schedule = every_minute(grace=7 * 86_400)
    assert days_off(schedule, minutes=2_880) == [100] * 28 + [80]
    assert set(schedule.occurrences.values_list("outcome", "reason")) == {("fired", "")}
    assert schedule.occurrences.count() == 2_880


@pytest.mark.parametrize(("policy", "late"), [("latest", 0), ("all", 100), ("skip", 0)])
def test_missed_slots_before_those_within_their_grace_follow_the_policy(policy: str, late: int) -> None:
    schedule = every_minute(grace=250 * 60, misfire=policy)
    sent = days_off(schedule, minutes=2_500)
    assert sum(sent) == 250 + late
    assert max(sent) == 100 + late
    assert schedule.occurrences.filter(outcome="skipped", reason="misfire").count() == 2_250 - late
    fired = schedule.occurrences.filter(outcome="fired").order_by("scheduled_for")
    assert [slot for (slot,) in fired.values_list("scheduled_for")] == [
        NOON + timedelta(minutes=minute) for minute in range(2_251 - late, 2_501)
    ]


@pytest.mark.parametrize(("slots", "sent"), [(150, [200, 200]), (200, [200, 200]), (201, [300, 100])])
def test_a_batch_ends_where_it_would_hold_up_the_heartbeats_of_its_beat(
    slots: int, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fire, "SLOTS_PER_BATCH", slots)
    schedules = [every_minute(grace=86_400) for _ in range(4)]
    assert days_off(*schedules, minutes=100) == sent
    assert [schedule.occurrences.count() for schedule in schedules] == [100] * 4


def test_a_batch_that_failed_fires_alone_only_for_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        make_schedule(make_user())
    monkeypatch.setattr(due, "_ALONE", -1.0)
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(fire, "_fire", fails_in_batches(fire._fire))
        assert [fire.fire_due(NINE) for _ in range(4)] == [1, 1, 1, 0]
    assert Occurrence.objects.count() == 3


def fails_in_batches(real: Any) -> Any:
    def _fire(locked: Any, *rest: Any) -> Any:
        if len(locked) > 1:
            raise ValueError
        return real(locked, *rest)

    return _fire


def test_a_maximum_count_finishes_the_schedule() -> None:
    schedule = make_schedule(make_user(), max_count=2, misfire="all")
    fire.fire_due(NINE + timedelta(days=6))
    schedule.refresh_from_db()
    assert (schedule.state, schedule.fired_count, schedule.occurrences.count()) == ("finished", 2, 2)


def test_a_slot_that_is_still_skipped_is_passed_by_and_does_not_count() -> None:
    schedule, day = make_schedule(make_user(), max_count=2), timedelta(days=1)
    editing.skip_next(schedule.id, NINE, NOON)
    editing.skip_next(schedule.id, NINE + day, NOON)
    editing.unskip(schedule.id, NINE, NOON)
    fire.fire_due(NINE)
    schedule.refresh_from_db()
    assert (schedule.next_fire_at, schedule.fired_count) == (NINE + 2 * day, 1)
    fire.fire_due(NINE + 2 * day)
    schedule.refresh_from_db()
    assert (schedule.state, schedule.fired_count) == ("finished", 2)


def test_a_schedule_without_a_channel_records_why_nothing_went_out() -> None:
    schedule = make_schedule(make_user(), [])
    fire.fire_due(NINE)
    assert outcomes(schedule) == [(NINE, "skipped", "no-channel")]
    assert not Notification.objects.exists()


def test_a_slot_that_is_due_fires_although_the_one_after_it_takes_too_long_to_find() -> None:
    far = "DTSTART:20260602T090000\nRRULE:FREQ=DAILY;INTERVAL=997;BYMONTH=6;BYMONTHDAY=2;BYDAY=TU"
    schedule = make_schedule(make_user(), kind="rrule", rule={"rule": far})
    fire.fire_due(NINE)
    schedule.refresh_from_db()
    assert outcomes(schedule) == [(NINE, "fired", "")]
    assert (schedule.state, schedule.next_fire_at, schedule.fired_count) == ("broken", None, 1)


def test_a_slot_whose_rule_cannot_be_read_is_recorded_and_sends_nothing() -> None:
    schedule = make_schedule(make_user())
    Schedule.objects.filter(id=schedule.id).update(rule={"time": "25:00"})
    fire.fire_due(NINE)
    assert outcomes(schedule) == [(NINE, "skipped", "broken")]
    assert not Notification.objects.filter(origin="schedule").exists()


def test_a_schedule_that_the_database_refuses_is_quarantined_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    poisoned, sound = make_schedule(make_user(), title="poison"), make_schedule(make_user())
    compose = sending.text.compose

    def poison(title: str, body: str, **values: Any) -> Any:
        return compose("\0" if title == "poison" else title, body, **values)

    monkeypatch.setattr(sending.text, "compose", poison)  # PostgreSQL stores no NUL
    fire.fire_due(NINE)
    poisoned.refresh_from_db()
    assert poisoned.state == "broken"
    assert outcomes(sound) == [(NINE, "fired", "")]


def test_a_schedule_that_cannot_be_quarantined_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    damaged, sound = make_schedule(make_user(), title="damaged"), make_schedule(make_user())

    def fail(*values: Any, **named: Any) -> Any:
        if values[0] in ("damaged", damaged.id):
            raise ValueError
        return compose(*values, **named)

    compose = sending.text.compose
    monkeypatch.setattr(sending.text, "compose", fail)
    monkeypatch.setattr(fire.quarantine, "quarantine", fail)
    assert fire.fire_due(NINE) == 1
    assert outcomes(sound) == [(NINE, "fired", "")]


def test_a_schedule_that_is_not_due_any_more_is_not_quarantined(schedule: Schedule) -> None:
    assert not fire.quarantine.quarantine(schedule.id, NINE - timedelta(seconds=1), ValueError("damaged"))
    schedule.refresh_from_db()
    assert (schedule.state, outcomes(schedule)) == ("active", [])
    assert fire.quarantine.quarantine(schedule.id, NINE, ValueError("damaged"))
    assert not PeriodicTask.objects.get(id=schedule.periodic_task_id).enabled


def test_an_unreadable_instant_of_an_occurrence_does_not_stop_its_schedule(schedule: Schedule) -> None:
    editing.run_now(schedule.id, NOON)
    with without_triggers(), connection.cursor() as cursor:
        cursor.execute("UPDATE schedules_occurrence SET scheduled_for = 'infinity'")
    fire.fire_due(NINE)
    schedule.refresh_from_db()
    assert (schedule.state, schedule.fired_count) == ("active", 1)


def test_spread_moves_the_delivery_and_never_the_slot() -> None:
    schedule = make_schedule(make_user(), spread=600)
    fire.fire_due(NINE)
    delivery = Delivery.objects.get()
    offset = sending.spread_of(schedule.id, NINE, 600)
    assert timedelta(0) <= offset < timedelta(seconds=600)
    assert offset == sending.spread_of(schedule.id, NINE, 600)
    assert Occurrence.objects.get().scheduled_for == NINE
    assert delivery.available_at >= NINE + offset


def test_the_number_of_statements_does_not_grow_with_the_batch() -> None:
    counts = []
    for size in (1, 500):
        for _ in range(size):
            user = make_user(password=None)
            make_schedule(user)
        with CaptureQueriesContext(connection) as queries:
            assert fire.fire_due(NINE) == size
        counts.append(len(queries))
        Schedule.objects.all().delete()
    assert counts[0] == counts[1] <= 10


def test_firing_the_last_slot_disables_the_row_of_its_schedule() -> None:
    schedule, last = make_schedule(make_user()), make_schedule(make_user(), max_count=1)
    fire.fire_due(NINE)
    assert schedule.periodic_task is not None and last.periodic_task is not None
    schedule.periodic_task.refresh_from_db()
    last.periodic_task.refresh_from_db()
    assert (schedule.periodic_task.enabled, last.periodic_task.enabled) == (True, False)


@pytest.mark.django_db(transaction=True)
def test_four_beats_at_once_record_each_slot_once() -> None:
    user = make_user()
    channel = make_channel(user)
    for _ in range(60):
        make_schedule(user, [channel])

    def beat() -> None:
        try:
            while fire.fire_due(NINE, limit=7):
                pass
        finally:
            connections.close_all()

    beats = [threading.Thread(target=beat) for _ in range(4)]
    for thread in beats:
        thread.start()
    for thread in beats:
        thread.join()
    assert Occurrence.objects.count() == Notification.objects.count() == Delivery.objects.count() == 60


def test_missed_slots_of_several_reminders_are_published_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[Wake] = []
    monkeypatch.setattr(fire, "publish_after_commit", published.extend)
    for minutes in (60, 45):
        rule = {"every": minutes, "unit": "minutes", "anchor": "2026-06-01T12:00:00+00:00"}
        make_schedule(make_user(), kind="interval", misfire="all", rule=rule)
    fire.fire_due(NOON + timedelta(hours=3, minutes=20))
    slots = [Delivery.objects.get(id=wake.id).notification.slot for wake in published]
    assert slots == [NOON + timedelta(minutes=minute) for minute in (45, 60, 90, 120, 135, 180, 180)]


@pytest.mark.django_db(transaction=True)
def test_what_fires_is_published_after_its_commit(broker: redis.Redis) -> None:
    schedule = make_schedule(make_user())
    assert (fire.fire_due(NINE), broker.llen("carillon:deliveries")) == (1, 1)
    editing.run_now(schedule.id, NINE + timedelta(minutes=1))
    assert broker.llen("carillon:deliveries") == 2


def test_it_is_counted_and_dated_when_a_slot_fires(schedule: Schedule) -> None:
    editing.skip_next(schedule.id, NINE, NOON)
    Schedule.objects.update(next_fire_at=NINE + timedelta(days=1), fired_count=2_147_483_646)
    for day, count in ((1, 2_147_483_647), (2, 2_147_483_647)):
        fire.fire_due(NINE + timedelta(days=day))
        schedule.refresh_from_db()
        assert (schedule.fired_count, schedule.manual_count) == (count, 0)
    [now] = query("SELECT now() AS at", [])
    assert schedule.last_fired_at == now.at


def test_a_slot_that_is_missed_leaves_the_count_and_the_date(schedule: Schedule) -> None:
    Schedule.objects.update(misfire="skip")
    fire.fire_due(NINE + timedelta(hours=5))
    schedule.refresh_from_db()
    assert (schedule.fired_count, schedule.last_fired_at) == (0, None)


def test_a_manual_run_is_counted_apart_and_dated(schedule: Schedule) -> None:
    run_id = uuid7()
    for _ in range(2):
        editing.run_now(schedule.id, NOON, occurrence_id=run_id)
    schedule.refresh_from_db()
    assert (schedule.manual_count, schedule.fired_count, schedule.next_fire_at) == (1, 0, NINE)
    assert schedule.last_fired_at is not None
    assert outcomes(schedule) == [(NOON, "fired", "manual")]


def test_a_clock_says_how_long_it_is_to_the_next_slot() -> None:
    assert fire.Clock(NOON, NOON + timedelta(seconds=5)).seconds_to_next == 5.0
    assert fire.Clock(NOON, None).seconds_to_next is None


@pytest.mark.django_db(transaction=True)
def test_a_locked_reminder_delays_no_other() -> None:
    schedule, _ = make_schedule(make_user()), make_schedule(make_user())
    with locked("schedules_schedule", schedule.id), impatient():
        assert (fire.fire_due(NINE), fire.fire_due(NINE)) == (1, 0)
        assert not fire.quarantine.quarantine(schedule.id, NINE, ValueError("damaged"))
    assert fire.fire_due(NINE) == 1


def test_the_oldest_slot_is_read_and_fired_first() -> None:
    later, first = make_schedule(make_user(), rule={"time": "10:00"}), make_schedule(make_user())
    assert fire.read_clock().next_due == first.next_fire_at
    assert fire.fire_due(NINE + timedelta(hours=1), limit=1) == 1
    assert Occurrence.objects.get().schedule_id == first.id != later.id


def test_reminders_without_a_spread_of_their_own_are_put_off_by_that_of_the_installation(settings: Any) -> None:
    settings.DEFAULT_SPREAD = (30, 50)
    usual, urgent, own = (
        due.as_if_due(make_schedule(make_user(), **how).id, NINE)._replace(urgent="urgent" in how)
        for how in ({}, {"urgent": True}, {"spread": 5})
    )
    slots = [NINE + timedelta(minutes=number) for number in range(500)]
    assert {sending._spread(usual, slot).total_seconds() for slot in slots} == {*range(30, 51)}
    assert sending._spread(urgent, NINE).total_seconds() == 0
    assert sending._spread(own, NINE).total_seconds() < 5
