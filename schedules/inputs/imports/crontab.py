"""Jobs of a cron table: a user's, or a system's, whose sixth field names a user."""

import re
from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext as _

from common.parsing.budget import Budget
from common.texts.refusal import Refusal
from notifications.messages.text import MAX_SUBJECT
from schedules.inputs.imports.items import MOST, Fate, Item, timed
from schedules.inputs.timing_form import TimingForm
from schedules.job_kinds.calendar_events import short_key

_VARIABLE = re.compile(r"""\s*["']?([A-Za-z_]\w*)["']?\s*=\s*(.*)""")
_TIMES = re.compile(r"@[a-z]+|(?:[\d*][^\s=]*\s+){2}[\w*?/,#~-]+\s+[\w*?/,#~-]+\s+[\w*?/,#~-]+", re.IGNORECASE)
# Some programs write seconds first; a command is not such a field.
_SIXTH = r"(?:[*?](?:/\d+)?|(?:(?:sun|mon|tue|wed|thu|fri|sat)[-,]?)+)(?:\s|\Z)"
_JOB = re.compile(rf"\s*({_TIMES.pattern})\s+(?!{_SIXTH})(\S.*)", re.IGNORECASE)
_USER = re.compile(r"[a-z_][a-z0-9_-]*[$]?(?!\S)")
# Commands of people's own tables look like names of users, too; a system's names one of these, or says so above.
_SYSTEM = re.compile(r"\b(?:root|www-data|nobody)\b")
_COMMENT = re.compile(r"#.*\buser(?:-name|name)?\b.*\bcommand", re.IGNORECASE)


def is_table(text: str) -> bool:
    return any(_JOB.fullmatch(line) for line in text.splitlines()[:MOST])


def has_users(text: str) -> bool:
    """Whether it seems to be a system's table."""
    commands = [match[2] for line in text.splitlines() if (match := _JOB.fullmatch(line))]
    users = [match[0] for command in commands if (match := _USER.match(command))]
    is_named = any(map(_SYSTEM.fullmatch, users)) or any(map(_COMMENT.match, text.splitlines()))
    return len(users) == len(commands) and is_named


def read(text: str, zone: str, now: datetime, budget: Budget, *, users: bool) -> Iterator[Item]:
    """`zone` is that of jobs above the first CRON_TZ. Raises Refusal."""
    count = 0
    for number, line in enumerate(text.splitlines(), 1):
        budget.clock()
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if match := _VARIABLE.fullmatch(line):
            zone = match[2].strip().strip("\"'") if match[1] == "CRON_TZ" else zone
            continue
        if (count := count + 1) > MOST:
            raise Refusal("import_long")
        yield _item(line, number, zone, now, users=users)


def _item(line: str, number: int, zone: str, now: datetime, *, users: bool) -> Item:
    if not (match := _JOB.fullmatch(line)):
        note = _("This is not a job such as “0 9 * * mon-fri command”.")
        return Item(line.strip()[:200], f"{number}", Fate.UNFIT, note=note, line=number)
    expression, command = " ".join(match[1].split()), match[2]
    if users:
        command = re.sub(r"^\S+\s*", "", command)
    # After a percent sign stands what the command reads.
    command = re.split(r"(?<!\\)%", command)[0].replace("\\%", "%").strip()
    key = short_key("cron", expression, zone, command)
    if expression.lower() == "@reboot":
        note = _("It runs when a machine starts, not at a time.")
        return Item(command, key, Fate.UNFIT, note=note, line=number)
    form = TimingForm({"kind": "cron", "expression": expression, "time_zone": zone}, now=now)
    return timed(command, command if len(command) > MAX_SUBJECT else "", key, form, number)
