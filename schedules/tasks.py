"""Celery's edge: the task of the mirror rows, for those who run the stock scheduler."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from schedules import firing, mirror


@shared_task(name=mirror.FIRE, ignore_result=True)
def fire(schedule_id: str) -> None:
    firing.fire_due(firing.read_clock().now, only=UUID(schedule_id))
