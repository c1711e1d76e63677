"""Insert a new schedule with its channels, its event and its mirror, in one statement."""

import json
from collections.abc import Sequence

from django.db.models import Model
from django.db.models.expressions import DatabaseDefault
from django_celery_beat.models import PeriodicTask

from common.database.postgres import column, execute
from notifications.models import Channel
from schedules.models import Schedule, ScheduleEvent
from schedules.parts import mirror

_INSERT = """
WITH {timing}, task AS (
    INSERT INTO django_celery_beat_periodictask
    SELECT row.* FROM timing, jsonb_populate_record(
               NULL::django_celery_beat_periodictask,
               %(task)s::jsonb || jsonb_build_object(
                   'id', nextval(pg_get_serial_sequence('django_celery_beat_periodictask', 'id')),
                   'date_changed', now(), %(timing_column)s::text, timing.id
               )
           ) AS row
    RETURNING id
), schedule AS (
    INSERT INTO schedules_schedule
    SELECT row.* FROM task, jsonb_populate_record(
               NULL::schedules_schedule,
               %(schedule)s::jsonb
               || jsonb_build_object('periodic_task_id', task.id, 'created_at', now(), 'updated_at', now())
           ) AS row
    RETURNING id, periodic_task_id, created_at
), channel AS (
    INSERT INTO schedules_schedule_channels (schedule_id, channel_id)
    SELECT schedule.id, unnest(%(channels)s::uuid[]) FROM schedule
), event AS (
    INSERT INTO schedules_scheduleevent (schedule_id, what, at, by_id, version, detail)
    SELECT schedule.id, %(what)s, %(at)s, %(by)s::bigint, %(version)s::int, %(detail)s::jsonb FROM schedule
)
SELECT periodic_task_id, created_at FROM schedule
"""


def insert(schedule: Schedule, channels: Sequence[Channel], event: ScheduleEvent) -> None:
    """Insert all rows; `event` gets no id. Raises IntegrityError if the schedule's id exists already."""
    timing = mirror.timing_of(schedule)
    shared, values = mirror.shared(timing)
    task = PeriodicTask(**mirror.fields(schedule))
    statement = _INSERT.format(timing=shared)
    row = execute(
        statement,
        values
        | {
            "task": _row(task),
            "timing_column": "crontab_id" if timing is None else timing.column,
            "schedule": _row(schedule),
            "channels": column(channel.id for channel in channels),
            "what": str(event.what),
            "at": event.at,
            "by": event.by_id,
            "version": event.version,
            "detail": json.dumps(event.detail),
        },
    ).fetchone()
    schedule.periodic_task_id = row.periodic_task_id
    schedule.created_at = schedule.updated_at = row.created_at
    schedule._state.adding, schedule._state.db = False, "default"


def _row(instance: Model) -> str:
    """The columns that have a value, as JSON, for `jsonb_populate_record`."""
    values = {field.column: getattr(instance, field.attname) for field in instance._meta.concrete_fields}
    return json.dumps({name: one for name, one in values.items() if not isinstance(one, DatabaseDefault)}, default=str)
