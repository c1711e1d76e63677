"""What a person does with a schedule: create, reschedule, pause, resume, delete, restore.

Each locks the row, and first turns slots that are already due under the old rule into occurrences, so that an edit
neither loses nor doubles one. `now` is the database's clock (`firing.read_clock().now`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from notifications import deliveries, outbox
from notifications.models import Channel
from people.models import User
from schedules import due, firing, mirror
from schedules.models import Schedule


class Conflict(Exception):
    """Somebody else has changed the schedule since the editor read it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a person has decided about a schedule, validated. `rule` is the canonical JSON of `kind`."""

    title: str
    body: str
    kind: str
    rule: dict[str, object]
    time_zone: str
    channels: Sequence[Channel]
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    max_count: int | None = None
    urgent: bool = False


@transaction.atomic
def create(user: User, draft: Draft, now: datetime) -> Schedule:
    schedule = Schedule(user=user)
    _apply(schedule, draft)
    _aim(schedule, now)
    mirror.write(schedule)
    schedule.save(force_insert=True)
    schedule.channels.set(draft.channels)
    return schedule


@transaction.atomic
def reschedule(schedule_id: UUID, draft: Draft, now: datetime, version: int) -> Schedule:
    """Put the draft in the schedule's place. Raises `Conflict` when it is not at `version` any more."""
    schedule = _lock(schedule_id, now)
    if schedule.version != version:
        raise Conflict
    _apply(schedule, draft)
    if schedule.state != Schedule.State.PAUSED:
        _aim(schedule, now)
    _save(schedule)
    schedule.channels.set(draft.channels)
    return schedule


@transaction.atomic
def pause(schedule_id: UUID, now: datetime) -> Schedule:
    """Nothing fires until `resume`; what is recorded and not yet sent is cancelled."""
    schedule = _lock(schedule_id, now)
    schedule.state, schedule.next_fire_at = Schedule.State.PAUSED, None
    deliveries.cancel_unsent(schedule.id, "The reminder was paused.")
    return _save(schedule)


@transaction.atomic
def resume(schedule_id: UUID, now: datetime) -> Schedule:
    """Go on with the next slot after `now`: what lay in the pause is never fired."""
    schedule = _lock(schedule_id, now)
    _aim(schedule, now)
    return _save(schedule)


@transaction.atomic
def delete(schedule_id: UUID, now: datetime) -> Schedule:
    """Soft: `restore` brings it back, its history stays."""
    schedule = _lock(schedule_id, now)
    schedule.deleted_at, schedule.next_fire_at = now, None
    deliveries.cancel_unsent(schedule.id, "The reminder was deleted.")
    return _save(schedule)


@transaction.atomic
def restore(schedule_id: UUID, now: datetime) -> Schedule:
    """Undo `delete`: as it was, less the slots that passed in between."""
    schedule = _lock(schedule_id, now)
    schedule.deleted_at = None
    if schedule.state == Schedule.State.ACTIVE:
        _aim(schedule, now)
    return _save(schedule)


def _lock(schedule_id: UUID, now: datetime) -> Schedule:
    schedule = Schedule.objects.select_for_update(of=("self",)).select_related("user").get(id=schedule_id)
    if schedule.next_fire_at is not None and schedule.next_fire_at <= now:
        outbox.ring_after_commit(firing.fire(due.take(now, schedule_id, 1), now))
        schedule.refresh_from_db()
    return schedule


def _apply(schedule: Schedule, draft: Draft) -> None:
    schedule.title, schedule.body = draft.title, draft.body
    schedule.urgent = draft.urgent
    schedule.kind, schedule.rule, schedule.time_zone = draft.kind, draft.rule, draft.time_zone
    schedule.starts_at, schedule.ends_at, schedule.max_count = draft.starts_at, draft.ends_at, draft.max_count


def _aim(schedule: Schedule, now: datetime) -> None:
    """Set the next slot after `now`, and the state that follows from it."""
    used_up = schedule.max_count is not None and schedule.fired_count >= schedule.max_count
    schedule.next_fire_at = None if used_up else schedule.timetable().next_after(now)
    schedule.state = Schedule.State.FINISHED if schedule.next_fire_at is None else Schedule.State.ACTIVE
    schedule.error = ""


def _save(schedule: Schedule) -> Schedule:
    schedule.version += 1
    mirror.write(schedule)
    schedule.save()
    return schedule
