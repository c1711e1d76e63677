"""Reminders from a file that a person uploads. They are the person's own: nothing follows the file later.

The id of a reminder follows from the person and the entry, so that a file that is imported again makes none twice.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from django.db.models import QuerySet, TextChoices
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop

from common.texts.refusal import TEXTS
from notifications.messages import text
from notifications.models import Channel
from people.models import User
from people.user_lock import Busy, lock_user
from schedules.changes import bulk, editing, state
from schedules.inputs.timing_form import TimingForm
from schedules.models import Schedule, ScheduleEvent

LARGEST = 1024 * 1024
"""Bytes of a file. The browser that sends it back makes line ends and unreadable characters longer."""
MOST = 1_000
"""Entries of a file."""
_PIECE = 100
_NAMESPACE = UUID("5b0e2c0a-1d0b-5e63-9a52-7f1f3a3c9c11")


TEXTS.update(
    import_no_file=gettext_noop("Choose a file."),
    import_large=gettext_noop("This file is larger than 1 MB. Export a part, such as one year or one project."),
    import_long=gettext_noop("There are more than 1,000 entries in this file. Export a part, or split it."),
    import_no_events=gettext_noop("There is no event in this file. Choose another one."),
    import_no_entries=gettext_noop("There is no task and no job in this file. Choose another one."),
    import_no_table=gettext_noop("The rows of this file cannot be read. Export it again as CSV."),
    import_busy=gettext_noop("Other files are being read at the moment. Try again in a few seconds."),
    import_zip=gettext_noop("This is a ZIP archive. Unpack it, and choose one of the files in it."),
    import_encoding=gettext_noop("This file is not text in UTF-8. Save it as UTF-8, and choose it again."),
    import_json=gettext_noop("This is a JSON file. Use the pages for files of Carillon or Healthchecks below."),
    import_unknown=gettext_noop(
        "No known program wrote this file. Choose a calendar (.ics), a CSV file or a cron table."
    ),
)


class Fate(TextChoices):
    """The result for an entry."""

    NEW = "new", ""
    KNOWN = "known", gettext_lazy("Already imported.")
    OVER = "over", gettext_lazy("It is over. (Or the time of its reminder is.)")
    CANCELLED = "cancelled", gettext_lazy("It is cancelled.")
    DONE = "done", gettext_lazy("It is done.")
    UNDATED = "undated", gettext_lazy("It has no date. Give it one there, or add it here with a time.")
    TWICE = "twice", gettext_lazy("It is in the file twice.")  # by its id
    FULL = "full", gettext_lazy("You have as many reminders as one person may have here.")
    UNFIT = "unfit", ""  # `note` says why


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of the file. `values` are the fields of its reminder, None if it gets none; `note` says why it is
    unfit, or what its reminder leaves out; `line` is 0 in a calendar.
    """

    title: str
    key: str
    fate: Fate
    values: Mapping[str, Any] | None = None
    next_slot: datetime | None = None
    note: str = ""
    line: int = 0


def timed(title: str, body: str, key: str, form: TimingForm, line: int) -> Item:
    """An entry with another program's texts, in which words in braces are not placeholders."""
    if not form.is_valid() or (timetable := form.timetable) is None:
        return Item(title, key, Fate.UNFIT, note=form.problem, line=line)
    values = {
        "title": text.fit(text.without_placeholders(" ".join(title.split())), text.MAX_SUBJECT).text or _("Reminder"),
        "body": text.fit(text.without_placeholders(body), text.MAX_BODY).text,
        **timetable.row(),
        "max_count": form.cleaned_data["max_count"],
    }
    return Item(title, key, Fate.NEW, values, timetable.next_after(form.now, form.work), line=line)


def plan(user: User, items: Sequence[Item]) -> list[Item]:
    """Return the result for each entry: new reminders first, the soonest of them first."""
    ids = [_id(user, item.key) for item in items]
    imported = set(Schedule.objects.for_user(user).filter(id__in=ids).values_list("id", flat=True))
    first = {item.key: item for item in reversed(items)}
    new, others = [], []
    for item in items:
        if item.fate is not Fate.NEW:
            others.append(item)
        elif first[item.key] is not item:
            others.append(replace(item, fate=Fate.TWICE, values=None))
        elif _id(user, item.key) in imported:
            others.append(replace(item, fate=Fate.KNOWN, values=None))
        else:
            new.append(item)
    new.sort(key=lambda item: (item.next_slot, item.key))
    room = max(0, editing.room(user))
    full = [replace(item, fate=Fate.FULL, values=None) for item in new[room:]]
    return [*new[:room], *full, *others]


def load(
    user: User, items: Collection[Item], sent: Mapping[str, Any], channels: Sequence[Channel], now: datetime
) -> int:
    """Make the reminders of the new items, `_PIECE` in a transaction; `sent` are the fields that all have alike.

    Returns how many. Those that were deleted since an earlier import are restored. A second import makes the rest.
    """
    values = {_id(user, item.key): item.values for item in items if item.values is not None}
    wanted = [Schedule(id=key, user=user, **one, **sent) for key, one in values.items()]
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
    whats = (ScheduleEvent.Change.CREATED, ScheduleEvent.Change.RESTORED)
    return Schedule.objects.for_user(user).filter(events__what__in=whats, events__at=at)


def undo(user: User, at: datetime, now: datetime) -> int:
    """Delete what an import made. Returns how many reminders."""
    with lock_user(user):
        return len(bulk.apply(made_at(user, at), bulk.Action.DELETE, now, user)[0])


def _id(user: User, key: str) -> UUID:
    return uuid5(_NAMESPACE, f"{user.pk}:{key}")
