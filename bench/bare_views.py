"""The peers of `bench.api` and `bench.intake`: bare views of the same read, insert or update, without any checks."""

from __future__ import annotations

import json
import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_POOL", "1")

import django
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.utils import timezone

django.setup()
settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
application = ASGIHandler()

from common.uuid7 import uuid7  # noqa: E402
from events.models import Event  # noqa: E402
from schedules.models import Schedule  # noqa: E402

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
    path("event", publish),
]
