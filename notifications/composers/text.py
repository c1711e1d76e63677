"""The composer of ordinary reminders: the person's own words, with the placeholders that we know filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

# User text never reaches a template engine or str.format: only these names, and nothing nested in them.
PLACEHOLDER = re.compile(r"\{(name|slot|schedule)\}")


@dataclass(frozen=True, slots=True)
class Text:
    subject: str
    body: str


def compose(title: str, body: str, *, name: str, slot: datetime, time_zone: str) -> Text:
    """Fill `{name}`, `{slot}` (in `time_zone`) and `{schedule}`; anything else in braces stays as it was typed."""
    local = slot.astimezone(ZoneInfo(time_zone))
    values = {"name": name, "slot": f"{local:%A} {local.day} {local:%B %Y, %H:%M}", "schedule": title}
    subject = _fill(title, values | {"schedule": ""})
    return Text(" ".join(subject.split())[:200] or "Reminder", _fill(body, values))


def _fill(text: str, values: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)
