"""A periodic task that cannot run is disabled alone, with the reason; beat and the others go on."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    PeriodicTasks,
    SolarSchedule,
)

from config.celery import app as celery_app
from schedules.beat import scheduler
from schedules.firing import fire
from tests.db.schedules.beat.test_beat import due_in, hours_ago, make_beat, make_stock_entry, ticks

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/django_celery_beat/periodictask/"


def solar() -> SolarSchedule:
    return SolarSchedule.objects.create(event="sunrise", latitude=52, longitude=13)


def never() -> CrontabSchedule:
    return CrontabSchedule.objects.create(minute="0", hour="0", day_of_month="31", month_of_year="2")


def too_long() -> IntervalSchedule:
    return IntervalSchedule.objects.create(every=2**31 - 1, period="days")


DAMAGES: list[dict[str, Any]] = [
    {"args": "{}"},
    {"args": "[" * 5000},
    {"args": '[{"__type__": "datetime", "__value__": 5}]'},
    {"kwargs": "[1]"},
    {"kwargs": "nonsense"},
    {"headers": "[1]"},
    {"headers": "null"},
    {"headers": "{"},
    {"headers": '{"timelimit": 5}'},
    {"priority": 2**31 - 1},
    {"interval": too_long},
    {"interval": lambda: IntervalSchedule.objects.create(every=999_999_999, period="days")},
    {"interval": lambda: IntervalSchedule.objects.create(every=1, period="fortnights")},
    {"interval": lambda: IntervalSchedule.objects.create(every=1, period="microseconds")},
    {"interval": lambda: IntervalSchedule.objects.create(every=0, period="hours")},
    {"interval": None, "solar": solar},
    {"interval": None, "crontab": never},
    {"interval": None},
]


@pytest.mark.parametrize("change", DAMAGES, ids=" ".join)
def test_an_entry_that_cannot_run_is_disabled_alone_with_the_reason(change: dict[str, Any]) -> None:
    sound = make_stock_entry(last_run_at=hours_ago(2))
    damaged = make_stock_entry(name="damaged", description="Mine.", last_run_at=hours_ago(3))
    values = {name: value() if callable(value) else value for name, value in change.items()}
    PeriodicTask.objects.filter(pk=damaged.pk).update(**values)
    beat = make_beat()
    PeriodicTask.objects.filter(name="damaged").update(enabled=True)
    beat._reload()
    slot = due_in(-1)
    ticks(beat, 8)
    for task in (sound, damaged):
        task.refresh_from_db()
    assert (sound.enabled, sound.total_run_count) == (True, 1)
    assert slot.occurrences.count() == 1
    if "priority" in change:  # Redis takes any
        return
    assert (damaged.enabled, damaged.total_run_count) == (False, 0)
    assert damaged.description.startswith("Disabled by beat. ")
    assert damaged.description.endswith("Mine.")


def test_an_entry_that_python_cannot_read_is_disabled_alone() -> None:
    sound = make_stock_entry(last_run_at=hours_ago(2))
    damaged = make_stock_entry(name="damaged")
    beat = make_beat()
    PeriodicTask.objects.filter(name="damaged").update(enabled=True)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE django_celery_beat_periodictask SET last_run_at = '-infinity' WHERE id = %s", [damaged.pk]
        )
    beat._reload()
    ticks(beat)
    sound.refresh_from_db()
    assert sound.total_run_count == 1
    assert not PeriodicTask.objects.values_list("enabled", flat=True).get(pk=damaged.pk)


def test_an_entry_that_no_broker_would_take_is_disabled_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = make_stock_entry(last_run_at=hours_ago(2))
    damaged = make_stock_entry(name="damaged", task="other", last_run_at=hours_ago(3))
    beat = make_beat()
    PeriodicTask.objects.filter(name="damaged").update(enabled=True)
    beat._reload()
    send = beat.send_task

    def refuse(name: str, *args: Any, **options: Any) -> Any:
        if name == "other":
            raise ValueError("cannot be encoded")
        return send(name, *args, **options)

    monkeypatch.setattr(beat, "send_task", refuse)
    ticks(beat, 8)
    for task in (sound, damaged):
        task.refresh_from_db()
    assert (sound.total_run_count, damaged.enabled, damaged.total_run_count) == (1, False, 0)
    assert "cannot be encoded" in damaged.description


def test_a_start_writes_only_what_is_not_as_the_settings_define_it() -> None:
    make_beat()
    changed_at = PeriodicTasks.last_change()
    with CaptureQueriesContext(connection) as queries:
        make_beat()
    assert PeriodicTasks.last_change() == changed_at  # else other beats would read all entries again
    assert len(queries) < 80, len(queries)
    PeriodicTask.objects.filter(name="sweep").update(task="work.rescue")
    IntervalSchedule.objects.filter(periodictask__name="count-tries").update(every=7)
    make_beat()
    assert PeriodicTask.objects.get(name="sweep").task == "schedules.sweep"
    assert PeriodicTask.objects.get(name="count-tries").interval.every == 60


@pytest.mark.parametrize(
    "change", [{"kwargs": "[1]"}, {"headers": "[1]"}, {"interval": too_long}, {"args": "{}"}], ids=" ".join
)
def test_rescue_gets_its_definition_back(change: dict[str, Any]) -> None:
    beat = make_beat()
    values = {name: value() if callable(value) else value for name, value in change.items()}
    PeriodicTask.objects.filter(name="rescue").update(
        enabled=True, last_run_at=timezone.now(), queue="test-stock", **values
    )
    PeriodicTasks.update_changed()
    beat._reload()
    ticks(beat)
    rescue = PeriodicTask.objects.select_related("interval").get(name="rescue")
    assert (rescue.enabled, rescue.kwargs, rescue.args, rescue.interval.every) == (True, "{}", "[]", 5)
    assert "rescue" in beat.schedule


def form(**changes: Any) -> dict[str, Any]:
    every = IntervalSchedule.objects.get_or_create(every=1, period="hours")[0]
    fields = {"name": "mine", "task": "work.rescue", "enabled": "on", "interval": every.pk}
    return fields | {"args": "[]", "kwargs": "{}", "headers": "{}"} | changes


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("args", "{}"),
        ("args", "[" * 5000),
        ("kwargs", "[1]"),
        ("headers", "[1]"),
        ("headers", "{"),
        ("headers", '{"timelimit": 5}'),
        ("task", "x" * 300),
        ("task", ""),
        ("interval", ""),
    ],
)
def test_the_form_refuses_what_beat_could_not_run(operator: Client, field: str, value: str) -> None:
    answer = operator.post(f"{PAGE}add/", form(**{field: value}))
    assert answer.status_code == 200
    assert field in answer.context["adminform"].form.errors
    assert not PeriodicTask.objects.filter(name="mine").exists()


def test_the_form_takes_what_beat_can_run_and_shows_no_solar_timing(operator: Client) -> None:
    assert "solar" not in operator.get(f"{PAGE}add/").context["adminform"].form.fields
    assert operator.get("/admin/django_celery_beat/solarschedule/").status_code == 404
    assert operator.post(f"{PAGE}add/", form()).status_code == 302
    assert PeriodicTask.objects.get(name="mine").enabled


def test_a_solar_task_is_given_another_timing(operator: Client) -> None:
    task = make_stock_entry()
    PeriodicTask.objects.filter(pk=task.pk).update(interval=None, solar=solar())
    for page in (PAGE, f"{PAGE}{task.pk}/change/"):
        assert operator.get(page).status_code == 200
    assert operator.post(f"{PAGE}{task.pk}/change/", form(name="hourly")).status_code == 302
    task.refresh_from_db()
    assert task.solar is None


@pytest.mark.parametrize(
    ("model", "values"),
    [
        ("intervalschedule", {"every": 2**31 - 1, "period": "days"}),
        (
            "crontabschedule",
            {
                "minute": "0",
                "hour": "0",
                "day_of_month": "31",
                "month_of_year": "2",
                "day_of_week": "*",
                "timezone": "UTC",
            },
        ),
    ],
)
def test_a_timing_without_a_next_run_is_refused(operator: Client, model: str, values: dict[str, Any]) -> None:
    answer = operator.post(f"/admin/django_celery_beat/{model}/add/", values)
    assert answer.status_code == 200
    assert answer.context["adminform"].form.errors


def test_a_clocked_time_is_taken(operator: Client) -> None:
    values = {"clocked_time_0": "2030-01-01", "clocked_time_1": "09:00"}
    assert operator.post("/admin/django_celery_beat/clockedschedule/add/", values).status_code == 302
    assert ClockedSchedule.objects.exists()


def test_a_step_of_the_tick_that_fails_stops_no_firing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError("no")

    slot, step = due_in(-1), Mock(__module__="watches")
    beat = make_beat(celery_app)
    monkeypatch.setattr(beat, "_recompute_slots", fail)
    monkeypatch.setattr(scheduler, "EACH_TICK", [fail, step])
    ticks(beat)
    step.assert_called()
    assert slot.occurrences.count() == 1
    assert fire.read_clock().next_due is None
