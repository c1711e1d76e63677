"""Schedules are paused and resumed, their rows in celery-beat are read-only; channels are disabled with a reason."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages
from django.test import Client
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from notifications.models import Channel, Delivery
from schedules import tasks as schedule_tasks
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from tests.make import make_channel, make_delivery, make_schedule, make_user

SCHEDULES, TASKS = "/admin/schedules/schedule/", "/admin/django_celery_beat/periodictask/"


@pytest.fixture
def stock() -> PeriodicTask:
    every = IntervalSchedule.objects.create(every=5, period="minutes")
    return PeriodicTask.objects.create(name="tidy", task="work.rescue", interval=every)


def act(client: Client, where: str, action: str, keys: Iterable[Any], **fields: str) -> str:
    answer = client.post(where, {"action": action, "_selected_action": [str(key) for key in keys], **fields})
    assert answer.status_code == 302, answer.content[:500]
    return str(list(get_messages(answer.wsgi_request))[-1])


def both(schedule: Schedule) -> tuple[str, bool, bool]:
    """The schedule's state, whether it has a next slot, and whether its row is enabled."""
    found = Schedule.objects.select_related("periodic_task").get(pk=schedule.pk)
    assert found.periodic_task is not None
    return found.state, found.next_fire_at is not None, found.periodic_task.enabled


ON, OFF = ("active", True, True), ("paused", False, False)


def test_pausing_and_resuming_a_schedule_switches_its_row(operator: Client, schedule: Schedule) -> None:
    assert act(operator, SCHEDULES, "pause", [schedule.pk]) == "1 paused."
    assert both(schedule) == OFF
    assert act(operator, SCHEDULES, "resume", [schedule.pk]) == "1 resumed."
    assert both(schedule) == ON
    assert list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True)) == ["Paused.", "Resumed."]
    events = schedule.events.order_by("id").values_list("what", "by__email")
    assert list(events)[-2:] == [("paused", "operator@example.org"), ("resumed", "operator@example.org")]


def test_pausing_cancels_what_waits(operator: Client, schedule: Schedule) -> None:
    waiting = make_delivery(schedule.channels.get(), origin_id=schedule.pk)
    act(operator, SCHEDULES, "pause", [schedule.pk])
    assert Delivery.objects.get(pk=waiting.pk).state == "cancelled"


def test_only_the_selected_are_paused_and_what_cannot_be_is_told(operator: Client, schedule: Schedule) -> None:
    other, gone = make_schedule(schedule.user, []), make_schedule(schedule.user, [])
    Schedule.objects.filter(pk=gone.pk).update(deleted_at=gone.created_at, next_fire_at=None)
    told = act(operator, SCHEDULES, "pause", [schedule.pk, gone.pk])
    assert told.startswith("1 paused. 1 skipped")
    assert both(other) == ON


def test_a_broken_schedule_that_still_cannot_be_read_stays_broken(operator: Client, schedule: Schedule) -> None:
    Schedule.objects.filter(pk=schedule.pk).update(state="broken", next_fire_at=None, rule={"time": "25:00"})
    told = act(operator, SCHEDULES, "resume", [schedule.pk])
    assert told.startswith("0 resumed.")
    assert Schedule.objects.get(pk=schedule.pk).state == "broken"


@pytest.mark.parametrize(
    ("action", "enabled"), [("disable_tasks", False), ("toggle_tasks", False), ("enable_tasks", True)]
)
def test_the_row_of_a_schedule_is_not_switched_and_the_message_says_what_to_do(
    operator: Client, schedule: Schedule, stock: PeriodicTask, action: str, enabled: bool
) -> None:
    assert "resume a schedule in the list of schedules" in act(operator, TASKS, action, [schedule.periodic_task_id])
    act(operator, TASKS, action, [schedule.periodic_task_id, stock.pk])
    stock.refresh_from_db()
    assert (both(schedule), stock.enabled) == (ON, enabled)


def test_the_page_of_a_schedules_row_is_read_only_and_links_to_the_schedule(
    operator: Client, schedule: Schedule
) -> None:
    page = f"{TASKS}{schedule.periodic_task_id}/change/"
    before = PeriodicTask.objects.values().get()
    shown = operator.get(page).content.decode()
    assert f"{SCHEDULES}{schedule.pk}/change/" in shown
    assert 'name="enabled"' not in shown
    assert operator.post(page, {"name": "Mine", "task": "evil", "args": "[1]"}).status_code == 403
    assert PeriodicTask.objects.values().get() == before


def test_a_schedules_row_shows_the_schedules_own_numbers(operator: Client, schedule: Schedule) -> None:
    Schedule.objects.filter(pk=schedule.pk).update(fired_count=4321)
    PeriodicTask.objects.filter(pk=schedule.periodic_task_id).update(enabled=False, total_run_count=77)
    row = operator.get(TASKS).content.decode()
    assert "4321" in row and ">77<" not in row


def test_a_schedules_row_is_not_deleted_by_hand(operator: Client, schedule: Schedule, stock: PeriodicTask) -> None:
    assert operator.post(f"{TASKS}{schedule.periodic_task_id}/delete/", {"post": "yes"}).status_code == 403
    operator.post(TASKS, {"action": "delete_selected", "_selected_action": schedule.periodic_task_id, "post": "yes"})
    assert PeriodicTask.objects.count() == 2
    assert operator.post(f"{TASKS}{stock.pk}/delete/", {"post": "yes"}).status_code == 302
    assert PeriodicTask.objects.count() == 1


def test_running_a_schedules_row_goes_through_the_claim_and_fires_a_slot_once(
    operator: Client, schedule: Schedule
) -> None:
    due = fire.read_clock().now - timedelta(seconds=1)
    Schedule.objects.filter(pk=schedule.pk).update(next_fire_at=due)
    queue = f"test-{schedule.pk}"
    PeriodicTask.objects.update(queue=queue)
    for _ in range(2):
        assert act(operator, TASKS, "run_tasks", [schedule.periodic_task_id]) == "1 task was successfully run"
    with current_app.connection_for_write() as connection, connection.SimpleQueue(queue) as messages:
        for _ in range(2):
            message = messages.get(timeout=5)
            message.ack()
            assert message.headers["task"] == "schedules.fire"
            schedule_tasks.fire_one(*message.payload[0])
    assert Occurrence.objects.filter(schedule=schedule, scheduled_for=due).count() == 1
    assert Delivery.objects.count() == 1


def test_a_channel_is_disabled_with_a_reason_and_enabled_again(operator: Client) -> None:
    person = make_user()
    channel, other = make_channel(person), make_channel(person, "email")
    where = "/admin/notifications/channel/"
    asked = operator.post(where, {"action": "disable", "_selected_action": str(channel.pk)})
    assert "Disable 1" in asked.content.decode()
    assert not Channel.objects.filter(disabled_at__isnull=False).exists()
    assert act(operator, where, "disable", [channel.pk], confirmed="yes", reason="It bounces.") == "1 disabled."
    assert Channel.objects.get(disabled_at__isnull=False).disabled_reason == "It bounces."
    assert act(operator, where, "disable", [channel.pk], confirmed="yes", reason="Again.") == "0 disabled."
    assert act(operator, where, "enable", [channel.pk, other.pk]) == "1 enabled."
    assert not Channel.objects.exclude(disabled_at=None, disabled_code="").exists()
    said = list(LogEntry.objects.order_by("pk").values_list("object_id", "change_message"))
    assert said == [(str(channel.pk), "Disabled: It bounces."), (str(channel.pk), "Enabled.")]
