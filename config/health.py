"""Is this web process able to serve, and does the clock run? For load balancers, `script/server` and monitors."""

from __future__ import annotations

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse

from schedules.beat import heartbeat
from schedules.firing import fire


def health(request: HttpRequest) -> HttpResponse:
    """200 when the database answers, 503 with a word when it does not. Says nothing of anybody's data."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return _away()
    return _said("ok")


def clock(request: HttpRequest) -> HttpResponse:
    """200 with "beat last seen 2 s ago"; 503 when no beat was seen for a minute. By the database's clock."""
    try:
        seen, now = heartbeat.beat_last_seen(), fire.read_clock().now
    except Error:
        return _away()
    if seen is None:
        return _said("No beat was ever seen.", 503)
    ago = (now - seen).total_seconds()
    return _said(f"beat last seen {ago:.0f} s ago", 200 if ago <= heartbeat.STOPPED else 503)


def _away() -> HttpResponse:
    return _said("The database does not answer.", 503)


def _said(word: str, status: int = 200) -> HttpResponse:
    return HttpResponse(f"{word}\n", status=status, content_type="text/plain")
