"""One `django_celery_beat.PeriodicTask` for each schedule: the mirror row, for operators and the stock scheduler.

`PeriodicTask.save()` costs 11 queries and locks one hot row, so rows are written by plain statements. A mirror row may
run more often than its schedule fires, as no crontab says "the last day of the month". Its task uses the same claim as
our beat, and does nothing if nothing is due.
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
# Each column of CrontabSchedule holds at least this many characters, and a list of all of its values.
_SHORTEST_COLUMN = 64
_EVERY = {"minute": "*", "hour": "*", "day_of_month": "*", "month_of_year": "*", "day_of_week": "*"}


def fields(schedule: Schedule) -> dict[str, Any]:
    """The columns of the mirror row of `schedule`. Creates the rows of its timing if there are none."""
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
    """Create or update the mirror row of `schedule`; the caller saves the foreign key."""
    if schedule.periodic_task_id is None:
        [schedule.periodic_task] = PeriodicTask.objects.bulk_create([PeriodicTask(**fields(schedule))])
    else:
        with _own():
            PeriodicTask.objects.filter(id=schedule.periodic_task_id).update(**fields(schedule))


def set_enabled(schedule: Schedule) -> None:
    """Enable or disable the mirror row as its schedule is."""
    with _own():
        PeriodicTask.objects.filter(id=schedule.periodic_task_id).update(enabled=schedule.next_fire_at is not None)


def sign_as_beat(connection: Any, **_: Any) -> None:
    """Name a database connection as a beat's: rows that a stock scheduler disables do not pause their schedules.

    The name also works through a connection pooler.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET application_name = 'carillon beat'")


@contextmanager
def _own() -> Iterator[None]:
    """Within it, changes of mirror rows are ours: they do not pause or resume a schedule (see `following`)."""
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('carillon.mirror', 'own', true)")
        yield
        cursor.execute("SELECT set_config('carillon.mirror', '', true)")


def record_runs(runs: Sequence[tuple[int | None, int, bool]]) -> None:
    """Update mirror rows after firing. A run is the row's id, how often its schedule fired, and whether it goes on."""
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
        return {}  # the row keeps its timing
    timing: dict[str, Any] = {"clocked": None, "interval": None, "crontab": None}
    data = rule.data()
    if schedule.kind == "once":
        return timing | {"clocked": _shared(ClockedSchedule, clocked_time=_instant(rule))}
    if schedule.kind == "interval":
        return timing | {"interval": _shared(IntervalSchedule, every=data["every"], period=data["unit"])}
    crontab = _of_cron(rule) if isinstance(rule, Cron) else _crontab(schedule.kind, data)
    return timing | {"crontab": _shared(CrontabSchedule, timezone=schedule.time_zone, **crontab)}


def _readable(schedule: Schedule) -> Rule | None:
    """None for an unreadable rule: its owner can still pause or delete the schedule."""
    try:
        return schedule.timetable().rule
    except InvalidRule:
        return None


def _of_cron(rule: Cron) -> dict[str, str]:
    """In numbers: Celery knows neither “jan” nor 7 for Sunday."""
    every, cron = _EVERY.copy(), rule.parsed
    _, minute, hour, day, month, _ = cron.parts
    every["minute"], every["hour"] = _short(minute, cron.minutes), _short(hour, cron.hours)
    every["month_of_year"] = _short(month, cron.months)
    if cron.day_and and all(isinstance(value, int) and value >= 0 for value in [*cron.days, *cron.weekdays]):
        # Else every day: Celery has no L and no #, and reads "either day" as "both".
        every["day_of_month"] = _short(day, cron.days)
        weekdays = {value % 7 for value in cron.weekdays if isinstance(value, int)}
        every["day_of_week"] = "*" if len(weekdays) == 7 else _listed(weekdays)
    return every


def _short(part: str, values: set[int]) -> str:
    return part if len(part) <= _SHORTEST_COLUMN else _listed(values)


def _listed(values: set[int]) -> str:
    return ",".join(str(value) for value in sorted(values))


def _crontab(kind: str, rule: dict[str, Any]) -> dict[str, str]:
    """Celery's crontab that runs at every slot of the rule, and on more days where it cannot be exact."""
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
    # Also if it has passed: an enabled row without a timing stops the stock scheduler.
    slot = rule.next_after(datetime.min.replace(tzinfo=UTC))
    return slot or datetime.max.replace(tzinfo=UTC)


def _shared(model: Any, **fields: Any) -> Any:
    """The row with these fields. Creating it sends no signal, which would make beat reload everything."""
    found = model.objects.filter(**fields).first()
    if found is None:
        [found] = model.objects.bulk_create([model(**fields)])
    return found
