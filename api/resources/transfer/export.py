"""The file: each thing as the API shows it, without what only this installation knows, and without secrets."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from django.db.models import Q
from django.utils import timezone

from api.protocol.answers import to_json
from api.protocol.fields import written
from api.resources.me import settings_of
from api.resources.transfer.sections import SECTIONS
from people.models import User

FORMAT = "carillon"
VERSION = 1

_LINES = 250
"""So many make a piece: some 10 ms of work."""


def pieces(user: User, now: datetime) -> Iterator[str]:
    """The file, in pieces that are read when they are asked for. One that breaks off is no JSON.

    Without holidays that are over, and reminders that follow a calendar: the calendar's own makes them again.
    """
    lines = _lines(user, now)
    while piece := "".join(islice(lines, _LINES)):
        yield piece


def _lines(user: User, now: datetime) -> Iterator[str]:
    """Each thing on one line. Indented ones would take ten times as long to write."""
    before = "{\n"
    head = {"format": FORMAT, "version": VERSION, "exported": written(now), "settings": settings_of(user)}
    for name, value in head.items():
        yield f"{before}{to_json(name)}: {to_json(value)}"
        before = ",\n"
    left_out = {
        "reminders": ~Q(made_by=None),
        "holidays": Q(last__lt=timezone.localdate(now, user.zone)),
    }
    for name, section in SECTIONS.items():
        yield f",\n{to_json(name)}: ["
        before = "\n"
        for entry in section.entries(section.rows(user).exclude(left_out.get(name, Q()))):
            yield before + to_json(entry)
            before = ",\n"
        yield "]" if before == "\n" else "\n]"
    yield "\n}\n"
