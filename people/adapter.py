"""allauth's hooks: who may sign up, and what is said at the door."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest

log = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    # Both limits count over five minutes at most (ACCOUNT_RATE_LIMITS, "login_failed").
    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": "There is no account with this e-mail address and this password.",
        "incorrect_password": "This is not your password.",
        "too_many_login_attempts": "Too many failed tries. Wait five minutes, then try again.",
        "rate_limited": "Too many tries. Wait five minutes, then try again.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """The operator may close sign-up (SIGN_UP=off); people who have an account still sign in."""
        return bool(settings.SIGN_UP)

    def is_safe_url(self, url: str | None) -> bool:
        """Whether a link may lead there afterwards; what cannot even be read as an address leads nowhere."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """While the mail server is away, what was done stays done, whoever waits for a mail is told, and nobody learns
        from an error whether there is an account."""
        try:
            super().send_mail(template_prefix, email, context)
        except Exception as error:
            log.error("A mail could not be sent (%s): %s", template_prefix, type(error).__name__)
            messages.error(
                self.request, "A mail could not be sent just now. If you wait for one, try again in a few minutes."
            )
