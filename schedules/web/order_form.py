"""The part of the form that asks whether all channels are told at once, or one after the other and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django import forms
from django.forms import BoundField

from notifications.models import Channel

_AT_ONCE, _IN_ORDER = "", "order"
_LAST = 1_000  # after all places that can be typed
LONGEST_WAIT = 7 * 24 * 60  # minutes

_NUMBER = "Write a whole number, such as %s, or leave it empty."


def fields(own: list[Channel], order: list[UUID]) -> dict[str, forms.Field]:
    """One place for each channel, filled in where `order` names it."""
    return {
        _name(channel): forms.IntegerField(
            label=f"Place of {channel.label}",
            required=False,
            initial=order.index(channel.id) + 1 if channel.id in order else None,
            min_value=1,
            max_value=_LAST - 1,
            widget=forms.NumberInput(attrs={"inputmode": "numeric", "class": "place"}),
            error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _NUMBER % 1),
        )
        for channel in own
    }


def _name(channel: Channel) -> str:
    return f"place_{channel.id.hex}"


class OrderForm(forms.Form):
    """Asks with numbers, which need neither scripts nor a mouse. A chosen channel without one comes last."""

    one_by_one = forms.ChoiceField(
        label="How many of them",
        choices=[(_AT_ONCE, "All of them"), (_IN_ORDER, "One after the other, until one arrives")],
        required=False,
        widget=forms.RadioSelect,
        error_messages={"invalid_choice": "Choose “All of them” or “One after the other”."},
    )
    escalate_after = forms.IntegerField(
        label="If nobody acknowledges within so many minutes, try the next",
        required=False,
        min_value=1,
        max_value=LONGEST_WAIT,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        help_text="Empty: the next one is tried only when one fails.",
        error_messages={
            "invalid": _NUMBER % 10,
            "min_value": "Write at least 1 minute, or leave it empty.",
            "max_value": "Write at most %(limit_value)d minutes, which are a week, or leave it empty.",
        },
    )

    def order_fields_of(self, own: list[Channel], order: list[UUID]) -> None:
        self.fields |= fields(own, order)

    def places(self) -> Iterator[BoundField]:
        """The fields of the places, for the page."""
        return (self[name] for name in self.fields if name.startswith("place_"))

    def in_order(self) -> bool:
        return bool(self.cleaned_data.get("one_by_one") == _IN_ORDER)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        chosen = list(cleaned.get("channels") or [])
        if self.in_order():
            if len(chosen) == 1:
                self.add_error("one_by_one", "There is no next channel: choose two or more, or “All of them”.")
            self._refuse_shared_places(chosen)
        elif cleaned.get("escalate_after"):
            self.add_error("escalate_after", "All are told at once: choose “One after the other”, or leave this empty.")
        return cleaned

    def _refuse_shared_places(self, chosen: list[Channel]) -> None:
        taken = Counter(place for channel in chosen if (place := self.cleaned_data.get(_name(channel))))
        for channel in chosen:
            place = self.cleaned_data.get(_name(channel))
            if place and taken[place] > 1:
                self.add_error(_name(channel), f"Two channels stand at place {place}. Give each its own.")

    def ordered(self) -> list[Channel]:
        """The chosen channels of a valid form, in the order that their places say."""
        chosen = list(self.cleaned_data["channels"])
        return sorted(chosen, key=lambda channel: self.cleaned_data.get(_name(channel)) or _LAST)
