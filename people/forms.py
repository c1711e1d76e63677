"""What sign-up asks beyond an address and a password."""

from __future__ import annotations

from zoneinfo import available_timezones

from django import forms
from django.http import HttpRequest

from people.models import User


class SignUpDetails(forms.Form):
    name = forms.CharField(max_length=150, required=False, label="Your name")
    # Filled in by the browser; a person without scripts chooses the zone with their first reminder.
    time_zone = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def clean_time_zone(self) -> str:
        """A browser's guess is not an error of the person's: an unknown zone counts as none."""
        guess: str = self.cleaned_data["time_zone"]
        return guess if guess in available_timezones() else ""

    def signup(self, request: HttpRequest, user: User) -> None:
        user.name = self.cleaned_data["name"]
        user.time_zone = self.cleaned_data["time_zone"]
        user.save(update_fields=["name", "time_zone"])
