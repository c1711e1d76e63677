"""Forms to set up and to enter a second factor."""

import json
from collections.abc import Callable
from typing import Any

from allauth.core import context
from allauth.mfa import app_settings
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY, TOTP
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    EditWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from django import forms
from django.core.cache import cache
from django.forms import ValidationError
from django.utils.translation import gettext as _, gettext_lazy
from fido2.utils import websafe_decode

from common.database import encryption
from people.sign_in import second_factor

MAX_NAME = 80
MOST_KEYS = 10  # for each person
_LONGEST_ANSWER = 20_000  # characters of JSON

_ATTRIBUTES = {"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false", "placeholder": ""}


class SetUpForm(ActivateTOTPForm):  # type: ignore[misc]  # allauth ships no types
    """Until a code confirms it, the session holds the app's `secret`, encrypted."""

    secret: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        session = context.request.session
        stored = session.get(SECRET_SESSION_KEY)
        super().__init__(*args, **kwargs)
        if self.secret == stored:
            self.secret = encryption.unseal(stored)
        else:
            session[SECRET_SESSION_KEY] = encryption.seal(self.secret)
        self.fields["code"].label = _("Code from the app")
        self.fields["code"].widget.attrs |= _ATTRIBUTES

    @property
    def in_fours(self) -> str:
        return " ".join(self.secret[start : start + 4] for start in range(0, len(self.secret), 4))


class _CountedCode:
    """Refuse codes while Redis cannot count the tries: a code is one of only a million."""

    fields: dict[str, Any]
    cleaned_data: dict[str, Any]
    authenticator: Authenticator

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].label = "Code"
        self.fields["code"].help_text = _("From your authenticator app, or one of your recovery codes.")
        self.fields["code"].widget.attrs |= _ATTRIBUTES

    def clean_code(self) -> str:
        if not cache.answers():  # type: ignore[attr-defined]  # common.cache
            raise ValidationError(
                _("Carillon cannot check codes right now because Redis does not answer. Try again in a minute.")
            )
        if len(typed := "".join(filter(str.isalnum, self.cleaned_data["code"]))) != app_settings.TOTP_DIGITS:
            self.cleaned_data["code"] = second_factor.hash_code(typed)  # allauth compares it with the stored ones
        try:
            code: str = super().clean_code()  # type: ignore[misc]
        except encryption.Unreadable:
            raise ValidationError(
                _(
                    "The configured encryption keys cannot read your second factor. Ask your administrator to restore "
                    "the key or to remove your second factor."
                )
            ) from None
        if self.authenticator.type == Authenticator.Type.TOTP:
            # A code is valid in its own period and the adjacent ones, and works only once.
            used = TOTP(self.authenticator)._get_used_cache_key(code)
            cache.set(used, "y", (2 * app_settings.TOTP_TOLERANCE + 1) * app_settings.TOTP_PERIOD)
        return code


class CodeForm(_CountedCode, AuthenticateForm):  # type: ignore[misc]  # allauth ships no types
    """At sign-in."""


class CodeAgainForm(_CountedCode, ReauthenticateForm):  # type: ignore[misc]  # allauth ships no types
    """Before sensitive changes, for somebody who is signed in."""


class _KeyField(forms.JSONField):
    """A browser's answer for a security key. allauth stores it whole, and PostgreSQL's jsonb takes no NUL."""

    widget = forms.HiddenInput

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and (len(value) > _LONGEST_ANSWER or r"\u0000" in value):
            raise _unrecognised()
        return super().to_python(value)


def _unrecognised() -> ValidationError:
    return ValidationError(_("This security key was not recognised. Try again, or use another one."), code="wrong_key")


def _check_key(check: Callable[[], Any], answer: Any) -> Any:
    """Check the answer of a key by allauth's `check`, and that it was given to a page of this installation."""
    try:
        client_data = json.loads(websafe_decode(answer["response"]["clientDataJSON"]))
        if client_data["origin"] == second_factor.key_origin():
            return check()
    except ValidationError as error:
        if error.code != "incorrect_code":  # too many tries
            raise
    except Exception:  # noqa: S110 - foreign code, with what a stranger's browser sent
        pass
    raise _unrecognised()


class AddKeyForm(AddWebAuthnForm):  # type: ignore[misc]  # allauth ships no types
    cleaned_data: dict[str, Any]
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=MAX_NAME,
        required=False,
        help_text=gettext_lazy("To tell it from your other keys."),
    )
    credential = _KeyField()

    def clean(self) -> dict[str, Any]:
        if not (answer := self.cleaned_data.get("credential")):
            return self.cleaned_data
        if Authenticator.objects.filter(user=self.user, type=Authenticator.Type.WEBAUTHN).count() >= MOST_KEYS:
            raise ValidationError(_("You have %(most)s security keys. Remove one first.") % {"most": MOST_KEYS})
        return _check_key(super().clean, answer)


class RenameKeyForm(EditWebAuthnForm):  # type: ignore[misc]  # allauth ships no types
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=MAX_NAME,
        error_messages={"required": gettext_lazy("Give the security key a name.")},
    )


class _CheckedKey(forms.Form):
    credential = _KeyField()

    def clean_credential(self) -> Authenticator:
        return _check_key(super().clean_credential, self.cleaned_data["credential"])  # type: ignore[misc]


class KeyForm(_CheckedKey, AuthenticateWebAuthnForm):  # type: ignore[misc]  # allauth ships no types
    """At sign-in."""


class KeyAgainForm(_CheckedKey, ReauthenticateWebAuthnForm):  # type: ignore[misc]  # allauth ships no types
    """Before sensitive changes, for somebody who is signed in."""
