"""The late section of the form: missed slots, spread, maximum age."""

from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy

from common.texts.numbers import grouped, grouped_lazy
from common.texts.types import StrOrPromise
from common.web.edit_form import WholeNumberField, refuse
from schedules.models import Schedule

LONGEST_GRACE = 7 * 24 * 3600  # seconds
LONGEST_SPREAD = 24 * 3600  # seconds
LONGEST_STALE = 30 * 24 * 3600  # seconds


def _seconds(label: StrOrPromise, initial: int, most: int, help_text: StrOrPromise) -> WholeNumberField:
    number = format_lazy(
        gettext_lazy("Enter a whole number of seconds from 0 to {most}, such as {initial}."),
        most=grouped_lazy(most),
        initial=initial,
    )
    return WholeNumberField(label, 0, most, number, help_text=help_text, initial=initial)


class LateForm(forms.Form):
    """An empty field means its initial value."""

    misfire = forms.ChoiceField(
        label=gettext_lazy("If Carillon was off"),
        choices=Schedule.Misfire.choices,
        required=False,
        initial=Schedule.Misfire.LATEST,
        help_text=gettext_lazy("One-time reminders are always sent, even if late."),
        error_messages={"invalid_choice": gettext_lazy("Choose the newest missed one, every missed one, or none.")},
    )
    grace = _seconds(
        gettext_lazy("Missed after"), 60, LONGEST_GRACE, gettext_lazy("Seconds of delay that do not count as missed.")
    )
    spread = _seconds(
        gettext_lazy("Spread over"),
        0,
        LONGEST_SPREAD,
        gettext_lazy("Maximum delay in seconds, so that not everything is sent at once."),
    )

    stale_after = WholeNumberField(
        gettext_lazy("Do not send if older than"),
        1,
        LONGEST_STALE,
        format_lazy(
            gettext_lazy("Enter a whole number of seconds from 1 to {most}, such as 3600, or leave it empty."),
            most=grouped_lazy(LONGEST_STALE),
        ),
        help_text=gettext_lazy("Seconds after it was due. One-time reminders are dropped too. Empty: no limit."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        for name in {"misfire", "grace", "spread"} & cleaned.keys():
            if cleaned[name] in (None, ""):
                cleaned[name] = self.fields[name].initial
        stale_after, spread = cleaned.get("stale_after"), cleaned.get("spread", 0)
        if stale_after and stale_after <= spread:
            said = _("Enter more than the spread of %(spread)s s, or leave this empty.") % {"spread": grouped(spread)}
            refuse(self, "stale_after", "within_spread", said)
        return cleaned
