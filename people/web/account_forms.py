"""Forms of allauth: sign up, add an email address, choose a password."""

from typing import Any

from allauth.account.forms import AddEmailForm, ChangePasswordForm, ResetPasswordKeyForm, SignupForm
from django import forms
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils.translation import get_language, gettext_lazy as _

from common import zones
from common.texts.written import check_line
from people.models import User
from people.sign_in import mailboxes
from people.web import themes


class _NewAddress:
    """Refuse an address whose mailbox wants no more email."""

    def clean_email(self) -> str:
        email: str = super().clean_email()  # type: ignore[misc]  # the form's
        if mailboxes.is_refused(email):
            raise ValidationError(mailboxes.REFUSED)
        return email


class SignUpForm(_NewAddress, SignupForm):  # type: ignore[misc]  # allauth ships no types
    name = forms.CharField(
        max_length=150,
        required=False,
        label=_("Your name"),
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

    def try_save(self, request: HttpRequest) -> Any:
        """Take as long for an address that has an account as for one that has none: hashing takes half a second."""
        if self.account_already_exists:
            User().set_password(self.cleaned_data["password1"])
        try:
            with transaction.atomic():
                return super().try_save(request)
        except IntegrityError:
            if not User.objects.filter(email=self.cleaned_data["email"]).exists():
                raise
            return None, redirect("account_login")  # the same form, sent twice at once


class AddAddressForm(_NewAddress, AddEmailForm):  # type: ignore[misc]  # allauth ships no types
    pass


_LABELS = {"oldpassword": _("Current password"), "password1": _("New password"), "password2": _("New password (again)")}


class _NewPassword:
    """allauth's labels in sentence case, as everywhere else."""

    fields: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.fields.keys() & _LABELS:
            self.fields[name].label = _LABELS[name]


class ChangeOwnPasswordForm(_NewPassword, ChangePasswordForm):  # type: ignore[misc]  # allauth ships no types
    pass


class ResetPasswordForm(_NewPassword, ResetPasswordKeyForm):  # type: ignore[misc]  # allauth ships no types
    pass
