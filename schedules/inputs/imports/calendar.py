"""Events of a calendar file (.ics) as entries of an import."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from common.parsing.budget import Budget
from common.parsing.pool import ParsingUnavailable, parsed
from common.texts.refusal import Refusal
from people.models import User
from schedules.inputs.imports.items import MOST, Fate, Item
from schedules.job_kinds import calendar_events, calendar_file
from schedules.job_kinds.calendar_events import Followed, ReminderTimes
from schedules.job_kinds.calendar_file import FileEvent


def read(
    user: User, raw: bytes, times: ReminderTimes, now: datetime, lines: Mapping[str, int] | None = None
) -> list[Item]:
    """`lines`: those of another file, by the UID of an event. Raises Refusal."""
    followed = calendar_events.follow(_events(user, raw, now), times, user.zone, now, Budget())
    return [_item(one, (lines or {}).get(one.event.uid, 0)) for one in followed]


def _events(user: User, raw: bytes, now: datetime) -> Sequence[FileEvent]:
    try:
        events, dropped = parsed(calendar_file.read, raw, "", now, person=user.pk)
    except ParsingUnavailable:
        raise Refusal("import_busy") from None
    if not events:
        raise Refusal("import_no_events")
    if dropped or len(events) > MOST:
        raise Refusal("import_long")
    return events


def _item(one: Followed, line: int) -> Item:
    if one.event.is_cancelled:
        fate = Fate.CANCELLED
    elif one.is_over:
        fate = Fate.OVER
    else:
        fate = Fate.UNFIT if one.entry is None else Fate.NEW
    values, slot = (one.entry.values, one.entry.next_slot) if one.entry else (None, None)
    return Item(one.event.title, one.key, fate, values, slot, one.problem, line)
