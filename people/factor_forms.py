"""Forms to set up and to enter a second factor."""

from __future__ import annotations

from typing import Any

from allauth.core import context
from allauth.mfa import app_settings
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY, TOTP
from django.core.cache import cache
from django.forms import ValidationError
from django.utils.translation import gettext as _

from common import encryption

_ATTRIBUTES = {"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false", "placeholder": ""}


class SetUpForm(ActivateTOTPForm):  # type: ignore[misc]  # allauth ships no types
    """Until a code confirms it, the session holds the app's `secret`, encrypted."""

    secret: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        session = context.request.session
        held = session.get(SECRET_SESSION_KEY)
        super().__init__(*args, **kwargs)
        if self.secret == held:
            self.secret = encryption.unseal(held)
        else:
            session[SECRET_SESSION_KEY] = encryption.seal(self.secret)
        self.fields["code"].label = _("Code from the app")
        self.fields["code"].widget.attrs |= _ATTRIBUTES

    @property
    def in_fours(self) -> str:
        """The secret in groups of four characters."""
        return " ".join(self.secret[start : start + 4] for start in range(0, len(self.secret), 4))


class _CountedCode:
    """Refuse codes while Redis cannot count the tries: a code is one of only a million."""

    fields: dict[str, Any]
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
