"""Tasks that fire schedules under the stock scheduler. Beside our own beat, they find nothing to do."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task
from celery.signals import beat_init
from django.db import connection
from django.db.backends.signals import connection_created

from schedules import following, mirror
from schedules.firing import fire


@beat_init.connect
def sign(**_: object) -> None:
    """In the process of any beat, ours or the stock scheduler."""
    connection_created.connect(mirror.sign_as_beat)
    if connection.connection is not None:
        mirror.sign_as_beat(connection)


@shared_task(name=mirror.FIRE, ignore_result=True)
def fire_one(schedule_id: str) -> None:
    """The task of a mirror row."""
    following.follow()
    fire.fire_due(fire.read_clock().now, only=UUID(schedule_id))


@shared_task(name="schedules.sweep", ignore_result=True)
def sweep() -> None:
    """Fire what is due even if no mirror row has run: a crontab cannot express every rule."""
    following.follow()
    now = fire.read_clock().now
    while fire.fire_due(now):
        pass
