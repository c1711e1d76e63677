"""Pause, resume, archive, delete and restore schedules that the caller has locked, and change their tags.

They are changed in sets: the number of statements does not grow with their number. Each gets a new version and a
`ScheduleEvent`. `now` is the database's clock, `by` the acting user (None: nobody who is signed in).
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import Error
from django.db.models import Q, QuerySet

from common.database.postgres import change
from jobs.batches.withdrawal import forget, withdraw
from notifications.reasons import DeliveryCode
from people.models import User
from schedules.changes.storage import write
from schedules.firing import fire, quarantine
from schedules.models import Schedule, ScheduleEvent
from schedules.parts import mirror, slots

Change = ScheduleEvent.Change
_State = Schedule.State


def lock(chosen: QuerySet[Schedule], now: datetime) -> list[Schedule]:
    """Lock schedules, and fire what is due of them under their present rules, so that no slot is lost."""
    locked = chosen.select_for_update(of=("self",), no_key=True).order_by("id")
    schedules = list(locked)
    if not (due := [one.id for one in schedules if is_due(one, now)]):
        return schedules
    while fire.fire_due(now, due):
        pass
    return list(locked.all())


def is_due(schedule: Schedule, now: datetime) -> bool:
    return schedule.next_fire_at is not None and schedule.next_fire_at <= now


def pause(schedules: Sequence[Schedule], now: datetime, by: User | None) -> None:
    """Fire nothing until `resume`, and cancel what is not sent yet."""
    _stop(schedules, _State.PAUSED, DeliveryCode.PAUSED, Change.PAUSED, now, by)


def archive(schedules: Sequence[Schedule], now: datetime, by: User | None) -> None:
    """Fire nothing, and leave the lists, until `put_back`; what is not sent yet is cancelled."""
    _stop(schedules, _State.ARCHIVED, DeliveryCode.ARCHIVED, Change.ARCHIVED, now, by)


def _stop(
    schedules: Sequence[Schedule], state: _State, code: DeliveryCode, what: Change, now: datetime, by: User | None
) -> None:
    before: dict[UUID, dict[str, Any]] = {}
    # A second pause, such as of another tab, must not replace the state from before the first.
    stopped = [one for one in schedules if one.state != state]
    for schedule in stopped:
        until = schedule.snoozed_until
        stored = {"state": str(schedule.state), "snoozed_until": None if until is None else until.isoformat()}
        before[schedule.id] = {"before": stored}
        schedule.state, schedule.next_fire_at, schedule.snoozed_until = state, None, None
    _withdraw(schedules, code)
    _save(stopped, what, now, by, before)


def resume(schedules: Sequence[Schedule], now: datetime, by: User | None) -> None:
    """Continue with the next slots after `now`, and end a snooze. Slots in between never fire.

    One that waited for Done when it was paused waits again, unless it is done or its timing was edited since.
    """
    waiting = still_waiting(schedules)
    running = []
    for schedule in schedules:
        schedule.snoozed_until = None
        if schedule.id in waiting:
            schedule.state = _State.AWAITING
        elif schedule.state != _State.AWAITING:
            running.append(schedule)
    _set_next_slots(running, now)
    _save(schedules, Change.RESUMED, now, by)


def still_waiting(schedules: Sequence[Schedule]) -> set[UUID]:
    """Return the ids of paused schedules that waited for Done before, and still do."""
    timed = Q(what__in=[Change.PAUSED, Change.DONE, Change.UNDONE]) | Q(what=Change.EDITED, detail__has_key="was")
    counting = [one for one in schedules if one.after_done and one.state == _State.PAUSED]
    return {key for key, before in _latest(timed, counting).items() if before.get("state") == _State.AWAITING}


def put_back(schedules: Sequence[Schedule], now: datetime, by: User | None, what: Change = Change.UNARCHIVED) -> None:
    """Undo `pause` or `archive`: each has the state and the snooze from before. Slots in between never fire."""
    before = _latest(Q(what__in=[Change.PAUSED, Change.ARCHIVED]), schedules)
    running, snoozed = [], {}
    for schedule in schedules:
        was = before.get(schedule.id, {})
        if until := was.get("snoozed_until"):
            snoozed[schedule.id] = {"snoozed_until": until}
        schedule.snoozed_until = None if until is None else datetime.fromisoformat(until)
        schedule.state = _State(was.get("state", _State.PAUSED))
        if schedule.state in {_State.ACTIVE, _State.FINISHED}:
            running.append(schedule)
    _set_next_slots(running, now)
    _save(schedules, what, now, by, snoozed)


def _latest(events: Q, schedules: Sequence[Schedule]) -> dict[UUID, dict[str, Any]]:
    """The state from before the latest of these events, by schedule; empty where it has none."""
    if not schedules:
        return {}
    chosen = ScheduleEvent.objects.filter(events, schedule__in=schedules).order_by("schedule_id", "-id")
    latest = chosen.distinct("schedule_id").values_list("schedule_id", "detail")
    return {schedule_id: detail.get("before", {}) for schedule_id, detail in latest}


def delete(schedules: Sequence[Schedule], now: datetime, by: User | None) -> None:
    """Mark as deleted: their history stays, and `restore` undoes it. What their jobs keep is deleted with them."""
    if keepers := [one.id for one in schedules if one.job_kind]:
        made = Schedule.objects.filter(made_by__in=keepers, deleted_at=None)
        if others := lock(made.exclude(id__in=[one.id for one in schedules]), now):
            delete(others, now, None)
    for schedule in schedules:
        schedule.deleted_at, schedule.next_fire_at = now, None
    _withdraw(schedules, DeliveryCode.DELETED)
    _save(schedules, Change.DELETED, now, by)


def restore(schedules: Sequence[Schedule], now: datetime, by: User | None) -> None:
    """Undo `delete`. Slots that passed in between never fire. The next checks restore what their jobs keep."""
    made = Schedule.objects.filter(made_by__in=[one.id for one in schedules if one.job_kind])
    if makers := {one for one in made.values_list("made_by_id", flat=True) if one is not None}:
        forget(*makers)
    for schedule in schedules:
        schedule.deleted_at = None
    _set_next_slots([one for one in schedules if one.state == _State.ACTIVE], now)
    _save(schedules, Change.RESTORED, now, by)


def set_tags(
    schedules: Sequence[Schedule], tags: Callable[[Sequence[str]], list[str]], now: datetime, by: User | None
) -> None:
    """Replace the tags of each by what `tags` makes of them."""
    for schedule in schedules:
        schedule.tags = tags(schedule.tags)
    _save(schedules, Change.EDITED, now, by)


def set_next_slot(schedule: Schedule, now: datetime, taken: Collection[datetime] | None = None) -> None:
    """Set the next slot after `now`, and the state that follows from it. Raises InvalidRule.

    `taken` are the slots after `now` that have an occurrence (None: read here).
    """
    schedule.next_fire_at = slots.of(schedule, now, taken).next_after(now)
    schedule.state = _State.FINISHED if schedule.next_fire_at is None else _State.ACTIVE
    schedule.error = ""


def set_next_slot_or_break(schedule: Schedule, now: datetime, taken: Collection[datetime] | None = None) -> None:
    """Like `set_next_slot`, for a stored rule: an unreadable one makes the schedule broken."""
    try:
        set_next_slot(schedule, now, taken)
    except Exception as error:
        if isinstance(error, Error):
            raise
        schedule.state, schedule.next_fire_at = _State.BROKEN, None
        schedule.error = quarantine.describe(error)


def _set_next_slots(schedules: Sequence[Schedule], now: datetime) -> None:
    taken = slots.settled([one.id for one in schedules], now) if schedules else {}
    for schedule in schedules:
        set_next_slot_or_break(schedule, now, taken.get(schedule.id, ()))


def _withdraw(schedules: Sequence[Schedule], code: DeliveryCode) -> None:
    announced = [one.id for one in schedules if one.audience]
    withdraw([one.id for one in schedules if not one.audience], code, announced=announced)


_CHANGED = (
    *("state", "error", "next_fire_at", "next_early_at", "snoozed_until"),
    *("deleted_at", "tags", "version", "updated_at"),
)
# Django's bulk_update makes a CASE of each value, which takes much CPU to build and to parse.
_WRITE = f"""
UPDATE schedules_schedule schedule SET {", ".join(f"{name} = new.{name}" for name in _CHANGED)}
  FROM jsonb_populate_recordset(NULL::schedules_schedule, %s::jsonb) AS new
 WHERE schedule.id = new.id
"""  # noqa: S608 - the names above


def _save(
    schedules: Sequence[Schedule],
    what: Change,
    now: datetime,
    by: User | None,
    details: Mapping[UUID, dict[str, Any]] = {},
) -> None:
    for schedule in schedules:
        schedule.version += 1
        schedule.updated_at = now
        schedule.set_next_early(now)
    events = [ScheduleEvent.of(one, what, now, by, **details.get(one.id, {})) for one in schedules]
    lost = [event for event in events if event.schedule.periodic_task_id is None]
    for event in lost:  # an operator has deleted its row of celery-beat
        write(event.schedule, None, event)
    rows = [{"id": one.id} | {name: getattr(one, name) for name in _CHANGED} for one in schedules]
    change(_WRITE, [json.dumps(rows, default=str)])
    mirror.switch(schedules)
    ScheduleEvent.objects.bulk_create([event for event in events if event not in lost])
