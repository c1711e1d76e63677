"""Celery's edge: what makes the clock go under the stock scheduler too. Beside our own beat, it finds nothing to do."""

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
    """In the process of a beat, of ours or of the stock scheduler."""
    connection_created.connect(mirror.sign_as_beat)
    if connection.connection is not None:
        mirror.sign_as_beat(connection)


@shared_task(name=mirror.FIRE, ignore_result=True)
def fire_one(schedule_id: str) -> None:
    """What a mirror row rings."""
    following.follow()
    fire.fire_due(fire.read_clock().now, only=UUID(schedule_id))


@shared_task(name="schedules.sweep", ignore_result=True)
def sweep() -> None:
    """Fire what is due, whether or not its mirror row has rung: a crontab cannot say all that a rule can."""
    following.follow()
    now = fire.read_clock().now
    while fire.fire_due(now):
        pass
