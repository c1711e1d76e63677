"""Reminders from a calendar file that a person uploads. They are the person's own: nothing follows the file later.

The id of a reminder follows from the person and the event, so that a file that is imported again makes none twice.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid5

from django.db.models import QuerySet

from common.parsing.budget import Budget, OverBudget
from common.parsing.pool import ParsingUnavailable, parsed
from notifications.models import Channel
from people.models import User
from people.user_lock import Busy, lock_user
from schedules.changes import bulk, editing, state
from schedules.job_kinds import calendar_events, calendar_file
from schedules.job_kinds.calendar_events import Entry, Followed, ReminderTimes
from schedules.job_kinds.calendar_file import FileEvent
from schedules.models import Schedule, ScheduleEvent

LARGEST = 1024 * 1024
"""Bytes of a file. The browser that sends it back makes line ends and unreadable characters longer."""
MOST = 1_000
"""Events of a file."""
_PIECE = 100
_NAMESPACE = UUID("5b0e2c0a-1d0b-5e63-9a52-7f1f3a3c9c11")


class ImportRefused(Exception):
    """The file as a whole cannot be taken: `code` is too-large, no-calendar, no-events, too-many, busy or too-much,
    of which `problem` says what."""

    def __init__(self, code: str, problem: str = "") -> None:
        super().__init__(code)
        self.code, self.problem = code, problem


class Fate(StrEnum):
    """The result for an event."""

    NEW = "new"
    KNOWN = "known"  # there is a reminder for it already
    OVER = "over"
    CANCELLED = "cancelled"
    TWICE = "twice"  # an earlier one of the file has the same id
    FULL = "full"  # its person may have no more reminders
    UNFIT = "unfit"  # `note` says why


@dataclass(frozen=True, slots=True)
class Item:
    """One event of the file. `note`: why it is unfit, or what its reminder leaves out."""

    title: str
    key: str
    fate: Fate
    entry: Entry | None
    note: str


def read(user: User, raw: bytes, now: datetime) -> list[FileEvent]:
    """Raises ImportRefused."""
    try:
        file = parsed(calendar_file.read, raw, "", now, person=user.pk)
    except calendar_file.NotACalendar:
        raise ImportRefused("no-calendar") from None
    except ParsingUnavailable:
        raise ImportRefused("busy") from None
    except OverBudget as limit:
        raise ImportRefused("too-much", str(limit)) from None
    if not (events := file.events):
        raise ImportRefused("no-events")
    if file.dropped or len(events) > MOST:
        raise ImportRefused("too-many")
    return events


def plan(user: User, events: Sequence[FileEvent], times: ReminderTimes, now: datetime) -> list[Item]:
    """Return the result for each event: new reminders first, the soonest of them first. Raises ImportRefused."""
    try:
        followed = list(calendar_events.follow(events, times, user.zone, now, Budget()))
    except OverBudget as limit:
        raise ImportRefused("too-much", str(limit)) from None
    ids = [_id(user, one.key) for one in followed]
    imported = set(Schedule.objects.for_user(user).filter(id__in=ids).values_list("id", flat=True))
    first = {one.key: one for one in reversed(followed)}
    items = []
    for one in followed:
        fate = _fate(one, is_first=first[one.key] is one, is_imported=_id(user, one.key) in imported)
        items.append(Item(one.event.title, one.key, fate, one.entry if fate is Fate.NEW else None, one.problem))
    new = sorted((item for item in items if item.entry), key=lambda item: (item.entry.next_slot, item.key))  # type: ignore[union-attr]
    room = max(0, editing.room(user))
    full = [replace(item, fate=Fate.FULL, entry=None) for item in new[room:]]
    return [*new[:room], *full, *(item for item in items if item.fate is not Fate.NEW)]


def _fate(one: Followed, *, is_first: bool, is_imported: bool) -> Fate:
    if one.event.is_cancelled:
        return Fate.CANCELLED
    if one.is_over:
        return Fate.OVER
    if one.entry is None:
        return Fate.UNFIT
    if not is_first:
        return Fate.TWICE
    return Fate.KNOWN if is_imported else Fate.NEW


def load(
    user: User, items: Collection[Item], sent: Mapping[str, Any], channels: Sequence[Channel], now: datetime
) -> int:
    """Make the reminders of the new items, `_PIECE` in a transaction; `sent` are the fields that all have alike.

    Returns how many. Those that were deleted since an earlier import are restored. A second import makes the rest.
    """
    entries = {_id(user, item.key): item.entry for item in items if item.entry is not None}
    wanted = [Schedule(id=key, user=user, **entry.values, **sent) for key, entry in entries.items()]
    made = 0
    for begin in range(0, len(wanted), _PIECE):
        try:
            made += _load(user, wanted[begin : begin + _PIECE], channels, now)
        except Busy:
            if not made:
                raise
            break
    return made


def _load(user: User, wanted: Sequence[Schedule], channels: Sequence[Channel], now: datetime) -> int:
    with lock_user(user):
        stored = Schedule.objects.filter(user=user).in_bulk([one.id for one in wanted])
        absent = [one for one in wanted if one.id not in stored or stored[one.id].deleted_at is not None]
        taken = absent[: max(0, editing.room(user))]
        for one in taken:
            if one.id not in stored:
                editing.create(one, channels, now)
        _restore(user, {one.id: one for one in taken if one.id in stored}, channels, now)
    return len(taken)


def _restore(user: User, wanted: Mapping[UUID, Schedule], channels: Sequence[Channel], now: datetime) -> None:
    if not wanted:
        return
    state.restore(state.lock(Schedule.objects.filter(id__in=list(wanted)), now), now, user)
    for schedule in Schedule.objects.filter(id__in=list(wanted)).prefetch_related("channels"):
        one = wanted[schedule.id]
        if editing.editable(schedule) != editing.editable(one) or schedule.ordered_channels() != channels:
            one.version = schedule.version
            editing.reschedule(one, now, channels, user)


def made_at(user: User, at: datetime) -> QuerySet[Schedule]:
    """Return the schedules that an import made at that instant, and those not deleted since."""
    whats = (ScheduleEvent.What.CREATED, ScheduleEvent.What.RESTORED)
    return Schedule.objects.for_user(user).filter(events__what__in=whats, events__at=at)


def undo(user: User, at: datetime, now: datetime) -> int:
    """Delete what an import made. Returns how many reminders."""
    with lock_user(user):
        return len(bulk.apply(made_at(user, at), bulk.Action.DELETE, now, user).changed)


def _id(user: User, key: str) -> UUID:
    return uuid5(_NAMESPACE, f"{user.pk}:{key}")
