"""The part of the form that asks about time: missed slots, how far they are spread, how old a message may get."""

from __future__ import annotations

from typing import Any

from django import forms

from schedules.models import Schedule

_CHOICES = [
    (Schedule.Misfire.LATEST, "Send the newest missed one"),
    (Schedule.Misfire.ALL, "Send every missed one, at most 100"),
    (Schedule.Misfire.SKIP, "Send none of them"),
]
LONGEST_GRACE = 7 * 24 * 3600  # seconds
LONGEST_SPREAD = 24 * 3600  # seconds
LONGEST_STALE = 30 * 24 * 3600  # seconds


def _seconds(label: str, initial: int, most: int, help_text: str) -> forms.IntegerField:
    number = f"Write a whole number of seconds from 0 to {most:,}, such as {initial}."
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
    """A field left empty means what it says at first."""

    misfire = forms.ChoiceField(
        label="If it was missed",
        choices=_CHOICES,
        required=False,
        initial=Schedule.Misfire.LATEST,
        help_text="When nothing could fire at the time. What fires only once is always sent, late.",
        error_messages={"invalid_choice": "Choose one: send the newest missed one, every missed one, or none of them."},
    )
    grace = _seconds("Missed after", 60, LONGEST_GRACE, "Seconds. What is less late than that was not missed.")
    spread = _seconds(
        "Spread over", 0, LONGEST_SPREAD, "Seconds. Each goes out up to so much later, so that not all go out at once."
    )

    stale_after = forms.IntegerField(
        label="Do not send if older than",
        required=False,
        min_value=1,
        max_value=LONGEST_STALE,
        widget=forms.NumberInput(attrs={"min": 1, "inputmode": "numeric"}),
        help_text="Seconds after it was due. Later than that it is dropped, even if it fires only once."
        " Empty: it is sent however late.",
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value"),
            f"Write a whole number of seconds from 1 to {LONGEST_STALE:,}, such as 3600, or leave it empty.",
        ),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        stale_after, spread = cleaned.get("stale_after"), cleaned.get("spread") or 0
        if stale_after and stale_after <= spread:
            self.add_error("stale_after", f"It is spread over {spread:,} s. Write more than that, or leave this empty.")
        return cleaned

    def late(self) -> tuple[Schedule.Misfire, int, int]:
        """What a valid form decides: the misfire policy, the grace and the spread, in seconds."""
        misfire, grace, spread = (
            self.fields[name].initial if self.cleaned_data[name] in (None, "") else self.cleaned_data[name]
            for name in ("misfire", "grace", "spread")
        )
        return Schedule.Misfire(misfire), grace, spread
