"""Middleware: the reader's time zone and language, the second factor, acting for a team, and a person's changes."""

import logging
import re
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlencode

from allauth.account.internal.flows.reauthentication import is_reauthentication_required, suspend_request
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from common.database.postgres import is_locked, is_orphan
from common.redis import request_limiter, request_slots
from common.texts import languages
from people import teams
from people.access import acting
from people.models import User
from people.models.owned import NotOwned
from people.sign_in import second_factor

log = logging.getLogger(__name__)

_SHOWN_AT = ("mfa_authenticate", "mfa_reauthenticate", "mfa_reauthenticate_webauthn")
_CHANGES = {
    "mfa_deactivate_totp": "totp",
    "mfa_remove_webauthn": "",
    "mfa_activate_totp": "",
    "mfa_add_webauthn": "",
    "mfa_generate_recovery_codes": "",
}
"""The pages that change factors, with the type of the factor that is removed; a key has its `pk`."""
_PASSWORD = re.compile(r"(?:old|new_)?password\d?")
_SET_UP_AT = ("mfa_activate_totp", "mfa_add_webauthn")
_GUARDED = {
    *("security-keys", "account_email", "account_change_password", "transfer:export"),
    *("people:token-new", "people:account-download", "people:account-delete", "people:sign-out-elsewhere"),
    "people:team-delete",
}
"""Pages that need the second factor, besides its own."""
_ACCOUNTS_IN_ADMIN = tuple(
    f"admin:{model}_"
    for model in ("people_user", "auth_user", "account_emailaddress", "mfa_authenticator", "auth_group")
)


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


class ActingFor(MiddlewareMixin):
    """Let somebody act for the team that their session says, as long as they are its member. See `access.acting`."""

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> None:
        if not request.user.is_authenticated or (team_id := request.session.get(acting.TEAM)) is None:
            return
        if (membership := teams.find_membership(request.user, team_id)) is None:
            if not acting.is_of_open_page(request):  # each open page says it, and one that is opened next
                acting.switch(request, None)
            if request.path == reverse("people:home"):
                return
            raise PermissionDenied(_("You are no longer a member of this team. You act for yourself again."))
        request.acting = membership  # type: ignore[attr-defined]
        acting.apply(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Offer to act for the account whose page it is, if the person may; to others it does not exist."""
        if not isinstance(error, NotOwned) or request.method != "GET" or not isinstance(request.user, User):
            return None
        account = error.other_account(request.user.actor)
        if account is None:
            return None
        return render(request, "people/other_account.html", {"account": account}, status=404)


class FewRequestsAtOnce:
    """Limit how many requests of one person, or of one stranger's address, are in work.

    Where changes wait too long for each other, the page of 409 keeps what was typed, and sends it again. The API, and
    what the secret in an address lets in, do the same with their person.
    """

    _ELSEWHERE = ("/api/", "/in/", "/calendar/", "/healthz")

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            return self.get_response(request)
        finally:
            request_slots.leave(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        """After the check for forged requests, whose fields must not be shown."""
        if request.path.startswith(self._ELSEWHERE):
            return None
        person = request.user.pk
        if person is not None and request.method not in request_slots.SAFE:
            return request_slots.enter(request, request_slots.CHANGE, person, lambda: _busy(request))
        who = request_limiter.by_address(request) if person is None else person
        return request_slots.enter(request, request_slots.READ, who, request_limiter.too_many_page)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if is_orphan(error):
            log.warning("A request refers to a row that is gone: %s", error)
            return render(request, "404.html", status=404)
        return _busy(request) if is_locked(error) else None


# Fields that no page shows again.
_SECRET = re.compile("password|secret|token", re.IGNORECASE)


def _busy(request: HttpRequest) -> HttpResponse:
    typed = [(name, one) for name, values in request.POST.lists() if not _SECRET.search(name) for one in values]
    can_send = request.method == "POST" and not request.FILES
    context = {"token": get_token(request), "address": request.get_full_path(), "typed": typed, "can_send": can_send}
    response = render(None, "409.html", context, status=409)
    response["Retry-After"] = "1"
    return response


def _is_guarded(name: str) -> bool:
    return name in _GUARDED or (name.startswith("mfa_") and name not in _SHOWN_AT)


class FactorFirst(MiddlewareMixin):
    """Require the second factor for its own pages, addresses, the password, data of an account or team, and new tokens.

    A session from before the set-up knows only the password. Accounts in the admin ask for the password again.
    """

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        name = request.resolver_match.view_name if request.resolver_match else ""
        if not request.user.is_authenticated:
            return None
        if request.method == "POST" and name.startswith(_ACCOUNTS_IN_ADMIN):
            return self._asks_for_password(request)
        if not _is_guarded(name):
            return None
        if name in _SET_UP_AT and second_factor.must_confirm_address(request.user):
            # Before the password is asked for, which would be in vain.
            messages.warning(request, _("Confirm your email address first. Then set up the second factor."))
            return redirect("account_email")
        if not second_factor.is_set_up(request.user):
            return None
        if second_factor.was_shown(request, request.user):
            return self._asks_for_factor(request, name, kwargs)
        return redirect(f"{second_factor.where_to_show(request.user)}?{urlencode({'next': request.path})}")

    def _asks_for_password(self, request: HttpRequest) -> HttpResponse | None:
        """A stolen session of staff would make itself an account, or take over its own."""
        if not is_reauthentication_required(request, app="allauth.account"):
            return None
        # The session keeps what was typed, but no password: the form asks for that again.
        typed = request.POST.copy()
        for name in filter(_PASSWORD.fullmatch, list(typed)):
            del typed[name]
        request.POST = typed  # type: ignore[assignment]
        return suspend_request(request, reverse("account_reauthenticate"))

    def _asks_for_factor(self, request: HttpRequest, name: str, kwargs: dict[str, Any]) -> HttpResponse | None:
        """A factor goes only with itself or a recovery code; another one and new codes come with any."""
        user = cast(User, request.user)
        if name not in _CHANGES or second_factor.was_shown_now(request, user, _CHANGES[name], kwargs.get("pk")):
            return None
        messages.info(request, _("Show the second factor that this is about, or enter a recovery code."))
        page = reverse("mfa_reauthenticate" if _CHANGES[name] else "mfa_reauthenticate_webauthn")
        if not _CHANGES[name] and "pk" not in kwargs:
            page = second_factor.where_to_show(user)
        return redirect(f"{page}?{urlencode({'next': request.path})}")
