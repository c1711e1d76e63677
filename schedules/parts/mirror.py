"""Project each schedule into a django_celery_beat.PeriodicTask, for the operator and the stock scheduler.

The projection goes one way: each edit of a schedule writes its row in the same transaction, and nothing reads the row
back. The stock scheduler may change `enabled`, `last_run_at` and `total_run_count`; firing decides by the schedule's
`next_fire_at`, so a wrong value only delays a slot until the next sweep.

The rows are written by cheap statements, not by `PeriodicTask.save()`, which costs 11 queries and locks one hot row.
A row may run its task more often than its schedule fires (crontab has no "last day of the month"): the task claims the
schedule as beat does, and does nothing when no slot is due.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django_celery_beat.models import PeriodicTask

from common.database.postgres import change
from schedules.models import Schedule
from schedules.rules import InvalidRule, civil
from schedules.rules.cron import Cron

FIRE = "schedules.fire"
# Each column of CrontabSchedule holds at least this many characters, and a list of all of its values.
_SHORTEST_COLUMN = 64
# The columns of a row that refer to a timing; one of them does.
TIMINGS = ("clocked_id", "interval_id", "crontab_id")
_EVERY = {"minute": "*", "hour": "*", "day_of_month": "*", "month_of_year": "*", "day_of_week": "*"}

# Indexes on django-celery-beat's tables, which no model of ours can declare: the stock entries among a million rows of
# schedules, and the timings that rows share.
_INDEXES = """
CREATE INDEX IF NOT EXISTS schedules_stock_entries ON django_celery_beat_periodictask (id)
 WHERE enabled AND task <> 'schedules.fire';
CREATE INDEX IF NOT EXISTS schedules_clocked ON django_celery_beat_clockedschedule (clocked_time);
CREATE INDEX IF NOT EXISTS schedules_crontab ON django_celery_beat_crontabschedule (hour, minute, timezone);
"""


def create_indexes(plan: Sequence[tuple[Any, bool]] = (), **_: Any) -> None:
    """Create the indexes after the migrations of this app; a receiver of `post_migrate`."""
    if any(migration.app_label == "schedules" and not backwards for migration, backwards in plan):
        change(_INDEXES, None)


Timing = tuple[str, dict[str, Any]]
"""The kind of a timing's row, which schedules share, such as "crontab", and its values."""


def switch(schedules: Sequence[Schedule]) -> None:
    """Enable the rows of schedules that have a next slot, and disable the others."""
    enabled = [one.periodic_task_id for one in schedules if one.next_fire_at is not None]
    PeriodicTask.objects.filter(id__in=enabled).update(enabled=True)
    disable([one.periodic_task_id for one in schedules if one.next_fire_at is None])


def disable(task_ids: Sequence[int | None]) -> None:
    """Disable the rows of schedules that have no next slot."""
    if task_ids:
        PeriodicTask.objects.filter(id__in=task_ids).update(enabled=False)


def delete(instance: Schedule, **_: Any) -> None:
    """Delete the row of a deleted schedule; a receiver of `post_delete`. Does not tell beat to reload every entry."""
    change("DELETE FROM django_celery_beat_periodictask WHERE id = %(id)s", {"id": instance.periodic_task_id})


def fields(schedule: Schedule) -> dict[str, Any]:
    return {
        "name": f"{schedule.title[:150]} ({schedule.id})",
        "task": FIRE,
        "args": json.dumps([str(schedule.id)]),
        "enabled": schedule.next_fire_at is not None,
        "one_off": schedule.kind == "once",
        "start_time": schedule.starts_at,
        "expires": schedule.ends_at,
        "description": schedule.when,
    }


def timing_of(schedule: Schedule) -> Timing | None:
    """None for an unreadable rule: the row keeps its timing."""
    if schedule.state == Schedule.State.BROKEN:
        return None
    try:
        rule = schedule.timetable().rule
    except InvalidRule:  # its owner can still pause or delete the schedule
        return None
    data = rule.data()
    if schedule.kind == "once":
        # Also if it has passed: an enabled row without a timing stops the stock scheduler.
        instant = rule.next_after(civil.FIRST_INSTANT) or datetime.max.replace(tzinfo=UTC)
        return "clocked", {"clocked_time": instant}
    if schedule.kind == "interval":
        return "interval", {"every": data["every"], "period": data["unit"]}
    crontab = _of_cron(rule) if isinstance(rule, Cron) else _crontab(schedule.kind, data)
    crontab["timezone"] = schedule.time_zone
    return "crontab", crontab


def shared(timing: Timing | None) -> tuple[str, dict[str, Any]]:
    """A part of a WITH that gives the id of a timing's row as `timing`, and inserts the row where it is missing.

    It sends no signal, which would make beat reload everything. The lock keeps a found row from `prune`.
    """
    if timing is None:
        return "timing AS (SELECT NULL::int AS id)", {}
    kind, values = timing
    table = f"django_celery_beat_{kind}schedule"
    names, given = ", ".join(values), ", ".join(f"%({name})s" for name in values)
    statement = (
        f"found AS (SELECT id FROM {table} WHERE ({names}) = ({given}) ORDER BY id LIMIT 1 FOR KEY SHARE),"  # noqa: S608 - names of columns
        f" added AS (INSERT INTO {table} ({names})"
        f" SELECT {given} WHERE NOT EXISTS (SELECT FROM found) RETURNING id),"
        " timing AS (SELECT id FROM found UNION ALL SELECT id FROM added)"
    )
    return statement, values


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
    """Celery's crontab that is due at every slot of the rule, and where it cannot be exact, on more days than those."""
    every = _EVERY.copy()
    if kind in {"daily", "weekly", "monthly"}:
        hour, minute = rule["time"].split(":")
        every |= {"minute": str(int(minute)), "hour": str(int(hour))}
    if kind == "weekly":
        every["day_of_week"] = ",".join(str((day + 1) % 7) for day in rule["days"])  # Celery's week begins on Sunday
    if kind == "monthly":
        every["day_of_month"] = str(rule["day"]) if rule["day"] != "last" and rule["day"] <= 28 else "28-31"
    return every
