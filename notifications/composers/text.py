"""The composer of ordinary reminders: the person's own words, with the placeholders that we know filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from zoneinfo import ZoneInfo

# User text never reaches a template engine or str.format: only these names, and nothing nested in them.
NAMES = ("name", "slot", "schedule")
PLACEHOLDER = re.compile(rf"\{{({'|'.join(NAMES)})\}}")

_MEANT_FOR_ONE = re.compile(r"\{([A-Za-z][A-Za-z0-9_.-]{0,40})\}")


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


def check(template: str) -> list[str]:
    """Return what is wrong with a title or body, one sentence for each placeholder that does not exist."""
    problems = []
    for word in dict.fromkeys(_MEANT_FOR_ONE.findall(template)):
        if word in NAMES:
            continue
        near = get_close_matches(word.lower(), NAMES, n=1)
        advice = f"Did you mean {{{near[0]}}}?" if near else "There are {name}, {slot} and {schedule}."
        problems.append(f"{{{word}}} is no placeholder. {advice} A blank within the braces leaves it as it is.")
    return problems


def _fill(text: str, values: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)
