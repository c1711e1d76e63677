"""A reminder that counts from Done: it waits after each slot that fires, and Done sets the next one, once."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from notifications.deliveries import acknowledge
from notifications.models import Notification
from people.models import User
from schedules.changes import answers, bulk, editing
from schedules.changes.bulk import Action
from schedules.explain import history
from schedules.firing import fire
from schedules.inputs.reminder_form import ReminderForm
from schedules.models import Schedule, ScheduleEvent
from tests.db.locks import locked, wait_for_a_lock
from tests.make import NINE, NOON, edit_schedule, make_channel, make_schedule, make_user

_State = Schedule.State
THREE_DAYS = {"every": 3, "unit": "days", "anchor": NINE.isoformat()}


def make(user: User | None = None, **overrides: Any) -> Schedule:
    fields: dict[str, Any] = {"kind": "interval", "rule": THREE_DAYS, "after_done": True}
    return make_schedule(user or make_user(), **(fields | overrides))


def fired(**overrides: Any) -> Schedule:
    """One that has rung at 09:00."""
    schedule = make(**overrides)
    assert fire.fire_due(NINE) == 1
    return now_of(schedule)


def now_of(schedule: Schedule) -> Schedule:
    return Schedule.objects.get(id=schedule.id)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """The database's time as Done reads it: the last of these."""
    times = [NINE + timedelta(days=1, hours=2)]
    monkeypatch.setattr(fire, "read_clock", lambda: fire.Clock(times[-1], None))
    return times


pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def answer() -> bool:
    return acknowledge.acknowledge(Notification.objects.latest("id").id)


def test_it_waits_until_it_is_done_and_counts_from_then() -> None:
    schedule = fired()
    assert (schedule.state, schedule.next_fire_at, schedule.fired_count) == (_State.AWAITING, None, 1)
    assert fire.fire_due(NINE + timedelta(days=30)) == 0
    assert not history.coming(schedule, NINE + timedelta(days=1))
    assert answer()
    schedule = now_of(schedule)
    assert (schedule.state, schedule.next_fire_at) == (_State.ACTIVE, NINE + timedelta(days=4))
    assert [one.slot for one in history.coming(schedule, NINE + timedelta(days=1))] == [NINE + timedelta(days=4)]
    [event] = ScheduleEvent.objects.filter(what="done")
    assert event.detail["was"]["rule"] == THREE_DAYS


def test_done_twice_counts_once(clock: list[datetime]) -> None:
    schedule = fired()
    assert answer()
    clock.append(clock[-1] + timedelta(days=1))
    assert not answer()
    assert not answers.done(now_of(schedule), clock[-1], schedule.user, Notification.AnsweredFrom.PAGE)
    assert now_of(schedule).next_fire_at == NINE + timedelta(days=4)


def test_undo_waits_again_and_done_counts_anew(clock: list[datetime]) -> None:
    schedule = fired()
    answer()
    assert acknowledge.undo(Notification.objects.get().id) is not None
    undone = now_of(schedule)
    assert (undone.state, undone.next_fire_at, undone.rule) == (_State.AWAITING, None, THREE_DAYS)
    clock.append(clock[-1] + timedelta(days=2))
    answer()
    assert now_of(schedule).next_fire_at == NINE + timedelta(days=6)


def test_undo_changes_nothing_once_it_was_edited_or_has_rung(clock: list[datetime]) -> None:
    schedule = fired()
    answer()
    first = Notification.objects.get()
    edited = edit_schedule(now_of(schedule), clock[-1], kind="daily", rule={"time": "10:00"})
    acknowledge.undo(first.id)
    assert now_of(schedule).next_fire_at == edited.next_fire_at
    acknowledge.acknowledge(first.id)
    assert fire.fire_due(edited.next_fire_at or NINE) == 1
    acknowledge.undo(first.id)
    assert now_of(schedule).state == _State.AWAITING
    assert ScheduleEvent.objects.filter(what="undone").count() == 0


def test_the_undo_of_another_message_leaves_the_date(clock: list[datetime]) -> None:
    schedule = fired()
    editing.run_now(schedule.id, clock[-1], schedule.user)
    by_hand = Notification.objects.latest("id")
    acknowledge.acknowledge(by_hand.id)
    assert now_of(schedule).next_fire_at == NINE + timedelta(days=4)
    first = Notification.objects.earliest("id")
    acknowledge.acknowledge(first.id)
    acknowledge.undo(first.id)
    assert now_of(schedule).next_fire_at == NINE + timedelta(days=4)


def test_a_snoozed_message_still_waits() -> None:
    schedule = fired()
    acknowledge.snooze(Notification.objects.get().id, timezone.now() + timedelta(hours=1))
    assert now_of(schedule).state == _State.AWAITING
    answer()
    assert now_of(schedule).next_fire_at == NINE + timedelta(days=4)


@pytest.mark.parametrize(
    ("limits", "state_after_firing", "state_after_done"),
    [
        ({"max_count": 1}, _State.FINISHED, _State.FINISHED),
        ({"max_count": 2}, _State.AWAITING, _State.ACTIVE),
        ({"ends_at": NINE + timedelta(days=2)}, _State.FINISHED, _State.FINISHED),
        ({"ends_at": NINE + timedelta(days=3)}, _State.AWAITING, _State.FINISHED),
    ],
    ids=["once", "twice", "ends before the next", "done too late"],
)
def test_what_has_no_next_time_ends(limits: dict[str, Any], state_after_firing: str, state_after_done: str) -> None:
    schedule = fired(**limits)
    assert schedule.state == state_after_firing
    answer()
    assert now_of(schedule).state == state_after_done


def test_a_finished_one_waits_again_after_undo() -> None:
    schedule = fired(ends_at=NINE + timedelta(days=3))
    answer()
    acknowledge.undo(Notification.objects.get().id)
    assert now_of(schedule).state == _State.AWAITING


def test_after_downtime_it_rings_once() -> None:
    schedule = make(misfire="all")
    assert fire.fire_due(NINE + timedelta(days=10)) == 1
    assert (Notification.objects.count(), now_of(schedule).state) == (1, _State.AWAITING)


def test_a_slot_that_is_not_sent_is_not_waited_for() -> None:
    schedule = make(channels=[])
    fire.fire_due(NINE)
    assert now_of(schedule).next_fire_at == NINE + timedelta(days=3)


def test_a_skipped_slot_is_followed_by_the_next_one() -> None:
    schedule = make()
    assert editing.skip_next(schedule.id, NINE, NOON).next_fire_at == NINE + timedelta(days=3)


def test_it_waits_again_after_a_pause_that_is_undone(clock: list[datetime]) -> None:
    schedule = fired()
    user = schedule.user
    own = Schedule.objects.filter(id=schedule.id)
    assert not bulk.apply(own, Action.PAUSE, clock[-1], user)[1]
    assert bulk.undo(user, Action.PAUSE, clock[-1], clock[-1]) == 1
    assert now_of(schedule).state == _State.AWAITING


def test_it_waits_again_once_it_is_resumed(clock: list[datetime]) -> None:
    schedule = fired()
    editing.pause(schedule.id, clock[-1])
    edited = now_of(schedule)
    edited.title = "Flowers"
    editing.reschedule(edited, clock[-1])
    editing.archive(schedule.id, clock[-1])
    editing.unarchive(schedule.id, clock[-1])
    for _ in range(2):  # also where it waits already
        resumed = editing.resume(schedule.id, clock[-1])
        assert (resumed.state, resumed.next_fire_at) == (_State.AWAITING, None)
    assert answer()
    assert now_of(schedule).next_fire_at == NINE + timedelta(days=4)
    editing.snooze(schedule.id, NINE + timedelta(days=9), clock[-1])
    assert editing.resume(schedule.id, clock[-1]).next_fire_at == NINE + timedelta(days=4)
    editing.pause(schedule.id, clock[-1])
    assert editing.resume(schedule.id, clock[-1]).next_fire_at == NINE + timedelta(days=4)


def test_done_counts_during_a_pause_and_its_undo_waits_again(clock: list[datetime]) -> None:
    schedule = fired()
    editing.pause(schedule.id, clock[-1])
    assert answer()
    assert (now_of(schedule).state, now_of(schedule).next_fire_at) == (_State.PAUSED, None)
    assert editing.resume(schedule.id, clock[-1]).next_fire_at == NINE + timedelta(days=4)
    assert fire.fire_due(NINE + timedelta(days=4)) == 1
    clock.append(NINE + timedelta(days=5))
    editing.pause(schedule.id, clock[-1])
    assert answers.done(now_of(schedule), clock[-1], schedule.user, Notification.AnsweredFrom.PAGE)
    assert answers.undo_done(now_of(schedule), clock[-1], schedule.user)
    assert now_of(schedule).state == _State.PAUSED
    assert editing.resume(schedule.id, clock[-1]).state == _State.AWAITING


def test_a_paused_one_that_did_not_wait_stays_as_it_is(clock: list[datetime]) -> None:
    schedule = fired()
    answer()
    before = editing.pause(schedule.id, clock[-1])
    assert editing.done(schedule.id, clock[-1]).version == before.version


def test_a_pause_that_is_repeated_forgets_nothing(clock: list[datetime]) -> None:
    schedule = fired()
    version = editing.pause(schedule.id, clock[-1]).version
    assert editing.pause(schedule.id, clock[-1]).version == version  # in a second tab
    assert editing.resume(schedule.id, clock[-1]).state == _State.AWAITING


@pytest.mark.parametrize("change", [{"kind": "daily", "rule": {"time": "09:00"}}, {"after_done": False}])
def test_a_new_timing_during_a_pause_goes_on_with_the_rule(clock: list[datetime], change: dict[str, Any]) -> None:
    schedule = fired()
    editing.pause(schedule.id, clock[-1])
    edit_schedule(now_of(schedule), clock[-1], **change)
    assert editing.resume(schedule.id, clock[-1]).state == _State.ACTIVE


def test_many_are_resumed_with_one_statement_more(clock: list[datetime]) -> None:
    user = make_user()
    channels = [make_channel(user)]
    waiting = [make(user, channels=channels), make(user, channels=channels)]
    assert fire.fire_due(NINE) == 2
    other = make(user, channels=channels, rule=THREE_DAYS | {"anchor": (NINE + timedelta(days=2)).isoformat()})
    own = Schedule.objects.filter(user=user)
    bulk.apply(own, Action.PAUSE, clock[-1], user)
    with CaptureQueriesContext(connection) as asked:
        bulk.apply(own, Action.RESUME, clock[-1], user)
    assert sum(one["sql"].startswith("SELECT DISTINCT ON") for one in asked) == 1
    assert [now_of(one).state for one in (*waiting, other)] == [_State.AWAITING, _State.AWAITING, _State.ACTIVE]


def test_done_of_the_reminder_is_done_of_its_message(clock: list[datetime]) -> None:
    schedule = fired()
    assert answers.done(schedule, clock[-1], schedule.user, Notification.AnsweredFrom.PAGE)
    assert Notification.objects.get().answered_from == "page"
    assert answers.undo_done(now_of(schedule), clock[-1], schedule.user)
    assert now_of(schedule).state == _State.AWAITING


def test_it_can_be_done_without_its_message(clock: list[datetime]) -> None:
    schedule = fired()
    Notification.objects.all().delete()
    assert answers.done(schedule, clock[-1], schedule.user, Notification.AnsweredFrom.PAGE)
    assert now_of(schedule).next_fire_at == NINE + timedelta(days=4)
    assert not answers.done(now_of(schedule), clock[-1], schedule.user, Notification.AnsweredFrom.PAGE)
    assert answers.undo_done(now_of(schedule), clock[-1], schedule.user)
    assert not answers.undo_done(now_of(schedule), clock[-1], schedule.user)
    assert now_of(schedule).state == _State.AWAITING


def test_a_deleted_one_stays_as_it_is(clock: list[datetime]) -> None:
    schedule = fired()
    editing.delete(schedule.id, clock[-1])
    answer()
    assert now_of(schedule).next_fire_at is None
    assert editing.restore(schedule.id, clock[-1]).state == _State.AWAITING


def test_an_unreadable_rule_breaks_it_alone(clock: list[datetime]) -> None:
    schedule = fired()
    Schedule.objects.filter(id=schedule.id).update(rule={"every": "often"})
    assert answer()
    assert now_of(schedule).state == _State.BROKEN


@pytest.mark.django_db(transaction=True)
def test_two_at_once_count_once(clock: list[datetime]) -> None:
    schedule = fired()
    message = Notification.objects.get().id
    first: list[bool] = []

    def press() -> None:
        first.append(acknowledge.acknowledge(message))
        connections.close_all()

    with locked("schedules_schedule", schedule.id):
        threads = [threading.Thread(target=press) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_for_a_lock()
    for thread in threads:
        thread.join()
    assert sorted(first) == [False, True]
    assert ScheduleEvent.objects.filter(what="done").count() == 1


def typed(**fields: Any) -> ReminderForm:
    user = make_user()
    channel = make_channel(user)
    data = {"title": "Water", "channels": [channel.id], "time_zone": "UTC", "after_done": "on"} | fields
    return ReminderForm(data, user=user, now=NOON)


def test_the_form_takes_a_step_and_refuses_dates_and_checks() -> None:
    form = typed(kind="daily", time="09:00", step="3")
    assert form.is_valid(), form.errors
    assert form.as_schedule().when == "Every 3 days at 09:00, counted from Done, UTC"
    dates = typed(kind="weekly", time="09:00", days=["0", "3"])
    assert not dates.is_valid()
    assert dates.has_error("after_done", "no_step")
    checks = typed(kind="daily", time="09:00", job_kind="web_value")
    assert not checks.is_valid()
    assert checks.has_error("after_done", "checks_first")


def test_only_the_first_slot_is_known_beforehand() -> None:
    form = typed(kind="daily", time="09:00")
    assert form.is_valid()
    assert len(form.upcoming(5, lambda slot: None)) == 1
