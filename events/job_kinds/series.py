"""A person's own series of texts, from the slot of a reminder on, until an event ends it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from common.postgres import persist
from common.uuid7 import first_of
from events.matching import TYPE
from events.models import Event
from jobs import series
from jobs.fetch import Fetch, Later, Refused
from jobs.kinds.base import Ask, Found, JobKind, Nothing, Say
from jobs.reasons import Code as JobCode
from jobs.series import LONGEST, MOST_STEPS, Step
from notifications import text
from work.reasons import Codes, Reason

_EXAMPLE = "3 days | How is it going? | Tell us."
_AFTER = re.compile(r"now|(\d{1,4}) ?(minute|hour|day|week)s?")
_UNITS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60}


class Code(Codes):
    HAPPENED = "series-event", "{type} happened"


class StepsField(forms.CharField):
    """Steps as lines “after | title | text”; its value is a list of {after (seconds), title, body}."""

    widget = forms.Textarea(attrs={"rows": 6, "placeholder": f"now | Welcome\n{_EXAMPLE}"})

    def clean(self, value: Any) -> list[dict[str, Any]]:
        lines = [line.strip() for line in super().clean(value).splitlines() if line.strip()]
        if len(lines) > MOST_STEPS:
            raise ValidationError(f"A series has at most {MOST_STEPS} steps.")
        steps = [_step(line) for line in lines]
        if any(later["after"] <= earlier["after"] for earlier, later in pairwise(steps)):
            raise ValidationError("Each step comes later than the one before it; all times count from the beginning.")
        return steps


def _step(line: str) -> dict[str, Any]:
    after, title, body = (part.strip() for part in (line + " | | ").split("|", 3)[:3])
    match = _AFTER.fullmatch(after.lower())
    if match is None or not title:
        raise ValidationError(f"“{line[:60]}” is no step. Write when, title and text, such as: {_EXAMPLE}")
    seconds = int(match[1]) * _UNITS[match[2]] if match[1] else 0
    if seconds > LONGEST.total_seconds():
        raise ValidationError(f"“{after}” is too late: a series ends within {LONGEST.days} days.")
    if len(title) > text.MAX_SUBJECT:
        raise ValidationError(f"A title has at most {text.MAX_SUBJECT} characters.")
    for problem in text.check(title) + text.check(body):
        raise ValidationError(problem)
    return {"after": seconds, "title": title, "body": body}


class SeriesForm(forms.Form):
    steps = StepsField(
        max_length=10_000,
        help_text="One a line: when, title and text, with | between them. Times count from the beginning of the series.",
        error_messages={"required": f"Enter a step, such as: {_EXAMPLE}"},
    )
    ends_on = forms.RegexField(
        TYPE,
        label="Ends when this event happens",
        required=False,
        max_length=100,
        help_text="The type of an event, such as order.paid. Empty: it ends after its last step, or when you pause it.",
        error_messages={"invalid": "The type of an event is like order.paid."},
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        kept = timedelta(days=settings.EVENTS_KEPT_DAYS).total_seconds()
        times = [0, *(step["after"] for step in cleaned.get("steps") or [])]
        if cleaned.get("ends_on") and any(later - earlier > kept for earlier, later in pairwise(times)):
            days = settings.EVENTS_KEPT_DAYS
            self.add_error(
                "steps", f"Events are kept for {days} days: a series that one ends has a step every {days} days."
            )
        return cleaned


class Series(JobKind):
    name = "series"
    label = "Series"
    about = "Sends texts one after the other, with time between them, until an event ends it."
    position = 60
    form = SeriesForm
    example: ClassVar = {"steps": f"now | Welcome\n{_EXAMPLE}"}
    title = "Series"

    def form_initial(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        lines = [" | ".join(filter(None, (_said(one["after"]), one["title"], one["body"]))) for one in payload["steps"]]
        return {"steps": "\n".join(lines), "ends_on": payload.get("ends_on", "")}

    def summary(self, payload: Mapping[str, Any]) -> str:
        steps = payload.get("steps")
        count = len(steps) if isinstance(steps, list) else 0
        until = f", until {payload['ends_on']}" if payload.get("ends_on") else ""
        return f"a series of {count} {'step' if count == 1 else 'steps'}{until}"

    def look(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        """Reads whether the event that ends it has happened since it began."""
        steps = _steps(ask.payload)
        if steps is None or not series.is_step(ask.payload, len(steps)):
            return Refused(Reason(JobCode.UNREADABLE_PAYLOAD, problem="its steps are damaged"))
        ends_on = ask.payload.get("ends_on")
        if not ends_on:
            return Found({"ended": ""})
        begun = datetime.fromisoformat(ask.payload["begun"]) if "begun" in ask.payload else ask.slot
        happened = Event.objects.filter(user=ask.user_id, type=str(ends_on), id__gte=first_of(begun))
        return Found({"ended": ends_on if persist(partial(happened.exists)) else ""})

    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        ended = Reason(Code.HAPPENED, type=value["ended"]) if value["ended"] else None
        return series.decide(ask, _steps(ask.payload) or [], ended)


def _steps(payload: Mapping[str, Any]) -> list[Step] | None:
    """None for a payload that no form made."""
    try:
        steps = [Step(timedelta(seconds=one["after"]), str(one["title"]), str(one["body"])) for one in payload["steps"]]
        if "begun" in payload:
            datetime.fromisoformat(payload["begun"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return steps[:MOST_STEPS] or None


def _said(seconds: int) -> str:
    for unit, size in _UNITS.items():
        if seconds and seconds % size == 0:
            return f"{seconds // size} {unit}{'s' if seconds > size else ''}"
    return "now"
