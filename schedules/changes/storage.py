"""Write a schedule with its channels, its event and its mirror, in one statement."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any
from uuid import UUID

from django.db.models import Model
from django.db.models.expressions import DatabaseDefault
from django_celery_beat.models import PeriodicTask

from common.database.postgres import column, execute
from notifications.models import Channel
from schedules.models import Schedule, ScheduleEvent
from schedules.parts import mirror

_WRITE = """
WITH {timing}, task AS (
    INSERT INTO django_celery_beat_periodictask
    SELECT row.* FROM timing, jsonb_populate_record(
        NULL::django_celery_beat_periodictask,
        %(task)s::jsonb || jsonb_build_object(
            'date_changed', now(), %(timing_column)s::text, timing.id, 'id',
            coalesce(%(task_id)s::bigint, nextval(pg_get_serial_sequence('django_celery_beat_periodictask', 'id')))
        )
    ) AS row
    {update_task}
    RETURNING id
), schedule AS (
    INSERT INTO schedules_schedule
    SELECT row.* FROM task, jsonb_populate_record(
        NULL::schedules_schedule,
        jsonb_build_object('created_at', now(), 'updated_at', now())
        || %(schedule)s::jsonb || jsonb_build_object('periodic_task_id', task.id)
    ) AS row
    {update_schedule}
    RETURNING id, periodic_task_id, created_at, updated_at
){attached}, event AS (
    INSERT INTO schedules_scheduleevent (schedule_id, what, at, by_id, version, detail)
    SELECT schedule.id, %(what)s, %(at)s, %(by)s::bigint, %(version)s::int, %(detail)s::jsonb FROM schedule
)
SELECT periodic_task_id, created_at, updated_at,
       EXISTS (SELECT FROM notifications_notification WHERE batch_id = ANY (%(batches)s::uuid[])) AS has_notices
  FROM schedule
"""
_DETACH = """, detached AS (
    DELETE FROM schedules_schedule_channels
     WHERE schedule_id = %(id)s AND channel_id <> ALL (%(channels)s::uuid[])
)"""
_ATTACH = """, channel AS (
    INSERT INTO schedules_schedule_channels (schedule_id, channel_id)
    SELECT schedule.id, unnest(%(channels)s::uuid[]) FROM schedule
    ON CONFLICT (schedule_id, channel_id) DO NOTHING
)"""


def write(
    schedule: Schedule, channels: Sequence[Channel] | None, event: ScheduleEvent, notices: Sequence[UUID] = ()
) -> bool:
    """Insert or update all rows; `event` gets no id. Without `channels`, they stay.

    Returns whether there are notifications of the batches `notices`.

    Raises IntegrityError if the id of a new schedule exists already.
    """
    schedule.set_next_early(event.at)
    timing = mirror.timing_of(schedule)
    shared, values = mirror.shared(timing)
    task = mirror.fields(schedule)
    timings = mirror.TIMINGS if timing is not None else ()
    row = execute(
        _statement(shared, (*task, *timings), schedule._state.adding, channels is not None),
        values
        | {
            "id": schedule.id,
            "task_id": schedule.periodic_task_id,
            "task": json.dumps(_TASK | task, default=str),
            "timing_column": "crontab_id" if timing is None else f"{timing[0]}_id",
            "schedule": json.dumps(_row(schedule), default=str),
            "channels": None if channels is None else column(channel.id for channel in channels),
            "what": str(event.what),
            "at": event.at,
            "by": event.by_id,
            "version": event.version,
            "detail": json.dumps(event.detail),
            "batches": column(notices),
        },
    ).fetchone()
    schedule.periodic_task_id = row.periodic_task_id
    schedule.created_at, schedule.updated_at = row.created_at, row.updated_at
    schedule._state.adding, schedule._state.db = False, "default"
    return bool(row.has_notices)


_STORED = [str(field.column) for field in Schedule._meta.concrete_fields if field.name not in {"id", "created_at"}]


@cache
def _statement(timing: str, of_task: Sequence[str], is_new: bool, with_channels: bool) -> str:
    return _WRITE.format(
        timing=timing,
        update_task="" if is_new else _update(of_task),
        update_schedule="" if is_new else _update(_STORED),
        attached="" if not with_channels else _ATTACH if is_new else _DETACH + _ATTACH,
    )


def _update(columns: Sequence[str]) -> str:
    return f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in columns)}"


def _row(instance: Model) -> dict[str, Any]:
    """The columns that have a value, for `jsonb_populate_record`."""
    values = {str(field.column): getattr(instance, field.attname) for field in instance._meta.concrete_fields}
    return {name: one for name, one in values.items() if not isinstance(one, DatabaseDefault)}


_TASK = _row(PeriodicTask())
