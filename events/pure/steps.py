"""The steps of a series as people write them: lines “when | title | text”. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _, gettext_lazy

from jobs.checks.series import LONGEST, MOST_STEPS
from notifications.messages import text

EXAMPLE = "3 days | How is it going? | Tell us."
MOST = 10_000
HELP = gettext_lazy("One a line: when, title and text, with | between them. Times count from the beginning.")
_AFTER = re.compile(r"now|(\d{1,4}) ?(minute|hour|day|week)s?")
_UNITS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60}


def read(written: str, check: Callable[[str], list[str]]) -> list[dict[str, Any]]:
    """The steps as {after (seconds), title, body}. `check` returns what is wrong with placeholders.

    Raises ValidationError.
    """
    lines = [line.strip() for line in written.splitlines() if line.strip()]
    if len(lines) > MOST_STEPS:
        raise ValidationError(_("A series has at most %(most_steps)s steps.") % {"most_steps": MOST_STEPS}, "too_many")
    steps = [_step(line, check) for line in lines]
    if any(later["after"] <= earlier["after"] for earlier, later in pairwise(steps)):
        problem = _("Each step comes later than the one before it; all times count from the beginning.")
        raise ValidationError(problem, "step_order")
    return steps


def longest_wait(steps: Sequence[Mapping[str, Any]]) -> int:
    times: list[int] = [0, *(step["after"] for step in steps)]
    return max((later - earlier for earlier, later in pairwise(times)), default=0)


def lines(steps: Sequence[Mapping[str, Any]]) -> str:
    """The steps as one may write them."""
    return "\n".join(" | ".join(filter(None, (_when(one["after"]), one["title"], one["body"]))) for one in steps)


def _step(line: str, check: Callable[[str], list[str]]) -> dict[str, Any]:
    after, title, body = (part.strip() for part in f"{line} | | ".split("|", 3)[:3])
    if (match := _AFTER.fullmatch(after.lower())) is None or not title:
        sentence = _("“%(line)s” is not a step. Write when (or now), title and text, such as: %(example)s")
        raise ValidationError(sentence % {"line": line[:60], "example": EXAMPLE}, "step_format")
    seconds = int(match[1]) * _UNITS[match[2]] if match[1] else 0
    if seconds > LONGEST.total_seconds():
        sentence = _("“%(after)s” is too late: a series ends within %(days)s days.")
        raise ValidationError(sentence % {"after": after, "days": LONGEST.days}, "step_too_late")
    if len(title) > text.MAX_SUBJECT:
        problem = _("A title has at most %(max_subject)s characters.") % {"max_subject": text.MAX_SUBJECT}
        raise ValidationError(problem, "max_length")
    if problems := check(title) + check(body):
        raise ValidationError(problems[0], "placeholder")
    return {"after": seconds, "title": title, "body": body}


def _when(seconds: int) -> str:
    for unit, size in _UNITS.items():
        if seconds and seconds % size == 0:
            return f"{seconds // size} {unit}{'s' if seconds > size else ''}"
    return "now"
