"""A person's changes of a schedule: create, reschedule, pause, resume, snooze, skip the next slot, run now, …

Each function locks the row, fires what is already due under the old rule, so that no slot is lost or fired twice, and
records a `ScheduleEvent`. `now` is the database's clock (`fire.read_clock().now`), `by` the acting user (None: nobody
who is signed in).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings
from django.db import transaction

from common.forms.edit_form import VersionConflict
from common.forms.not_possible import LimitReached
from common.times import snooze as snoozes
from common.uuid7 import uuid7
from jobs import kinds
from jobs.batches import withdrawal
from notifications.models import Channel
from people.models import User
from schedules.changes import state as state_changes
from schedules.changes.state import set_next_slot, set_next_slot_or_break
from schedules.changes.storage import write
from schedules.firing import early_messages, fire, quarantine
from schedules.models import Occurrence, Schedule, ScheduleEvent
from schedules.parts import slots, words
from schedules.rules import InvalidRule, Rule, from_done
from schedules.rules.civil import TICK
from work.broker.wakes import publish_after_commit

Change = ScheduleEvent.Change

_AUDIENCE = ("audience", "audience_key", "local_time")
EDITABLE = ("title", "body", *Schedule.TIMING, *Schedule.LATE, *Schedule.SENT_BY, *Schedule.JOB, *_AUDIENCE)


class ScheduleConflict(VersionConflict):
    """Also of a schedule that is deleted, or whose state does not allow the change."""

    current: Schedule


def editable(schedule: Schedule) -> dict[str, Any]:
    return {name: getattr(schedule, name) for name in EDITABLE}


def room(user: User) -> int:
    most: int = settings.MOST_SCHEDULES
    return most - Schedule.objects.filter(user=user, deleted_at=None).count()


def require_room(user: User) -> None:
    """Raises LimitReached."""
    if room(user) <= 0:
        raise LimitReached(words.limit_reached())


def create(schedule: Schedule, channels: Sequence[Channel], now: datetime, by: User | None = None) -> Schedule:
    """Insert a schedule that is not saved yet. Its time zone becomes its owner's if they have none.

    One that awaits Done goes on waiting.
    The caller's transaction holds the owner's lock. Raises IntegrityError if its id, from a form, exists already.
    """
    user = schedule.user
    if schedule.state != Schedule.State.AWAITING:
        set_next_slot(schedule, now)
    write(schedule, channels, ScheduleEvent.of(schedule, Change.CREATED, now, None if schedule.made_by else by or user))
    if not user.time_zone and not schedule.local_time:  # whose zone is the first on Earth, not the maker's
        user.time_zone = schedule.time_zone
        user.save(update_fields=["time_zone"])
    return schedule


@transaction.atomic
def duplicate(schedule_id: UUID, now: datetime, by: User | None = None) -> Schedule:
    """A copy with the same channels, named so. It is paused: nothing is sent twice before its owner edits it."""
    original = _lock(schedule_id, now)
    copy = Schedule(**editable(original), user=original.user, state=Schedule.State.PAUSED)
    taken = Schedule.objects.for_user(original.user).values_list("title", flat=True)
    copy.title = words.copy_of(original.title, set(taken))
    created = ScheduleEvent.of(copy, Change.CREATED, now, by, copy_of=str(original.id))
    write(copy, list(original.channels.all()), created)
    return copy


@transaction.atomic
def reschedule(
    wanted: Schedule, now: datetime, channels: Sequence[Channel] | None = None, by: User | None = None
) -> Schedule:
    """Give the stored schedule the editable values of `wanted`, and these channels; without them, they stay.

    Raises `ScheduleConflict` if its version is not that of `wanted`.
    """
    schedule = _lock(wanted.id, now)
    if schedule.version != wanted.version:
        raise ScheduleConflict(schedule)
    return reschedule_locked(schedule, wanted, now, channels, by)


def reschedule_locked(
    schedule: Schedule, wanted: Schedule, now: datetime, channels: Sequence[Channel] | None, by: User | None
) -> Schedule:
    """As `reschedule`, for one that the caller's transaction has locked at that version."""
    if state_changes.is_due(schedule, now):
        schedule = _lock(schedule.id, now)
    values = editable(wanted)
    if _changes_nothing(schedule, values, channels):
        return schedule
    was, early = timing(schedule), schedule.early
    if not asks_the_same(schedule, wanted):
        withdrawal.forget(schedule.id)
    for name, value in values.items():
        setattr(schedule, name, value)
    detail = {} if was == timing(schedule) else {"was": was}
    stopped = schedule.state in {Schedule.State.PAUSED, Schedule.State.ARCHIVED}
    if not stopped and (detail or schedule.state == Schedule.State.BROKEN):
        set_next_slot(schedule, now)
    _save(schedule, Change.EDITED, now, by, channels, **detail)
    if early and not schedule.early:
        early_messages.withdraw_outdated(schedule, now)
    return schedule


def _changes_nothing(schedule: Schedule, values: dict[str, Any], channels: Sequence[Channel] | None) -> bool:
    """Also a broken one is written again: its rule may be readable by now."""
    if schedule.state == Schedule.State.BROKEN or editable(schedule) != values:
        return False
    return channels is None or {one.id for one in channels} == {one.id for one in schedule.ordered_channels()}


class StateChange(Protocol):
    def __call__(self, schedule_id: UUID, now: datetime, by: User | None = None) -> Schedule: ...


def _of_one(
    change: Callable[[Sequence[Schedule], datetime, User | None], None],
    *,
    deleted: bool = False,
    archived: bool | None = None,
) -> StateChange:
    """A change of `state` for one schedule. It raises `ScheduleConflict` for a deleted one, unless `deleted` allows it.

    `archived`: whether the schedule must be archived; None: no matter.
    """

    @transaction.atomic
    def change_one(schedule_id: UUID, now: datetime, by: User | None = None) -> Schedule:
        schedule = _lock(schedule_id, now, deleted=deleted)
        if archived not in (None, schedule.state == Schedule.State.ARCHIVED):
            raise ScheduleConflict(schedule)
        change([schedule], now, by)
        return schedule

    return change_one


pause = _of_one(state_changes.pause, archived=False)
resume = _of_one(state_changes.resume, archived=False)
archive = _of_one(state_changes.archive, archived=False)
unarchive = _of_one(state_changes.put_back, archived=True)
delete = _of_one(state_changes.delete, deleted=True)
restore = _of_one(state_changes.restore, deleted=True)


@transaction.atomic
def snooze(schedule_id: UUID, until: datetime, now: datetime, by: User | None = None) -> Schedule:
    """Fire nothing before `until`. Raises InvalidSnooze, and `ScheduleConflict` if the schedule is not active."""
    snoozes.check(until, now)
    schedule = _lock(schedule_id, now)
    if schedule.next_fire_at is None:
        raise ScheduleConflict(schedule)
    schedule.snoozed_until = until
    set_next_slot_or_break(schedule, now)
    return _save(schedule, Change.SNOOZED, now, by, until=until.isoformat())


@transaction.atomic
def skip_next(schedule_id: UUID, slot: datetime, now: datetime, by: User | None = None) -> Schedule:
    """Skip `slot`. Raises `ScheduleConflict` if it is not the next one."""
    schedule = _lock(schedule_id, now)
    if schedule.next_fire_at != slot:
        raise ScheduleConflict(schedule)
    return _skip(schedule, slot, now, by)


@transaction.atomic
def replace_slot(
    schedule_id: UUID, slot: datetime, rule: Rule, version: int, now: datetime, by: User | None
) -> Schedule:
    """Skip `slot`, and create a copy with the same channels and this rule of one time; returns the copy.

    The caller's transaction holds the owner's lock. Raises `ScheduleConflict` if the version is another one, or `slot`
    is none that is still to come.
    """
    schedule = _lock(schedule_id, now)
    if schedule.version != version or slots.of(schedule, now).next_after(max(slot - TICK, now)) != slot:
        raise ScheduleConflict(schedule)
    copy = Schedule(**editable(schedule), user=schedule.user)
    copy.kind, copy.rule, copy.starts_at, copy.ends_at, copy.excluded = rule.kind, rule.data(), None, None, []
    set_next_slot(copy, now)
    created = ScheduleEvent.of(copy, Change.CREATED, now, by, replaces=str(schedule_id), slot=slot.isoformat())
    write(copy, list(schedule.channels.all()), created)
    _skip(schedule, slot, now, by)
    return copy


def _skip(schedule: Schedule, slot: datetime, now: datetime, by: User | None) -> Schedule:
    skipped = Occurrence(
        schedule=schedule,
        scheduled_for=slot,
        outcome=Occurrence.Outcome.SKIPPED,
        reason=Occurrence.Reason.BY_PERSON,
        version=schedule.version,
    )
    Occurrence.objects.bulk_create([skipped], ignore_conflicts=True)
    if slot == schedule.next_fire_at:
        # Not from now: a clock that was set back would open what lies between once more.
        set_next_slot_or_break(schedule, slot)
    return _save(schedule, Change.SKIPPED, now, by, slot=slot.isoformat())


@transaction.atomic
def unskip(schedule_id: UUID, slot: datetime, now: datetime, by: User | None = None) -> Schedule:
    """Undo `skip_next` of a slot that is still to come.

    Raises `ScheduleConflict` if no person skipped it, or it has passed (even if the clock was set back since).
    """
    schedule = _lock(schedule_id, now)
    if slot <= now:
        raise ScheduleConflict(schedule)
    skipped = schedule.occurrences.filter(scheduled_for=slot, reason=Occurrence.Reason.BY_PERSON).first()
    # An edit made after the slot's time has settled it: without this record the slot would be lost.
    if skipped is None or schedule.events.filter(version__gt=skipped.version, at__gte=slot).exists():
        raise ScheduleConflict(schedule)
    skipped.delete()
    if schedule.state in {Schedule.State.ACTIVE, Schedule.State.FINISHED}:
        # Not from now, as in skip_next. And not the slot itself: after an edit it may not be one any more.
        set_next_slot_or_break(schedule, min(slot, schedule.next_fire_at or slot) - TICK)
    return _save(schedule, Change.UNSKIPPED, now, by, slot=slot.isoformat())


@transaction.atomic
def done(schedule_id: UUID, now: datetime, by: User | None = None, message: UUID | None = None) -> Schedule:
    """Count the next slot from now, if it waits for that, paused or not; else nothing changes.

    `message`: what was answered.
    """
    schedule = _lock(schedule_id, now, deleted=True)
    is_paused = bool(state_changes.still_waiting([schedule]))
    if not (is_paused or schedule.state == Schedule.State.AWAITING) or schedule.deleted_at is not None:
        return schedule
    was = timing(schedule)
    with suppress(InvalidRule):  # an unreadable one breaks below
        rule = from_done.begin(schedule.timetable().rule, now)
        schedule.kind, schedule.rule = rule.kind, rule.data()
    if not is_paused:
        set_next_slot_or_break(schedule, now)
    return _save(schedule, Change.DONE, now, by, was=was, message=message and str(message), fired=schedule.fired_count)


@transaction.atomic
def undo_done(schedule_id: UUID, now: datetime, by: User | None = None, message: UUID | None = None) -> Schedule:
    """Wait again, if `done` with this message was the last change, and nothing has fired since; else do nothing."""
    schedule = _lock(schedule_id, now, deleted=True)
    last = schedule.events.order_by("-id").first()
    if last is None or last.what != Change.DONE or last.detail["message"] != (message and str(message)):
        return schedule
    if schedule.state == Schedule.State.BROKEN or schedule.fired_count != last.detail["fired"]:
        return schedule
    schedule.kind, schedule.rule = last.detail["was"]["kind"], last.detail["was"]["rule"]
    if schedule.state != Schedule.State.PAUSED:
        schedule.state, schedule.next_fire_at = Schedule.State.AWAITING, None
    return _save(schedule, Change.UNDONE, now, by, before={"state": Schedule.State.AWAITING})


@transaction.atomic
def run_now(schedule_id: UUID, now: datetime, by: User | None = None, occurrence_id: UUID | None = None) -> Schedule:
    """Fire once, now, whether paused or not, as a manual occurrence; next slot, version and `fired_count` stay.

    `occurrence_id` comes from the button: pressed twice, it fires once. Raises `ScheduleConflict` if it is deleted or
    archived, InvalidRule if its rule or its zone is unreadable.
    """
    schedule = _lock(schedule_id, now)
    if schedule.state == Schedule.State.ARCHIVED:
        raise ScheduleConflict(schedule)
    schedule.timetable()
    if occurrence_id is not None and Occurrence.objects.filter(id=occurrence_id).exists():
        return schedule
    publish_after_commit(fire.fire_now(schedule_id, now, occurrence_id or uuid7()))
    ScheduleEvent.of(schedule, Change.RUN, now, by).save()
    return schedule


def _lock(schedule_id: UUID, now: datetime, *, deleted: bool = False) -> Schedule:
    """Raises `ScheduleConflict` if it is deleted, maybe by another tab at this moment, unless it may be (`deleted`)."""
    if not (schedules := state_changes.lock(Schedule.objects.filter(id=schedule_id), now)):
        raise Schedule.DoesNotExist
    if schedules[0].deleted_at is not None and not deleted:
        raise ScheduleConflict(schedules[0])
    return schedules[0]


def asks_the_same(one: Schedule, other: Schedule) -> bool:
    """Whether both ask the same question, so that what the checks of one have found holds for the other."""
    mine, theirs = (kinds.question(each.job_kind, each.job_payload, each.connection_id) for each in (one, other))
    return mine == theirs


def _save(
    schedule: Schedule,
    what: ScheduleEvent.Change,
    now: datetime,
    by: User | None,
    channels: Sequence[Channel] | None = None,
    **detail: object,
) -> Schedule:
    notices = quarantine.notices_of(schedule.id, schedule.version) if what == Change.EDITED else []
    schedule.version += 1
    schedule.updated_at = now
    if write(schedule, channels, ScheduleEvent.of(schedule, what, now, by, **detail), notices):
        quarantine.drop_notices(notices)
    if schedule.early:
        early_messages.withdraw_outdated(schedule, now)
    return schedule


def timing(schedule: Schedule) -> dict[str, object]:
    """As JSON, for `detail["was"]` of events."""
    timing = {name: getattr(schedule, name) for name in Schedule.TIMING}
    written = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in timing.items()}
    return written | {"excluded": [day.isoformat() for day in schedule.excluded]}
