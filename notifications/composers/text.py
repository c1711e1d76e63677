"""The composer of ordinary reminders: the person's own words, with the placeholders that we know filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from notifications.fitting import fit

# User text never reaches a template engine or str.format: only these names, and nothing nested in them.
NAMES = ("name", "slot", "date", "time", "schedule")
_THERE_ARE = f"There are {', '.join(f'{{{name}}}' for name in NAMES[:-1])} and {{{NAMES[-1]}}}."
PLACEHOLDER = re.compile(rf"\{{({'|'.join(NAMES)})\}}")

LONGEST_SUBJECT = 200

_MEANT_FOR_ONE = re.compile(r"\{([A-Za-z][A-Za-z0-9_.-]{0,40})\}")


@dataclass(frozen=True, slots=True)
class Text:
    subject: str
    body: str


def compose(title: str, body: str, *, name: str, slot: datetime, time_zone: str) -> Text:
    """Fill in the placeholders, instants in `time_zone`; anything else in braces stays as it was typed."""
    local = slot.astimezone(ZoneInfo(time_zone))
    date, hour = f"{local:%A} {local.day} {local:%B %Y}", f"{local:%H:%M}"
    values = {"name": name, "slot": f"{date}, {hour}", "date": date, "time": hour, "schedule": title}
    subject = _fill(title, values | {"schedule": ""})
    return Text(fit(" ".join(subject.split()), LONGEST_SUBJECT).text or "Reminder", _fill(body, values))


def check(template: str) -> list[str]:
    """Return what is wrong with a title or body, one sentence for each placeholder that does not exist."""
    problems = []
    for word in dict.fromkeys(_MEANT_FOR_ONE.findall(template)):
        if word in NAMES:
            continue
        near = get_close_matches(word.lower(), NAMES, n=1)
        guess = f"Did you mean {{{near[0]}}}? " if near else ""
        problems.append(
            f"{{{word}}} is no placeholder. {guess}{_THERE_ARE} A blank within the braces leaves it as it is."
        )
    return problems


def _fill(text: str, values: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)
