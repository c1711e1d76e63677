"""The file: each thing as the API shows it, without what only this installation knows, and without secrets."""

from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from api.protocol.answers import fields_of, to_json
from api.protocol.fields import written
from api.resources.me import Settings
from api.resources.transfer.sections import SECTIONS
from people.models import User

FORMAT = "carillon"
VERSION = 1


def text(user: User, now: datetime) -> str:
    """The file, a line for each entry.

    Without holidays that are over, and reminders that follow a calendar: the calendar's own makes them again.
    """
    head = {"format": FORMAT, "version": VERSION, "exported": written(now), "settings": fields_of(Settings, user)}
    members = [f"{to_json(name)}: {to_json(value)}" for name, value in head.items()]
    left_out = {"reminders": ~Q(made_by=None), "holidays": Q(last__lt=timezone.localdate(now, user.zone))}
    for name, section in SECTIONS.items():
        entries = section.entries(section.rows(user).exclude(left_out.get(name, Q())))
        members.append(f"{to_json(name)}: [" + ",".join("\n" + to_json(one) for one in entries) + "\n]")
    return "{\n" + ",\n".join(members) + "\n}\n"
