"""The late section of the form: missed slots, spread, maximum age."""

from __future__ import annotations

from typing import Any

from django import forms

from schedules.models import Schedule

LONGEST_GRACE = 7 * 24 * 3600  # seconds
LONGEST_SPREAD = 24 * 3600  # seconds
LONGEST_STALE = 30 * 24 * 3600  # seconds


def _seconds(label: str, initial: int, most: int, help_text: str) -> forms.IntegerField:
    number = f"Enter a whole number of seconds from 0 to {most:,}, such as {initial}."
    return forms.IntegerField(
        label=label,
        required=False,
        initial=initial,
        min_value=0,
        max_value=most,
        widget=forms.NumberInput(attrs={"min": 0, "inputmode": "numeric"}),
        help_text=help_text,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), number),
    )


class LateForm(forms.Form):
    """An empty field means its initial value."""

    misfire = forms.ChoiceField(
        label="If Carillon was off",
        choices=Schedule.Misfire.choices,
        required=False,
        initial=Schedule.Misfire.LATEST,
        help_text="One-time reminders are always sent, even if late.",
        error_messages={"invalid_choice": "Choose the newest missed one, every missed one, or none."},
    )
    grace = _seconds("Missed after", 60, LONGEST_GRACE, "Seconds of delay that do not count as missed.")
    spread = _seconds(
        "Spread over", 0, LONGEST_SPREAD, "Maximum delay in seconds, so that not everything is sent at once."
    )

    stale_after = forms.IntegerField(
        label="Do not send if older than",
        required=False,
        min_value=1,
        max_value=LONGEST_STALE,
        widget=forms.NumberInput(attrs={"min": 1, "inputmode": "numeric"}),
        help_text="Seconds after it was due. One-time reminders are dropped too. Empty: no limit.",
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value"),
            f"Enter a whole number of seconds from 1 to {LONGEST_STALE:,}, such as 3600, or leave it empty.",
        ),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        for name in {"misfire", "grace", "spread"} & cleaned.keys():
            if cleaned[name] in (None, ""):
                cleaned[name] = self.fields[name].initial
        stale_after, spread = cleaned.get("stale_after"), cleaned.get("spread", 0)
        if stale_after and stale_after <= spread:
            self.add_error("stale_after", f"Enter more than the spread of {spread:,} s, or leave this empty.")
        return cleaned
