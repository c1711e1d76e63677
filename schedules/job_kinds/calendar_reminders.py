"""The reminders of a calendar's events: made, changed and ended in the transaction that settles the job.

The id of a reminder follows from that of the calendar's and from the event, so that a second run makes none twice.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from common.texts import languages
from jobs.kinds.base import Ask
from notifications.channels import owner_notices
from notifications.channels.owner_notices import Notice
from people.user_lock import lock_at_once
from schedules.changes import editing
from schedules.job_kinds.calendar_events import Entry
from schedules.models import Schedule, ScheduleEvent
from schedules.parts import words
from work.broker.wakes import publish_after_commit


def apply(ask: Ask, written: Sequence[Entry], ended: Sequence[str], memory: Mapping[str, Any]) -> dict[str, Any] | None:
    """Make and change reminders, and end those with these keys; at the first check all whose keys are not in `memory`.

    Nothing where the calendar's own reminder was deleted, or is for an audience.

    Returns the memory without what could not be made, if that is anything: the next check tries again.
    """
    own = Schedule.objects.filter(user=ask.user_id, deleted_at=None, audience="")
    own = own.filter(id__in=[ask.origin_id]).select_related("user").prefetch_related("channels")
    if (calendar := own.first()) is None:
        return None
    name = partial(uuid5, calendar.id)
    now = lock_at_once(ask.user_id)
    made = Schedule.objects.filter(made_by=calendar).prefetch_related("channels")
    entries = {name(entry.key): entry for entry in written}
    over = set(map(name, ended))
    if ask.memory is None:
        staying = map(name, memory["events"])
        over = set(made.filter(deleted_at=None).exclude(id__in=staying).values_list("id", flat=True))
    stored = made.in_bulk([*entries, *over])
    for schedule_id in sorted(over & stored.keys()):
        if stored[schedule_id].deleted_at is None:
            editing.delete(schedule_id, now)
    if not (left_out := _write(calendar, entries, stored, now)):
        return None
    _note_left_out(ask, calendar, left_out, now)
    return {**memory, "events": {key: value for key, value in memory["events"].items() if key not in left_out}}


def _write(
    calendar: Schedule, entries: Mapping[UUID, Entry], stored: Mapping[UUID, Schedule], now: datetime
) -> list[str]:
    """New ones are sent as the calendar's own reminder is.

    Returns the keys of those for which its person may have no more reminders.
    """
    room, left_out = editing.room(calendar.user), []
    how = {name: getattr(calendar, name) for name in Schedule.SENT_BY}
    for schedule_id, entry in entries.items():
        if (schedule := stored.get(schedule_id)) is not None:
            _follow(schedule, entry, now)
        elif room > 0:
            schedule = Schedule(id=schedule_id, user=calendar.user, made_by=calendar, **entry.values, **how)
            editing.create(schedule, calendar.ordered_channels(), now)
            room -= 1
        else:
            left_out.append(entry.key)
    return left_out


def _follow(schedule: Schedule, entry: Entry, now: datetime) -> None:
    """Change the reminder with its event. One that its person deleted stays deleted; channels and urgency stay too."""
    if schedule.deleted_at is not None:
        deletion = schedule.events.filter(what=ScheduleEvent.Change.DELETED).latest("id")
        if deletion.by_id is not None:
            return
        schedule = editing.restore(schedule.id, now)
    if any(getattr(schedule, name) != value for name, value in entry.values.items()):
        for name, value in entry.values.items():
            setattr(schedule, name, value)
        editing.reschedule(schedule, now)


def _note_left_out(ask: Ask, calendar: Schedule, left_out: Sequence[str], now: datetime) -> None:
    """Tell its person once a day."""
    batch = uuid5(calendar.id, f"left out {now:%Y-%m-%d}")
    with languages.override(calendar.user.language):
        texts = words.calendar_left_out(calendar.title, len(left_out))
    publish_after_commit(owner_notices.record([Notice(ask.user_id, batch, *texts)], now))
