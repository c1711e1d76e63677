"""Where mirror rows are not what their schedules make of them, and how to mend that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django_celery_beat.models import PeriodicTask

from schedules import mirror
from schedules.models import Schedule


@dataclass(frozen=True, slots=True)
class Drift:
    """One mirror row and what is wrong with it. `schedule_id` is None for a row that mirrors nothing."""

    schedule_id: UUID | None
    task_id: int | None
    wrong: str


def find() -> Iterator[Drift]:
    """Compare every mirror row with its schedule."""
    for schedule in Schedule.objects.select_related("periodic_task").order_by("id").iterator(chunk_size=1_000):
        if wrong := _wrong(schedule):
            yield Drift(schedule.id, schedule.periodic_task_id, wrong)
    for task_id in PeriodicTask.objects.filter(task=mirror.FIRE, mirrored_schedule=None).values_list("id", flat=True):
        yield Drift(None, task_id, "mirrors no schedule")


@transaction.atomic
def mend(drift: Drift) -> None:
    """Make the row what the schedule, which is the truth, makes of it; a row that mirrors nothing is removed."""
    if drift.schedule_id is None:
        PeriodicTask.objects.filter(id=drift.task_id, mirrored_schedule=None).delete()
        return
    schedule = Schedule.objects.select_for_update().get(id=drift.schedule_id)
    mirror.write(schedule)
    Schedule.objects.filter(id=schedule.id).update(periodic_task=schedule.periodic_task)


def _wrong(schedule: Schedule) -> str:
    if schedule.periodic_task is None:
        return "has no mirror row"
    fields = mirror.fields(schedule)
    differing = [name for name, value in fields.items() if getattr(schedule.periodic_task, name) != value]
    return f"differs in {', '.join(differing)}" if differing else ""
