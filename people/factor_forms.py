"""What is typed to set up a second factor, and to show it."""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa import app_settings
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY, TOTP
from django.core.cache import cache
from django.forms import ValidationError

from common import encryption

_ATTRIBUTES = {"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false", "placeholder": ""}


class SetUpForm(ActivateTOTPForm):  # type: ignore[misc]  # allauth ships no types
    """`secret` is what the app is to learn. Until a code shows that it did, the session holds it, sealed."""

    secret: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        session = context.request.session
        held = session.get(SECRET_SESSION_KEY)
        super().__init__(*args, **kwargs)
        if self.secret == held:
            self.secret = encryption.unseal(held)
        else:
            session[SECRET_SESSION_KEY] = encryption.seal(self.secret)
        self.fields["code"].label = "Code that the app shows"
        self.fields["code"].widget.attrs |= _ATTRIBUTES

    @property
    def in_fours(self) -> str:
        """The secret as people type it."""
        return " ".join(self.secret[start : start + 4] for start in range(0, len(self.secret), 4))

    @property
    def must_confirm_address(self) -> bool:
        """Else somebody could sign up with another's address and lock its owner out for good. An operator has made
        staff what they are, so nobody has to prove it of theirs."""
        user = self.user
        own = EmailAddress.objects.filter(user=user, email__iexact=user.email, verified=True)
        return not user.is_staff and not own.exists()

    def clean_code(self) -> str:
        if self.must_confirm_address:
            raise ValidationError("Confirm your email address first.")
        code: str = super().clean_code()
        return code


class _CountedCode:
    """Guessing is slow only while guesses are counted: what counts them must be there. For the password it need not
    be, which is slow to check and long to guess; a code is one of a million."""

    fields: dict[str, Any]
    authenticator: Authenticator

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].label = "Code"
        self.fields["code"].help_text = "The one that your authenticator app shows now, or one of your recovery codes."
        self.fields["code"].widget.attrs |= _ATTRIBUTES

    def clean_code(self) -> str:
        if not cache.answers():  # type: ignore[attr-defined]  # common.cache
            raise ValidationError(
                "No code can be checked just now, because Redis, which counts the tries, does not answer. "
                "Try again in a minute."
            )
        try:
            code: str = super().clean_code()  # type: ignore[misc]
        except encryption.Unreadable:
            raise ValidationError(
                "Your second factor cannot be read with the configured encryption keys. Ask the operator to restore "
                "the key, or to remove your second factor."
            ) from None
        if self.authenticator.type == Authenticator.Type.TOTP:
            # A code is good for its own 30 seconds and those on either side, and in all of them it works once.
            used = TOTP(self.authenticator)._get_used_cache_key(code)
            cache.set(used, "y", (2 * app_settings.TOTP_TOLERANCE + 1) * app_settings.TOTP_PERIOD)
        return code


class CodeForm(_CountedCode, AuthenticateForm):  # type: ignore[misc]  # allauth ships no types
    """At sign-in."""


class CodeAgainForm(_CountedCode, ReauthenticateForm):  # type: ignore[misc]  # allauth ships no types
    """By somebody who is signed in, before what deserves it."""
