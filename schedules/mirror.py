"""Schedule <-> django_celery_beat.PeriodicTask: one mirror row a schedule, for the operator and the stock scheduler.

The rows are written by cheap statements, not by `PeriodicTask.save()`, which costs 11 queries and locks one hot row.
A mirror row may ring more often than its schedule fires (crontab cannot say "the last day of the month"): its task goes
through the same claim as our own beat, and a claim that finds nothing due does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask

from common.postgres import column
from schedules.models import Schedule
from schedules.rules import InvalidRule, Rule
from schedules.rules.cron import Cron

FIRE = "schedules.fire"
# Every column of CrontabSchedule holds a list of all of its values, and at least so many characters.
_SHORTEST_COLUMN = 64
_EVERY = {"minute": "*", "hour": "*", "day_of_month": "*", "month_of_year": "*", "day_of_week": "*"}


def fields(schedule: Schedule) -> dict[str, Any]:
    """What the mirror row of `schedule` says; rows of shared timings are made where there are none yet."""
    return {
        "name": f"{schedule.title[:150]} ({schedule.id})",
        "task": FIRE,
        "args": json.dumps([str(schedule.id)]),
        "enabled": schedule.next_fire_at is not None,
        "one_off": schedule.kind == "once",
        "start_time": schedule.starts_at,
        "expires": schedule.ends_at,
        "description": schedule.when,
    } | _timing(schedule)


def write(schedule: Schedule) -> None:
    """Create the mirror row of `schedule`, or bring it up to date; the caller saves the schedule's key to it."""
    if schedule.periodic_task_id is None:
        [schedule.periodic_task] = PeriodicTask.objects.bulk_create([PeriodicTask(**fields(schedule))])
    else:
        with _own():
            PeriodicTask.objects.filter(id=schedule.periodic_task_id).update(**fields(schedule))


def set_enabled(schedule: Schedule) -> None:
    """Enable or disable the mirror row, as the schedule is."""
    with _own():
        PeriodicTask.objects.filter(id=schedule.periodic_task_id).update(enabled=schedule.next_fire_at is not None)


def sign_as_beat(connection: Any, **_: Any) -> None:
    """Say on a database connection that a beat speaks: a stock scheduler disables rows that have run or expired, which
    is nobody's wish for us to follow. The name holds through a connection pooler too."""
    with connection.cursor() as cursor:
        cursor.execute("SET application_name = 'carillon beat'")


@contextmanager
def _own() -> Iterator[None]:
    """Within it, changes of mirror rows are ours, and not somebody's wish for us to follow (see `following`)."""
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('carillon.mirror', 'own', true)")
        yield
        cursor.execute("SELECT set_config('carillon.mirror', '', true)")


def record_runs(runs: Sequence[tuple[int | None, int, bool]]) -> None:
    """Keep "last run", "run count" and "enabled" true: for each mirror row (None: there is none), how often its
    schedule fired, and whether it goes on."""
    with _own(), connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE django_celery_beat_periodictask t
               SET total_run_count = least(2147483647, t.total_run_count::bigint + r.fired), enabled = r.enabled,
                   last_run_at = CASE WHEN r.fired > 0 THEN now() ELSE t.last_run_at END
              FROM unnest(%s::int[], %s::int[], %s::bool[]) AS r(id, fired, enabled)
             WHERE t.id = r.id
            """,
            [
                column(task_id for task_id, _, _ in runs),
                column(fired for _, fired, _ in runs),
                column(enabled for _, _, enabled in runs),
            ],
        )


def _timing(schedule: Schedule) -> dict[str, Any]:
    if schedule.state == Schedule.State.BROKEN or (rule := _readable(schedule)) is None:
        return {}  # the row keeps the timing that it had
    timing: dict[str, Any] = {"clocked": None, "interval": None, "crontab": None}
    data = rule.data()
    if schedule.kind == "once":
        return timing | {"clocked": _shared(ClockedSchedule, clocked_time=_instant(rule))}
    if schedule.kind == "interval":
        return timing | {"interval": _shared(IntervalSchedule, every=data["every"], period=data["unit"])}
    crontab = _of_cron(rule) if isinstance(rule, Cron) else _crontab(schedule.kind, data)
    return timing | {"crontab": _shared(CrontabSchedule, timezone=schedule.time_zone, **crontab)}


def _readable(schedule: Schedule) -> Rule | None:
    """A zone may have been removed from the zone database since; its owner can still pause or delete the schedule."""
    try:
        return schedule.timetable().rule
    except InvalidRule:
        return None


def _of_cron(rule: Cron) -> dict[str, str]:
    """In numbers: Celery knows neither “jan” nor 7 for Sunday, and its columns do not hold every list of them."""
    every, cron = _EVERY.copy(), rule.parsed
    _, minute, hour, day, month, _ = cron.parts
    every["minute"], every["hour"] = _short(minute, cron.minutes), _short(hour, cron.hours)
    every["month_of_year"] = _short(month, cron.months)
    if cron.day_and and all(isinstance(value, int) and value >= 0 for value in [*cron.days, *cron.weekdays]):
        # Every day where either is enough, which Celery reads as both, and for L and #.
        every["day_of_month"] = _short(day, cron.days)
        weekdays = {value % 7 for value in cron.weekdays if isinstance(value, int)}
        every["day_of_week"] = "*" if len(weekdays) == 7 else _listed(weekdays)
    return every


def _short(part: str, values: set[int]) -> str:
    return part if len(part) <= _SHORTEST_COLUMN else _listed(values)


def _listed(values: set[int]) -> str:
    return ",".join(str(value) for value in sorted(values))


def _crontab(kind: str, rule: dict[str, Any]) -> dict[str, str]:
    """Celery's crontab that rings at every slot of the rule, and where it cannot be exact, on more days than those."""
    every = _EVERY.copy()
    if kind in {"daily", "weekly", "monthly"}:
        hour, minute = rule["time"].split(":")
        every |= {"minute": str(int(minute)), "hour": str(int(hour))}
    if kind == "weekly":
        every["day_of_week"] = ",".join(str((day + 1) % 7) for day in rule["days"])  # Celery's week begins on Sunday
    if kind == "monthly":
        every["day_of_month"] = str(rule["day"]) if rule["day"] != "last" and rule["day"] <= 28 else "28-31"
    return every


def _instant(rule: Rule) -> datetime:
    # Also when it has passed: the stock scheduler dies of an enabled row that has no timing.
    slot = rule.next_after(datetime.min.replace(tzinfo=UTC))
    return slot or datetime.max.replace(tzinfo=UTC)


def _shared(model: Any, **fields: Any) -> Any:
    """The row with these fields, made without the signal that has beat reload everything."""
    found = model.objects.filter(**fields).first()
    if found is None:
        [found] = model.objects.bulk_create([model(**fields)])
    return found
