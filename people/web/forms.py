"""The form: additional sign-up fields."""

from django import forms
from django.http import HttpRequest
from django.utils.translation import get_language, gettext_lazy

from common import zones
from common.texts.written import check_line
from people.models import User
from people.web import themes


class SignUpDetails(forms.Form):
    name = forms.CharField(
        max_length=150,
        required=False,
        label=gettext_lazy("Your name"),
        validators=[check_line],
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
