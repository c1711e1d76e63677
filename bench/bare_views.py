"""The peers of `bench.api` and `bench.intake`: bare views of the same read, insert or update, without any checks.

Those under `same/` find the person of the token, and write all rows that ours writes, in one transaction.
"""

from __future__ import annotations

import hashlib
import json
import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_POOL", "1")

import django
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.utils import timezone

django.setup()
settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
application = ASGIHandler()

from django_celery_beat.models import CrontabSchedule, PeriodicTask  # noqa: E402

from api.models import StoredAnswer  # noqa: E402
from common.uuid7 import uuid7  # noqa: E402
from events.models import Event  # noqa: E402
from notifications.models import Channel  # noqa: E402
from people.models import ApiToken, User  # noqa: E402
from schedules.models import Schedule, ScheduleEvent  # noqa: E402

_SHOWN = [field.attname for field in Schedule._meta.concrete_fields]


def read(request: HttpRequest, schedule_id: str) -> JsonResponse:
    return _show(Schedule.objects.get(id=schedule_id))


def create(request: HttpRequest, schedule_id: str) -> JsonResponse:
    """A copy of the schedule, paused."""
    schedule = Schedule(
        id=uuid7(),
        user_id=int(request.headers["X-User"]),
        title="Water the plants",
        kind="daily",
        rule={"time": "09:00"},
        time_zone="UTC",
        state=Schedule.State.PAUSED,
    )
    schedule.save(force_insert=True)
    return _show(schedule)


def change(request: HttpRequest, schedule_id: str) -> JsonResponse:
    schedule = Schedule.objects.get(id=schedule_id)
    schedule.title = json.loads(request.body)["title"]
    schedule.save()
    return _show(schedule)


def same_read(request: HttpRequest, schedule_id: str) -> JsonResponse:
    return _show(Schedule.objects.get(id=schedule_id, user=_person(request)))


def same_create(request: HttpRequest) -> JsonResponse:
    sent, person = json.loads(request.body), _person(request)
    schedule = Schedule(id=uuid7(), user=person, kind="daily", rule=sent["timing"]["daily"], time_zone="UTC")
    schedule.title, schedule.state = sent["title"], Schedule.State.PAUSED
    with transaction.atomic():
        crontab = CrontabSchedule.objects.filter(hour="9", minute="0").first()
        task = PeriodicTask(name=f"{schedule.title} ({schedule.id})", task="schedules.fire", crontab=crontab)
        PeriodicTask.objects.bulk_create([task])  # its save() locks a row that all share
        schedule.periodic_task = task
        schedule.save(force_insert=True)
        schedule.channels.set(Channel.objects.filter(user=person, id__in=sent["channel_ids"]))
        _record(schedule, ScheduleEvent.Change.CREATED)
        response = _show(schedule)
        StoredAnswer.objects.create(
            user=person, key=request.headers["Idempotency-Key"], status=201, headers={}, body=response.content.decode()
        )
    return response


def same_change(request: HttpRequest, schedule_id: str) -> JsonResponse:
    sent, person = json.loads(request.body), _person(request)
    with transaction.atomic():
        own = Schedule.objects.select_for_update(of=["self"]).select_related("periodic_task")
        schedule = own.get(id=schedule_id, user=person)
        schedule.title, schedule.version = sent["title"], schedule.version + 1
        schedule.save()
        PeriodicTask.objects.filter(id=schedule.periodic_task_id).update(name=f"{schedule.title} ({schedule.id})")
        _record(schedule, ScheduleEvent.Change.EDITED)
    return _show(schedule)


def _person(request: HttpRequest) -> User:
    hashed = hashlib.sha256(request.headers["Authorization"].split()[1].encode()).hexdigest()
    return ApiToken.objects.select_related("user").get(hashed=hashed, revoked_at=None).user


def _record(schedule: Schedule, what: ScheduleEvent.Change) -> None:
    event = ScheduleEvent(schedule=schedule, what=what, at=timezone.now(), by=schedule.user, version=schedule.version)
    event.save(force_insert=True)


def publish(request: HttpRequest) -> JsonResponse:
    sent = json.loads(request.body)
    event = Event(
        id=uuid7(),
        user_id=int(request.headers["X-User"]),
        key=sent["id"],
        correlation_id=sent["id"],
        type=sent["type"],
        source=sent["source"],
        data=sent["data"],
        occurred_at=timezone.now(),
    )
    event.save(force_insert=True)
    response = JsonResponse({"items": [{"id": event.key, "new": True}]}, status=202)
    response["Content-Length"] = str(len(response.content))
    return response


def _show(schedule: Schedule) -> JsonResponse:
    response = JsonResponse({name: getattr(schedule, name) for name in _SHOWN})
    response["Content-Length"] = str(len(response.content))  # as CommonMiddleware does
    return response


urlpatterns = [
    path("read/<uuid:schedule_id>", read),
    path("create/<uuid:schedule_id>", create),
    path("change/<uuid:schedule_id>", change),
    path("same/schedules", same_create),
    path("same/read/<uuid:schedule_id>", same_read),
    path("same/change/<uuid:schedule_id>", same_change),
    path("event", publish),
]
