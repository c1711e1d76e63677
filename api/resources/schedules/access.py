"""The schedule that an operation reads or changes: the caller's own, or 404."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

# As `Schedule.objects.for_user`, with what `ordered_channels` gives.
_OWN = f"""
SELECT {postgres.columns(Schedule, "s")}, ARRAY(
           SELECT c.id FROM schedules_schedule_channels a JOIN notifications_channel c ON c.id = a.channel_id
            WHERE a.schedule_id = s.id AND c.removed_at IS NULL ORDER BY c.id
       ) AS channels
  FROM schedules_schedule s
 WHERE s.id = %(id)s AND s.user_id = %(user)s AND s.deleted_at IS NULL
"""  # noqa: S608  # names of columns


def own(request: ApiRequest, schedule_id: UUID) -> Schedule:
    return _read(request, schedule_id)[0]


def show_own(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    schedule, channels = _read(request, schedule_id)
    return show(schedule, channels)


def _read(request: ApiRequest, schedule_id: UUID) -> tuple[Schedule, list[UUID]]:
    """The schedule and the ids of its channels, in order."""
    row = postgres.execute(_OWN, {"id": schedule_id, "user": request.auth.user.pk}).fetchone()
    if row is None:
        raise Http404
    schedule = postgres.instance(Schedule, row)
    return schedule, sort_channels(schedule.channel_order, row.channels, channel_id=lambda channel: channel)


@contextmanager
def changing(request: ApiRequest, schedule_id: UUID) -> Iterator[Schedule]:
    """Lock the schedule in a transaction, if it is at the version of `If-Match`. Raises Http404; problems 409, 412."""
    with transaction.atomic():
        try:
            yield versions.locked(request, Schedule.objects.for_user(request.auth.user), document, id=schedule_id)
        except editing.Conflict as error:
            raise conflict(
                "The schedule is not in a state that allows this. See current.", current=document(error.current)
            ) from None


def show(schedule: Schedule, channels: Sequence[UUID] | None = None, status: int = 200, **headers: str) -> HttpResponse:
    """`channels` are the ids of its channels, in order (None: read here)."""
    return answer(document(schedule, channels), status, ETag=versions.etag(schedule.version), **headers)
