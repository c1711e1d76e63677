"""Tasks of a TickTick backup (CSV), versions 7.1 and 7.2. Its times, repetitions and alarms are those of calendars,
so that its tasks are read as events of one.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from common.zones import known
from people.models import User
from schedules.agenda import ical
from schedules.inputs.imports import calendar
from schedules.inputs.imports.items import Fate, Item
from schedules.inputs.imports.table import Row
from schedules.job_kinds.calendar_events import ReminderTimes, short_key

_REPEAT = re.compile(r"(?:RRULE:)?(FREQ=[A-Z0-9=;,+-]+)")
_ALARM = re.compile(r"[+-]?P[0-9DTHMSW]{2,30}")
_NORMAL = "0"


def is_head(head: list[str]) -> bool:
    return {"Title", "Due Date", "Repeat"} <= {*head}


def read(user: User, rows: Iterable[Row], times: ReminderTimes, now: datetime) -> list[Item]:
    """Raises Refusal."""
    items, events, lines = list[Item](), list[str](), dict[str, int]()
    for row in rows:
        title, written = row["Title"], row["Start Date"] or row["Due Date"]
        key = short_key("ticktick", row["List Name"], title, written, row["Repeat"])
        if row["Status"] not in (_NORMAL, ""):
            items.append(Item(title, key, Fate.DONE, line=row.line))
        elif not written:
            items.append(Item(title, key, Fate.UNDATED, line=row.line))
        elif row["Repeat"] and not _REPEAT.fullmatch(row["Repeat"]):
            note = _("Its repetition “%(rule)s” is not understood. Add it by hand.") % {"rule": row["Repeat"][:60]}
            items.append(Item(title, key, Fate.UNFIT, note=note, line=row.line))
        elif (start := _start(row, written, user.zone)) is None:
            note = _("Its date “%(date)s” is not understood. Add it by hand.") % {"date": written[:60]}
            items.append(Item(title, key, Fate.UNFIT, note=note, line=row.line))
        else:
            uid = key if key not in lines else f"{key}-{row.line}"
            lines[uid] = row.line
            events += _event(row, uid, start)
    if not events:
        return items
    raw = "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *events, "END:VCALENDAR"])
    return [*calendar.read(user, raw.encode(), times, now, lines), *items]


def _event(row: Row, uid: str, start: str) -> list[str]:
    lines = ["BEGIN:VEVENT", f"UID:{uid}", f"DTSTART{start}"]
    lines += [f"SUMMARY:{ical.escaped(row['Title'])}", f"DESCRIPTION:{ical.escaped(row['Content'])}"]
    if match := _REPEAT.fullmatch(row["Repeat"]):
        lines.append(f"RRULE:{match[1]}")
    for alarm in _ALARM.findall(row["Reminder"]):
        lines += ["BEGIN:VALARM", "ACTION:DISPLAY", f"TRIGGER:{alarm}", "END:VALARM"]
    return [*lines, "END:VEVENT"]


def _start(row: Row, written: str, own: ZoneInfo) -> str | None:
    """The parameters and value of DTSTART; None for what is not a time. A whole day is the one in the task's zone."""
    try:
        instant = datetime.fromisoformat(written)
        where = ZoneInfo(row["Timezone"]) if row["Timezone"] in known() else own
        local = (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(where)
    except (ValueError, OverflowError):
        return None
    if row["Is All Day"].lower() == "true":
        return f";VALUE=DATE:{local:%Y%m%d}"
    zone = "" if row["Is Floating"].lower() == "true" else f";TZID={where.key}"
    return f"{zone}:{local:%Y%m%dT%H%M%S}"
