"""Middleware: the reader's time zone and language, and pages that need the second factor."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from common import languages
from people import second_factor

_SHOWN_AT = ("mfa_authenticate", "mfa_reauthenticate", "mfa_reauthenticate_webauthn")
_SET_UP_AT = ("mfa_activate_totp", "mfa_add_webauthn")


class ReadersZoneAndLanguage:
    """Show instants in the reader's zone, and texts in the language that they or their browser ask for.

    For a damaged zone `base.html` shows a warning. The API speaks English, which programs were written for.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        language = getattr(request.user, "language", "") or translation.get_language_from_request(request)
        if request.path.startswith("/api/"):
            language = settings.LANGUAGE_CODE
        with timezone.override(getattr(request.user, "zone", None)), languages.override(language):
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
        patch_vary_headers(response, ["Accept-Language"])
        return response


class FactorFirst(MiddlewareMixin):
    """Require the second factor for its own pages, for an account's data, and for new tokens, which need none later.

    A session from before the set-up knows only the password.
    """

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        guarded = request.path.startswith(_path("mfa_index")) or request.path in _guarded()
        if not guarded or not request.user.is_authenticated or request.path in map(_path, _SHOWN_AT):
            return None
        if request.path in map(_path, _SET_UP_AT) and second_factor.must_confirm_address(request.user):
            # Before the password is asked for, which would be in vain.
            messages.warning(request, _("Confirm your email address first. Then set up the second factor."))
            return redirect("account_email")
        if not second_factor.is_set_up(request.user) or second_factor.was_shown(request, request.user):
            return None
        return redirect(f"{second_factor.where_to_show(request.user)}?{urlencode({'next': request.path})}")


@cache
def _guarded() -> set[str]:
    return {reverse(f"people:{name}") for name in ("token-new", "account-download", "account-delete")}


@cache
def _path(name: str) -> str:
    return reverse(name)
