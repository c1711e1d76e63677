"""The schedule that an operation reads or changes: the caller's own, or 404."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse

from api import versions
from api.access import ApiRequest
from api.answers import answer
from api.problems import conflict, not_found
from api.schedules.document import document
from schedules import editing
from schedules.models import Schedule


def own(request: ApiRequest, schedule_id: UUID) -> Schedule:
    found = Schedule.objects.for_user(request.auth.user).filter(id=schedule_id).first()
    if found is None:
        raise not_found()
    return found


@contextmanager
def changing(request: ApiRequest, schedule_id: UUID) -> Iterator[Schedule]:
    """Lock the schedule in a transaction, if it is at the version of `If-Match`. Raises problems 404, 409 and 412."""
    with transaction.atomic():
        mine = Schedule.objects.for_user(request.auth.user)
        found = mine.select_for_update(no_key=True).filter(id=schedule_id).first()
        if found is None:
            raise not_found()
        versions.require(request, found.version, lambda: document(found))
        try:
            yield found
        except editing.Conflict as error:
            raise conflict(
                "The schedule is not in a state that allows this. See current.", current=document(error.current)
            ) from None


def show(schedule: Schedule, status: int = 200, **headers: str) -> HttpResponse:
    return answer(document(schedule), status, ETag=versions.etag(schedule.version), **headers)
