"""What a person does with a schedule: create, reschedule, pause, resume, snooze, skip the next one, run now, …

Each locks the row, and first turns slots that are already due under the old rule into occurrences, so that an edit
neither loses nor doubles one; each leaves a `ScheduleEvent`. `now` is the database's clock (`firing.read_clock().now`),
`by` who does it (None: nobody who is signed in).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import cast
from uuid import UUID

from django.db import Error, transaction

from common.uuid7 import uuid7
from notifications import deliveries
from notifications.deliveries import fallback, outbox
from notifications.models import Channel
from notifications.reasons import Code
from people.models import User
from schedules import mirror
from schedules.firing import fire, quarantine
from schedules.models import Occurrence, Schedule, ScheduleEvent

What = ScheduleEvent.What

_TIMING = ("kind", "rule", "time_zone", "starts_at", "ends_at", "excluded", "max_count")
_SENDING = ("spread", "misfire", "grace", "stale_after", "urgent", "channel_order", "escalate_after")
_OF_A_COPY = (*_TIMING, *_SENDING, "user_id", "title", "body")


class Conflict(Exception):
    """The schedule is not as the editor has seen it. `current` is how it is now; nothing has been changed."""

    def __init__(self, current: Schedule) -> None:
        super().__init__(f"The schedule is at version {current.version}")
        self.current = current


@dataclass(frozen=True, slots=True)
class Draft:
    """What a person has decided about a schedule, validated. `rule` is the canonical JSON of `kind`.

    Where `in_order`, the channels are tried in the order given; `escalate_after` is in minutes, `grace`, `spread` and
    `stale_after` are in seconds.
    """

    title: str
    body: str
    kind: str
    rule: dict[str, object]
    time_zone: str
    channels: Sequence[Channel]
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    excluded: Sequence[date] = ()
    max_count: int | None = None
    urgent: bool = False
    in_order: bool = False
    escalate_after: int | None = None
    misfire: Schedule.Misfire = Schedule.Misfire.LATEST
    grace: int = 60
    spread: int = 0
    stale_after: int | None = None


@transaction.atomic
def create(user: User, draft: Draft, now: datetime, made_as: UUID | None = None, by: User | None = None) -> Schedule:
    """`made_as` is the id that a form was given when it was shown: sent twice, the second raises IntegrityError.

    `by` is who does it, where that is not its owner.
    """
    schedule = Schedule(user=user, id=made_as or uuid7())
    _apply(schedule, draft)
    aim(schedule, now)
    _insert(schedule, draft.channels)
    _note(schedule, What.CREATED, now, by or user)
    return schedule


@transaction.atomic
def duplicate(schedule_id: UUID, now: datetime, by: User | None = None) -> Schedule:
    """A copy with the same channels, paused: it says nothing twice until its owner has looked at it."""
    original = _lock(schedule_id, now)
    copy = Schedule(**{name: getattr(original, name) for name in _OF_A_COPY}, state=Schedule.State.PAUSED)
    _insert(copy, list(original.channels.all()))
    _note(copy, What.CREATED, now, by, copy_of=str(original.id))
    return copy


@transaction.atomic
def reschedule(schedule_id: UUID, draft: Draft, now: datetime, version: int, by: User | None = None) -> Schedule:
    """Put the draft in the schedule's place. Raises `Conflict` when it is not at `version` any more."""
    schedule = _lock(schedule_id, now)
    if schedule.version != version:
        raise Conflict(schedule)
    was = {name: getattr(schedule, name) for name in _TIMING}
    _apply(schedule, draft)
    if schedule.state != Schedule.State.PAUSED:
        aim(schedule, now)
    _save(schedule, now)
    schedule.channels.set(draft.channels)
    timing_changed = was != {name: getattr(schedule, name) for name in _TIMING}
    _note(schedule, What.EDITED, now, by, **({"was": _written(was)} if timing_changed else {}))
    return schedule


@transaction.atomic
def pause(schedule_id: UUID, now: datetime, by: User | None = None) -> Schedule:
    """Nothing fires until `resume`; what is recorded and not yet sent is cancelled."""
    schedule = _lock(schedule_id, now)
    schedule.state, schedule.next_fire_at, schedule.snoozed_until = Schedule.State.PAUSED, None, None
    deliveries.cancel_unsent(schedule.id, Code.PAUSED)
    fallback.stop(schedule.id)
    _note(_save(schedule, now), What.PAUSED, now, by)
    return schedule


@transaction.atomic
def resume(schedule_id: UUID, now: datetime, by: User | None = None) -> Schedule:
    """Go on with the next slot after `now`, and end a snooze: what lay in between is never fired."""
    schedule = _lock(schedule_id, now)
    schedule.snoozed_until = None
    aim_or_break(schedule, now)
    _note(_save(schedule, now), What.RESUMED, now, by)
    return schedule


@transaction.atomic
def snooze(schedule_id: UUID, until: datetime, now: datetime, by: User | None = None) -> Schedule:
    """Fire nothing before `until`, then go on. Raises `Conflict` when the schedule is not active."""
    schedule = _lock(schedule_id, now)
    if schedule.next_fire_at is None:
        raise Conflict(schedule)
    schedule.snoozed_until = until
    aim_or_break(schedule, now)
    _note(_save(schedule, now), What.SNOOZED, now, by, until=until.isoformat())
    return schedule


@transaction.atomic
def skip_next(schedule_id: UUID, slot: datetime, now: datetime, by: User | None = None) -> Schedule:
    """Skip `slot`, which the person has seen as the next one. Raises `Conflict` when it is not, or not any more."""
    schedule = _lock(schedule_id, now)
    if schedule.next_fire_at != slot:
        raise Conflict(schedule)
    skipped = Occurrence(
        schedule=schedule,
        scheduled_for=slot,
        outcome=Occurrence.Outcome.SKIPPED,
        reason=Occurrence.Reason.ASKED,
        version=schedule.version,
    )
    Occurrence.objects.bulk_create([skipped], ignore_conflicts=True)
    aim_or_break(schedule, slot)  # not from now: a clock that was set back would open what lies between once more
    _note(_save(schedule, now), What.SKIPPED, now, by, slot=slot.isoformat())
    return schedule


@transaction.atomic
def unskip(schedule_id: UUID, slot: datetime, now: datetime, by: User | None = None) -> Schedule:
    """Undo `skip_next` of a slot that is still to come. Raises `Conflict` when it was not skipped by a person, or has
    passed meanwhile, even if the clock was set back since."""
    schedule = _lock(schedule_id, now)
    if slot <= now or schedule.deleted_at is not None:
        raise Conflict(schedule)
    skipped = schedule.occurrences.filter(scheduled_for=slot, reason=Occurrence.Reason.ASKED).first()
    # After an edit made later than the slot, the timetable does not come back to it: its record would be lost.
    if skipped is None or schedule.events.filter(version__gt=skipped.version, at__gte=slot).exists():
        raise Conflict(schedule)
    skipped.delete()
    if schedule.state in {Schedule.State.ACTIVE, Schedule.State.FINISHED}:
        # Not from now, as in skip_next; and not at the slot itself, which an edit may have made none.
        aim_or_break(schedule, min(slot, schedule.next_fire_at or slot) - timedelta(microseconds=1))
    _note(_save(schedule, now), What.UNSKIPPED, now, by, slot=slot.isoformat())
    return schedule


@transaction.atomic
def run_now(schedule_id: UUID, now: datetime, by: User | None = None, run_as: UUID | None = None) -> Schedule:
    """Fire once, now, whatever the state: an occurrence of its own, marked as manual. The timetable, its count and the
    version stay. `run_as` is the id that a button gave the occurrence: pressed twice, it fires once. Raises `Conflict`
    when the schedule has been deleted, `recurrence.InvalidRule` when its rule, or the zone in which it would say the
    time, cannot be read."""
    schedule = _lock(schedule_id, now)
    if schedule.deleted_at is not None:
        raise Conflict(schedule)
    schedule.timetable()
    if run_as is not None and Occurrence.objects.filter(id=run_as).exists():
        return schedule
    outbox.publish_after_commit(fire.fire_by_hand(schedule_id, now, run_as or uuid7()))
    _note(schedule, What.RUN, now, by)
    return schedule


@transaction.atomic
def delete(schedule_id: UUID, now: datetime, by: User | None = None) -> Schedule:
    """Soft: `restore` brings it back, its history stays."""
    schedule = _lock(schedule_id, now)
    schedule.deleted_at, schedule.next_fire_at = now, None
    deliveries.cancel_unsent(schedule.id, Code.DELETED)
    fallback.stop(schedule.id)
    _note(_save(schedule, now), What.DELETED, now, by)
    return schedule


@transaction.atomic
def restore(schedule_id: UUID, now: datetime, by: User | None = None) -> Schedule:
    """Undo `delete`: as it was, less the slots that passed in between."""
    schedule = _lock(schedule_id, now)
    schedule.deleted_at = None
    if schedule.state == Schedule.State.ACTIVE:
        aim_or_break(schedule, now)
    _note(_save(schedule, now), What.RESTORED, now, by)
    return schedule


def _lock(schedule_id: UUID, now: datetime) -> Schedule:
    schedule = Schedule.objects.select_for_update(of=("self",)).select_related("user").get(id=schedule_id)
    while schedule.next_fire_at is not None and schedule.next_fire_at <= now and fire.fire_due(now, schedule_id):
        schedule.refresh_from_db()
    return schedule


def _apply(schedule: Schedule, draft: Draft) -> None:
    schedule.title, schedule.body = draft.title, draft.body
    schedule.kind, schedule.rule, schedule.time_zone = draft.kind, draft.rule, draft.time_zone
    schedule.starts_at, schedule.ends_at, schedule.max_count = draft.starts_at, draft.ends_at, draft.max_count
    schedule.excluded = list(draft.excluded)
    schedule.misfire, schedule.grace, schedule.spread = draft.misfire, draft.grace, draft.spread
    schedule.stale_after, schedule.urgent = draft.stale_after, draft.urgent
    schedule.channel_order = [channel.id for channel in draft.channels] if draft.in_order else []
    schedule.escalate_after = draft.escalate_after


def aim(schedule: Schedule, now: datetime) -> None:
    """Set the next slot after `now`, and the state that follows from it. A slot that has its occurrence is passed by:
    it was skipped ahead of its time, or the clock has been set back."""
    timetable = schedule.timetable()
    used_up = schedule.max_count is not None and schedule.fired_count >= schedule.max_count
    after = max(now, schedule.snoozed_until - timedelta(microseconds=1)) if schedule.snoozed_until else now
    slot = None if used_up else timetable.next_after(after)
    if slot is not None and not schedule._state.adding:
        taken = set(schedule.occurrences.filter(scheduled_for__gte=slot).values_list("scheduled_for", flat=True))
        while slot in taken:
            slot = timetable.next_after(slot)
    schedule.next_fire_at = slot
    schedule.state = Schedule.State.FINISHED if slot is None else Schedule.State.ACTIVE
    schedule.error = ""


def aim_or_break(schedule: Schedule, now: datetime) -> None:
    """Like `aim`, for a rule that nobody has just checked: one that cannot be read any more is quarantined."""
    try:
        aim(schedule, now)
    except Exception as error:
        if isinstance(error, Error):
            raise
        schedule.state, schedule.next_fire_at = Schedule.State.BROKEN, None
        schedule.error = quarantine.described(error)


def _insert(schedule: Schedule, channels: Sequence[Channel]) -> None:
    mirror.write(schedule)
    schedule.save(force_insert=True)
    schedule.channels.set(channels)


def _save(schedule: Schedule, now: datetime) -> Schedule:
    schedule.version += 1
    schedule.updated_at = now
    mirror.write(schedule)
    schedule.save()
    return schedule


def _note(schedule: Schedule, what: ScheduleEvent.What, now: datetime, by: User | None, **detail: object) -> None:
    ScheduleEvent.objects.create(schedule=schedule, what=what, at=now, by=by, version=schedule.version, detail=detail)


def _written(timing: dict[str, object]) -> dict[str, object]:
    written = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in timing.items()}
    return written | {"excluded": [day.isoformat() for day in cast(list[date], timing["excluded"])]}
