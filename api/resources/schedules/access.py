"""The schedule that an operation reads or changes: the caller's own, or 404."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import Http404, HttpResponse

from api.protocol import versions
from api.protocol.access import ApiRequest
from api.protocol.answers import answer
from api.protocol.problems import conflict
from api.resources.schedules.document import document
from common.database import postgres
from notifications.models import sort_channels
from schedules.changes import editing
from schedules.models import Schedule

# As `Schedule.objects.for_user`.
_OWN = f"""
SELECT {postgres.columns(Schedule, "s")}{{more}}
  FROM schedules_schedule s
 WHERE s.id = %(id)s AND s.user_id = %(user)s AND s.deleted_at IS NULL
"""  # noqa: S608  # names of columns
_LOCK = _OWN.format(more="") + " FOR NO KEY UPDATE"
_READ = _OWN.format(
    more=""", ARRAY(
        SELECT c.id FROM schedules_schedule_channels a JOIN notifications_channel c ON c.id = a.channel_id
         WHERE a.schedule_id = s.id AND c.removed_at IS NULL
    ) AS channels"""
)


def own(request: ApiRequest, schedule_id: UUID) -> Schedule:
    return _read(_READ, request, schedule_id)[0]


def show_own(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    schedule, row = _read(_READ, request, schedule_id)
    return show(schedule, row.channels)


def _read(statement: str, request: ApiRequest, schedule_id: UUID) -> tuple[Schedule, Any]:
    """The schedule and its row. Raises Http404."""
    row = postgres.execute(statement, {"id": schedule_id, "user": request.auth.user.pk}).fetchone()
    if row is None:
        raise Http404
    return postgres.instance(Schedule, row), row


@contextmanager
def changing(request: ApiRequest, schedule_id: UUID) -> Iterator[Schedule]:
    """Lock the schedule in a transaction, if it is at the version of `If-Match`. Raises Http404; problems 409, 412."""
    with transaction.atomic():
        schedule, _row = _read(_LOCK, request, schedule_id)
        versions.require(request, schedule.version, lambda: document(schedule))
        try:
            yield schedule
        except editing.ScheduleConflict as error:
            raise conflict(
                "The schedule is not in a state that allows this. See current.", current=document(error.current)
            ) from None


def show(schedule: Schedule, channels: Iterable[UUID] | None = None, status: int = 200, **headers: str) -> HttpResponse:
    """`channels` are the ids of its channels (None: read here)."""
    if channels is not None:
        channels = sort_channels(schedule.channel_order, sorted(channels), channel_id=lambda channel: channel)
    return answer(document(schedule, channels), status, ETag=versions.etag(schedule.version), **headers)
