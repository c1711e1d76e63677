"""Pages while PostgreSQL or Redis is away: an answer within seconds that says so, instead of a long wait."""

from __future__ import annotations

import sys

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import defaults

from config import env

_RETRY_AFTER = 10  # seconds
# Classes of PostgreSQL's states: no connection, no room for one, shutting down or starting up.
_AWAY = ("08", "53", "57P")


def wait_briefly() -> None:
    """Give up sooner, in this process, than workers and beats do: somebody waits for the page.

    To be called before anything is connected. What DATABASE_URL says about waiting stays.
    """
    options = settings.DATABASES["default"]["OPTIONS"]
    for name, value in (("connect_timeout", "3"), ("tcp_user_timeout", "4000")):
        if options.get(name) == env.NOT_FOR_EVER[name]:
            options[name] = value
    if "pool" in options:
        options["pool"] |= {"timeout": 4}
    # Rescue publishes whatever a page could not.
    settings.CELERY_BROKER_TRANSPORT_OPTIONS |= {"socket_timeout": 1.5, "socket_connect_timeout": 1.5}


def server_error(request: HttpRequest) -> HttpResponse:
    """The page for an error that nothing has caught: 503 while the database is away, else 500."""
    if not _is_away(sys.exc_info()[1]):
        return defaults.server_error(request)
    response = render(None, "503.html", status=503)
    response["Retry-After"] = str(_RETRY_AFTER)
    response["Cache-Control"] = "no-store"
    return response


def _is_away(error: BaseException | None) -> bool:
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(_AWAY)
