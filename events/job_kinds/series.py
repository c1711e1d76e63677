"""A person's own series of texts, from the slot of a reminder on, until an event ends it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.db.models import JSONField, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop, ngettext

from common.database.postgres import persist
from common.uuid7 import first_of
from events.models import Event
from events.pure import steps
from events.pure.envelope import as_sent
from events.pure.matching import LONGEST_VALUE, WHOLE_TYPE, Condition, budget_of_event, unmet
from jobs.checks import series
from jobs.checks.series import MOST_STEPS, Step
from jobs.kinds.base import Ask, Found, JobKind, Nothing, Say
from jobs.reading.fetch import Fetch, Later, Refused
from jobs.reasons import JobCode
from notifications.messages import text
from work.reasons import Codes, Reason

_MOST_EVENTS = 10_000
# A longer value equals none that a series has: so the events are read without their data.
_SHORT = f"CASE WHEN length(data #>> %s) <= {LONGEST_VALUE} THEN data #> %s END"


class SeriesCode(Codes):
    HAPPENED = "series-event", gettext_noop("{type} happened")
    DAMAGED_STEPS = "series-damaged-steps", gettext_noop("its steps are damaged")


class StepsField(forms.CharField):
    """Its value is a list of {after (seconds), title, body}."""

    widget = forms.Textarea(attrs={"rows": 6, "placeholder": f"now | Welcome\n{steps.EXAMPLE}"})

    def clean(self, value: Any) -> list[dict[str, Any]]:
        return steps.read(super().clean(value), text.check)


class SeriesForm(forms.Form):
    steps = StepsField(
        max_length=steps.MOST,
        help_text=steps.HELP,
        error_messages={
            "required": format_lazy(gettext_lazy("Enter a step, such as: {example}"), example=steps.EXAMPLE)
        },
    )
    ends_on = forms.RegexField(
        WHOLE_TYPE,
        label=gettext_lazy("Ends when this event happens"),
        required=False,
        max_length=100,
        help_text=gettext_lazy(
            "The type of an event, such as order.paid. Empty: it ends after its last step, or when you pause it."
        ),
        error_messages={"invalid": gettext_lazy("The type of an event is like order.paid.")},
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("ends_on") and (problem := too_long(cleaned.get("steps") or [])):
            self.add_error("steps", forms.ValidationError(problem, "series_too_long"))
        return cleaned


def too_long(given: Sequence[Mapping[str, Any]]) -> str:
    """Return the problem with the waits of a series that an event ends; "" if nothing."""
    days = settings.EVENTS_KEPT_DAYS
    if steps.longest_wait(given) <= timedelta(days=days).total_seconds():
        return ""
    return _("Events are kept for %(days)s days, so that a series that one ends has a step every %(days)s days.") % {
        "days": days
    }


class Series(JobKind):
    name = "series"
    label = gettext_lazy("Series")
    about = gettext_lazy("Sends texts one after the other, with time between them, until an event ends it.")
    position = 60
    form = SeriesForm
    example: ClassVar = {"steps": f"now | Welcome\n{steps.EXAMPLE}"}
    title = gettext_lazy("Series")

    def form_initial(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        return {"steps": steps.lines(payload["steps"]), "ends_on": payload.get("ends_on", "")}

    def summary(self, payload: Mapping[str, Any]) -> str:
        given = payload.get("steps")
        count = len(given) if isinstance(given, list) else 0
        if payload.get("ends_on"):
            summary = ngettext(
                "a series of %(count)s step, until %(event)s", "a series of %(count)s steps, until %(event)s", count
            )
        else:
            summary = ngettext("a series of %(count)s step", "a series of %(count)s steps", count)
        return summary % {"count": count, "event": payload.get("ends_on")}

    def check(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        """Reads whether the event that ends it has happened since it began."""
        given = _steps(ask.payload)
        if given is None or not series.is_step(ask.payload, len(given)):
            return Refused(Reason(JobCode.UNREADABLE_PAYLOAD, problem=Reason(SeriesCode.DAMAGED_STEPS)))
        if not (ends_on := ask.payload.get("ends_on")):
            return Found({"ended": ""})
        start = datetime.fromisoformat(ask.payload["begun"]) if "begun" in ask.payload else ask.slot
        happened = Event.objects.filter(user=ask.user_id, type=str(ends_on), id__gte=first_of(start)).order_by("-id")
        same = [Condition(**one) for one in ask.payload.get("same", ())]
        ended = persist(lambda: _has(happened, same[0])) if same else persist(happened.exists)
        return Found({"ended": ends_on if ended else ""})

    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        ended = Reason(SeriesCode.HAPPENED, type=value["ended"]) if value["ended"] else None
        return series.decide(ask, _steps(ask.payload) or [], ended)


def _has(happened: QuerySet[Event], same: Condition) -> bool:
    """Whether one of the newest of these events fulfils the condition."""
    place, _dot, path = same.field.partition(".")
    envelopes: list[Any]
    if place == "data":
        names = path.split(".")
        short = happened.annotate(value=RawSQL(_SHORT, [names, names], JSONField()))  # noqa: S611 - a constant
        values = short.values_list("value", flat=True)[:_MOST_EVENTS]
        same, envelopes = replace(same, field="value"), [{"value": value} for value in values if value is not None]
    else:
        envelopes = list(happened.defer("data")[:_MOST_EVENTS])
        for event in envelopes:
            event.data = {}
        envelopes = [as_sent(event) for event in envelopes]
    budget = budget_of_event()
    return any(unmet([same], envelope, budget) is None for envelope in envelopes)


def _steps(payload: Mapping[str, Any]) -> list[Step] | None:
    """None for a payload that no form made."""
    try:
        rows = [Step(timedelta(seconds=one["after"]), str(one["title"]), str(one["body"])) for one in payload["steps"]]
        if "begun" in payload:
            datetime.fromisoformat(payload["begun"])
        for one in payload.get("same", ()):
            Condition(**one)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return rows[:MOST_STEPS] or None
