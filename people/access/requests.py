"""Views for who is signed in: the type of their requests, and their decorators."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.db import IntegrityError
from django.http import Http404, HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails
from psycopg.errors import UniqueViolation

from common.uuid7 import is_recent, uuid7
from people.access import acting
from people.models import Membership, User

P = ParamSpec("P")


class PersonRequest(HttpRequest):
    user: User
    acting: Membership
    """Only where the person acts for a team."""
    htmx: HtmxDetails
    made_as: UUID
    """Only in views that are `made_once`."""


def posted(request: HttpRequest) -> QueryDict | None:
    """The data for a form; None while its page is only shown."""
    return request.POST if request.method == "POST" else None


def own_path(written: str) -> str:
    """The path of a page to which a form leads back; "" for the address of another site."""
    return written if written.startswith("/") and url_has_allowed_host_and_scheme(written, allowed_hosts=None) else ""


View = Callable[Concatenate[PersonRequest, P], HttpResponseBase]


def _signed_in(view: View[P]) -> View[P]:
    """Lead to the sign-in, and from there to the page, or to that which has the form or is to show the part."""

    @wraps(view)
    def checked(request: PersonRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        page = request.get_full_path()
        if request.method == "POST" or request.htmx:
            page = request.headers.get("Referer", "")
            is_own = url_has_allowed_host_and_scheme(page, request.get_host())
            page = own_path(urlunsplit(urlsplit(page)._replace(scheme="", netloc=""))) if is_own else ""
        if request.method == "POST":
            messages.warning(request, _("You are signed out, and nothing was changed. Sign in, then do it again."))
        leads = redirect_to_login(page)
        return HttpResponseClientRedirect(leads.url) if request.htmx else leads

    return checked


def person_page(view: View[P]) -> View[P]:
    """For who is signed in; it only reads."""
    return _signed_in(require_safe(view))


def person_action(view: View[P]) -> View[P]:
    """For who is signed in, by POST."""
    return _signed_in(require_POST(view))


def person_form(view: View[P]) -> View[P]:
    """For who is signed in: a GET shows a form, and a POST sends it."""
    return _signed_in(require_http_methods(["GET", "HEAD", "POST"])(view))


def made_once(again: View[[]]) -> Callable[[View[P]], View[P]]:
    """For a form whose row gets the id `request.made_as`, which its page has.

    `again` answers if it is sent again, and raises Http404 where there is no such row.
    """

    def decorated(view: View[P]) -> View[P]:
        @wraps(view)
        def once(request: PersonRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            try:
                request.made_as = UUID(request.POST.get("made_as", ""))
            except ValueError:
                request.made_as = uuid7()
                return view(request, *args, **kwargs)
            with suppress(Http404):
                return again(request)
            if not is_recent(request.made_as, timezone.now()):
                request.made_as = uuid7()
            try:
                return view(request, *args, **kwargs)
            except IntegrityError as error:  # the same form, sent twice at once
                if not isinstance(error.__cause__, UniqueViolation):
                    raise
                return again(request)

        return once

    return decorated


def sensitive(view: View[P]) -> View[P]:
    """For people who have confirmed within five minutes that it is them: a stolen session does not pass."""

    def confirmed(request: PersonRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        acting.apply(request)  # again: allauth goes on with the request from its own page
        return view(request, *args, **kwargs)

    recent: View[P] = reauthentication_required(confirmed)

    @wraps(view)
    def checked(request: PersonRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        acting.as_person(request)  # a team has no password to ask for
        return recent(request, *args, **kwargs)

    return person_form(checked)
