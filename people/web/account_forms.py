"""Forms of allauth: sign up, add an email address, choose a password."""

from typing import Any

from allauth.account.forms import AddEmailForm, ChangePasswordForm, ResetPasswordKeyForm, SignupForm
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from people import mailboxes
from people.models import User


class _NewAddress:
    """Refuse an address whose mailbox wants no more email."""

    def clean_email(self) -> str:
        email: str = super().clean_email()  # type: ignore[misc]  # the form's
        if mailboxes.is_refused(email):
            raise ValidationError(mailboxes.REFUSED)
        return email


class SignUpForm(_NewAddress, SignupForm):  # type: ignore[misc]  # allauth ships no types
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
