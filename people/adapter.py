"""allauth's hooks: who may sign up."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """The operator may close sign-up (SIGN_UP=off); people who have an account still sign in."""
        return bool(settings.SIGN_UP)
