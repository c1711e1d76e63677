"""Detects which program wrote a file, and reads its entries."""

import re
from datetime import datetime

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from common.parsing.budget import Budget
from common.texts.refusal import Refusal
from jobs.reading import charset
from people.models import User
from schedules.inputs.imports import calendar, crontab, table, ticktick, todoist
from schedules.inputs.imports.items import Item
from schedules.job_kinds import calendar_lines
from schedules.job_kinds.calendar_events import ReminderTimes

_SECONDS = 5


class Format(TextChoices):
    CALENDAR = "calendar", _("Calendar")
    TODOIST = "todoist", "Todoist"
    TICKTICK = "ticktick", "TickTick"
    CRONTAB = "crontab", _("Cron table")
    SYSTEM_CRONTAB = "system-crontab", _("Cron table with users, such as /etc/crontab")


def recognise(raw: bytes) -> Format:
    """Raises Refusal."""
    if raw.startswith(b"PK\x03\x04"):
        raise Refusal("import_zip")
    # In UTF-16, too, and behind what a server put above it.
    if re.search(rb"(?:\A|[^ -~])[ \t]*BEGIN:VCALENDAR", raw[:4_000].replace(b"\0", b""), re.IGNORECASE):
        return Format.CALENDAR
    text = decoded(raw)
    if text.lstrip().startswith(("{", "[")):
        raise Refusal("import_json")
    if table.delimiter(text, todoist.is_head):
        return Format.TODOIST
    if table.delimiter(text, ticktick.is_head):
        return Format.TICKTICK
    if crontab.is_table(text):
        return Format.SYSTEM_CRONTAB if crontab.has_users(text) else Format.CRONTAB
    raise Refusal("import_unknown")


def decoded(raw: bytes) -> str:
    """Raises Refusal for what is not text. Spreadsheets write UTF-16, or a country's charset."""
    try:
        text = raw.decode("utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError:
        text = charset.decode(raw, "").replace("\N{REPLACEMENT CHARACTER}", "\0")
    if "\0" in text:
        raise Refusal("import_encoding")
    return text


def shown(raw: bytes, which: Format) -> str:
    """The text of a file whose program is known, as the page of its preview sends it back."""
    if which is not Format.CALENDAR:
        return decoded(raw)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return calendar_lines.unfolded(raw, "")


def read(user: User, raw: bytes, which: Format, times: ReminderTimes, now: datetime) -> list[Item]:
    """Raises Refusal."""
    if which is Format.CALENDAR:
        return calendar.read(user, raw, times, now)
    text, budget = decoded(raw), Budget(seconds=_SECONDS)
    if which is Format.TODOIST:
        items = list(todoist.read(table.read(text, todoist.is_head, budget), user.zone.key, now))
    elif which is Format.TICKTICK:
        items = ticktick.read(user, table.read(text, ticktick.is_head, budget), times, now)
    else:
        users = which is Format.SYSTEM_CRONTAB
        items = list(crontab.read(text, user.zone.key, now, budget, users=users))
    if not items:
        raise Refusal("import_no_entries")
    return items
