"""Forms: additional sign-up fields, a person's settings, and a new API token."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language, gettext as _, gettext_lazy

from common.times import zones
from people import tokens
from people.models import Theme, User
from people.web import themes


class SignUpDetails(forms.Form):
    name = forms.CharField(
        max_length=150,
        required=False,
        label=gettext_lazy("Your name"),
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
        user.language = get_language() or ""  # of the page: a worker knows no browser
        user.save(update_fields=["name", "time_zone", "theme", "language"])


class SettingsForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        required=False,
        choices=lambda: [("", _("The one that the browser asks for")), *settings.LANGUAGES],
        help_text=gettext_lazy("For pages and messages. What you type stays as it is."),
        error_messages={"invalid_choice": gettext_lazy("Choose one of the languages listed.")},
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        widget=forms.TextInput(attrs={"list": "zones", "data-guess-zone": True, "autocomplete": "off"}),
        help_text=gettext_lazy("Used on all pages and as the default for new reminders."),
        error_messages={"required": gettext_lazy("Choose a time zone, such as Europe/Berlin.")},
    )

    theme = forms.ChoiceField(
        label=gettext_lazy("Theme"),
        choices=Theme.choices,
        required=False,
        error_messages={"invalid_choice": gettext_lazy("Choose one of the themes: system, light or dark.")},
    )

    class Meta:
        model = User
        fields = ["name", "language", "time_zone", "quiet_from", "quiet_until", "theme", "keyboard_shortcuts"]
        labels = {
            "name": gettext_lazy("Your name"),
            "quiet_from": gettext_lazy("Quiet from"),
            "quiet_until": gettext_lazy("Quiet until"),
            "keyboard_shortcuts": gettext_lazy("Keyboard shortcuts"),
        }
        help_texts = {
            "quiet_until": gettext_lazy(
                "Every day, in your time zone. Only urgent reminders and your inbox are not delayed. "
                "Reminders that are too old afterwards are not sent."
            ),
            "keyboard_shortcuts": gettext_lazy("Single keys that open pages, such as ? for the list of them."),
        }
        widgets = {"name": forms.TextInput(attrs={"autocomplete": "name"})} | {
            edge: forms.TimeInput(format="%H:%M", attrs={"type": "time", "autocomplete": "off"})
            for edge in ("quiet_from", "quiet_until")
        }
        error_messages = {
            edge: {"invalid": gettext_lazy("Enter a time from 00:00 to 23:59, such as 22:00, or leave it empty.")}
            for edge in ("quiet_from", "quiet_until")
        }

    def clean_theme(self) -> str:
        """Without a choice, it stays as it is."""
        return self.cleaned_data["theme"] or str(self.instance.theme)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        begins, ends = cleaned.get("quiet_from"), cleaned.get("quiet_until")
        if begins is None and ends is not None and "quiet_from" not in self.errors:
            self.add_error("quiet_from", _("Enter both times, or leave both empty."))
        if ends is None and begins is not None and "quiet_until" not in self.errors:
            self.add_error("quiet_until", _("Enter both times, or leave both empty."))
        if begins is not None and begins == ends:
            self.add_error("quiet_until", _("Enter two different times, or leave both empty."))
        return cleaned


class TokenForm(forms.Form):
    label = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        widget=forms.TextInput(attrs={"placeholder": gettext_lazy("Backup script"), "autocomplete": "off"}),
        error_messages={
            "required": gettext_lazy("Give the token a name, such as “Backup script”."),
            "max_length": gettext_lazy("This name is %(show_value)d characters long; at most %(limit_value)d fit."),
        },
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it may do"),
        choices=list(tokens.SCOPES.items()),
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": gettext_lazy("Choose at least one."),
            "invalid_choice": gettext_lazy("A token cannot have this right. Choose from those listed."),
        },
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("Expires"),
        choices=[
            ("30", gettext_lazy("after 30 days")),
            ("90", gettext_lazy("after 90 days")),
            ("365", gettext_lazy("after a year")),
            ("", gettext_lazy("never")),
        ],
        required=False,
        coerce=int,
        empty_value=None,
        initial="90",
        error_messages={"invalid_choice": gettext_lazy("Choose one of the times listed.")},
    )
    # The id of the new token, so that a form that is sent twice makes one token.
    made_as = forms.UUIDField(widget=forms.HiddenInput)

    def expires_at(self, now: datetime) -> datetime | None:
        days: int | None = self.cleaned_data["days"]
        return None if days is None else now + timedelta(days=days)
