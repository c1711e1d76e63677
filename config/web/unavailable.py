"""Answer within seconds while PostgreSQL or the broker is down."""

import sys

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import defaults

from api.protocol.problems import damaged_row
from common.database.postgres import is_outage
from config.environment import engine_urls

_RETRY_AFTER = 10  # seconds


def wait_briefly() -> None:
    """Use shorter timeouts in a web process, before anything connects. Timeouts in DATABASE_URL are kept.

    No request keeps a connection for long that others need: not for one statement, nor while it waits for a lock.
    """
    limits = f"{engine_urls.DATABASE_TIMEOUTS['options']} -c statement_timeout=20s -c lock_timeout=1s"
    for database in settings.DATABASES.values():
        options = database["OPTIONS"]
        for name, value in (("connect_timeout", "3"), ("tcp_user_timeout", "4000"), ("options", limits)):
            if options.get(name) == engine_urls.DATABASE_TIMEOUTS[name]:
                options[name] = value
        if "pool" in options:
            options["pool"]["timeout"] = min(options["pool"]["timeout"], 4)
    # Rescue publishes what a page could not.
    names = ("socket_timeout", "socket_connect_timeout", "connect_timeout", "read_timeout", "write_timeout")
    settings.CELERY_BROKER_TRANSPORT_OPTIONS |= dict.fromkeys(names, 1.5)


def server_error(request: HttpRequest) -> HttpResponse:
    """The page for an uncaught error: 503 while the database is down, 409 where a row is damaged, else 500."""
    from people.account import damage  # models: `wait_briefly` is called before they can be read

    error = sys.exc_info()[1]
    if not is_outage(error):
        if (result := damage.find(request, error)) is None:
            return defaults.server_error(request)
        if request.path.startswith("/api/"):
            return damaged_row(result).response()
        return render(None, "damaged.html", {"damage": result}, status=409)
    response = render(None, "503.html", status=503)
    response["Retry-After"] = str(_RETRY_AFTER)
    response["Cache-Control"] = "no-store"
    return response
