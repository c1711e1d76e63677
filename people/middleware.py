"""What holds for every request of somebody who is signed in: their time zone, and their second factor's safety."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from common import zones
from people import second_factor


class ReadersTimeZone:
    """Show every instant in the reader's own time zone; a damaged one is shown as UTC, and `base.html` says so."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name = getattr(request.user, "time_zone", "")
        with timezone.override(zones.read(name) if name else None):
            return self.get_response(request)


class FactorFirst:
    """Where somebody has a second factor, its pages open to who has shown it, not to who only knows the password: a
    session from before it was set up could otherwise read the recovery codes, or take it away."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        asks = (reverse("mfa_authenticate"), reverse("mfa_reauthenticate"))
        if not request.path.startswith(reverse("mfa_index")) or request.path in asks:
            return None
        if not request.user.is_authenticated:
            return None
        if not second_factor.is_set_up(request.user) or second_factor.was_shown(request, request.user):
            return None
        return redirect(f"{reverse('mfa_reauthenticate')}?{urlencode({'next': request.path})}")
