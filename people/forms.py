"""Forms: additional sign-up fields, a person's settings, and a new API token."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from common import zones
from people import themes, tokens
from people.models import Theme, User


class SignUpDetails(forms.Form):
    name = forms.CharField(
        max_length=150,
        required=False,
        label="Your name",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    # Filled in by a script; otherwise the first reminder sets the zone.
    time_zone = forms.CharField(
        max_length=64, required=False, widget=forms.HiddenInput(attrs={"data-guess-zone": True})
    )

    field_order = ["name", "email", "password1"]

    def clean_time_zone(self) -> str:
        """Ignore an unknown zone: the browser guessed it, not the person."""
        guess: str = self.cleaned_data["time_zone"]
        return guess if guess in zones.known() else ""

    def signup(self, request: HttpRequest, user: User) -> None:
        user.name = self.cleaned_data["name"]
        user.time_zone = self.cleaned_data["time_zone"]
        user.theme = themes.from_cookie(request)
        user.save(update_fields=["name", "time_zone", "theme"])


class SettingsForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    time_zone = forms.CharField(
        label="Time zone",
        widget=forms.TextInput(attrs={"list": "zones", "data-guess-zone": True, "autocomplete": "off"}),
        help_text="Used on all pages and as the default for new reminders.",
        error_messages={"required": "Choose a time zone, such as Europe/Berlin."},
    )

    theme = forms.ChoiceField(
        label=_("Theme"),
        choices=Theme.choices,
        required=False,
        error_messages={"invalid_choice": _("Choose one of the themes: system, light or dark.")},
    )

    class Meta:
        model = User
        fields = ["name", "time_zone", "quiet_from", "quiet_until", "theme", "keyboard_shortcuts"]
        labels = {
            "name": "Your name",
            "quiet_from": "Quiet from",
            "quiet_until": "Quiet until",
            "keyboard_shortcuts": _("Keyboard shortcuts"),
        }
        help_texts = {
            "quiet_until": "Every day, in your time zone. Only urgent reminders and your inbox are not delayed. "
            "Reminders that are too old afterwards are not sent.",
            "keyboard_shortcuts": _("Single keys that open pages, such as ? for the list of them."),
        }
        widgets = {"name": forms.TextInput(attrs={"autocomplete": "name"})} | {
            edge: forms.TimeInput(format="%H:%M", attrs={"type": "time", "autocomplete": "off"})
            for edge in ("quiet_from", "quiet_until")
        }
        error_messages = {
            edge: {"invalid": "Enter a time from 00:00 to 23:59, such as 22:00, or leave it empty."}
            for edge in ("quiet_from", "quiet_until")
        }

    def clean_theme(self) -> str:
        """Without a choice, it stays as it is."""
        return self.cleaned_data["theme"] or str(self.instance.theme)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        begins, ends = cleaned.get("quiet_from"), cleaned.get("quiet_until")
        if begins is None and ends is not None and "quiet_from" not in self.errors:
            self.add_error("quiet_from", "Enter both times, or leave both empty.")
        if ends is None and begins is not None and "quiet_until" not in self.errors:
            self.add_error("quiet_until", "Enter both times, or leave both empty.")
        if begins is not None and begins == ends:
            self.add_error("quiet_until", "Enter two different times, or leave both empty.")
        return cleaned


class TokenForm(forms.Form):
    label = forms.CharField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={"placeholder": "Backup script", "autocomplete": "off"}),
        error_messages={
            "required": "Give the token a name, such as “Backup script”.",
            "max_length": "This name is %(show_value)d characters long; at most %(limit_value)d fit.",
        },
    )
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        choices=list(tokens.SCOPES.items()),
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": "Choose at least one.",
            "invalid_choice": "A token cannot have this right. Choose from those listed.",
        },
    )
    days = forms.TypedChoiceField(
        label="Expires",
        choices=[("30", "after 30 days"), ("90", "after 90 days"), ("365", "after a year"), ("", "never")],
        required=False,
        coerce=int,
        empty_value=None,
        initial="90",
        error_messages={"invalid_choice": "Choose one of the times listed."},
    )
    # The id of the new token, so that a form that is sent twice makes one token.
    made_as = forms.UUIDField(widget=forms.HiddenInput)

    def expires_at(self, now: datetime) -> datetime | None:
        days: int | None = self.cleaned_data["days"]
        return None if days is None else now + timedelta(days=days)
