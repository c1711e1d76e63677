"""Is this web process able to serve? For load balancers and `script/server`."""

from __future__ import annotations

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse


def health(request: HttpRequest) -> HttpResponse:
    """200 when the database answers, 503 with a word when it does not. Says nothing of anybody's data."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return HttpResponse("The database does not answer.\n", status=503, content_type="text/plain")
    return HttpResponse("ok\n", content_type="text/plain")
