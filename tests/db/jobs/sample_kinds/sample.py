"""A kind whose payload says what its check answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from common.parsing.pool import parsed
from jobs.kinds.base import KEEP, Ask, Found, JobKind, Nothing, Say
from jobs.reading.fetch import Fetch, Later, Refused
from tests.unit.common import parsing_tasks
from work.reasons import Codes, Reason


class Code(Codes):
    CHECKED = "sample-checked", "checked the sample: {value}"
    AWAY = "sample-away", "The sample is away."
    NO_VALUE = "sample-without-value", "Its question has no value."


class SampleForm(forms.Form):
    value = forms.CharField(max_length=20, error_messages={"required": "Enter a value, such as seven."})
    changes = forms.BooleanField(label="Only if it changed", required=False)


class Sample(JobKind):
    name = "sample"
    label = "Sample"
    about = "Says what its payload says."
    form = SampleForm
    example: ClassVar = {"value": "seven"}
    placeholders: ClassVar = {"value": "7"}
    title, body = "It is {value}", "The sample is {value}."

    def summary(self, payload: Mapping[str, Any]) -> str:
        return str(payload.get("value", "nothing"))

    def check(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        match ask.payload.get("value"):
            case "later":
                return Later(Reason(Code.AWAY))
            case "refused":
                return Refused(Reason(Code.AWAY), disconnect=True)
            case "bug":
                raise ZeroDivisionError
            case "endless":
                parsed(parsing_tasks.never_ends, person=ask.user_id)
                raise AssertionError
            case "killed":
                parsed(parsing_tasks.is_killed, person=ask.user_id)
                raise AssertionError
            case str(value):
                return Found(value)
            case _:
                return Refused(Reason(Code.NO_VALUE))

    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        checked = Reason(Code.CHECKED, value=value)
        while value == "dear":
            ask.budget.items()
        if value == "nothing":
            return Nothing(checked)
        if ask.payload.get("changes") and ask.memory == value:
            return Nothing(checked, memory=value)
        return Say(checked, {"value": str(value)}, memory=value if ask.payload.get("changes") else KEEP)
