"""Health checks for load balancers, `script/server` and monitors. They reveal nobody's data."""

from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse

from common.redis import served_queues
from schedules.beat import heartbeat, problems as clock_problems
from schedules.firing import fire
from work.broker import backlog
from work.engine import hold


def health(request: HttpRequest) -> HttpResponse:
    """200 with the version if the database answers, else 503."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return _database_away()
    return _plain(f"ok, Carillon {settings.VERSION}")


def clock(request: HttpRequest) -> HttpResponse:
    """200 with "beat last seen 2 s ago"; 503 if no beat was seen for a minute, tasks do not run, or it is on hold."""
    try:
        seen, now, problems = heartbeat.beat_last_seen(), fire.read_clock().now, clock_problems.sentences()
        if hold.is_on():
            return _plain("Carillon is on hold: release it on the page “Outages” of the admin.", 503)
    except Error:
        return _database_away()
    if seen is None:
        return _plain("No beat has been seen yet.", 503)
    ago = (now - seen).total_seconds()
    is_well = ago <= heartbeat.STOPPED and not problems
    return _plain("\n".join([f"beat last seen {ago:.0f} s ago", *problems]), 200 if is_well else 503)


def queues(request: HttpRequest) -> HttpResponse:
    """200 if workers serve all queues; 503 if nobody served one for a minute, or the broker or Redis takes nothing."""
    if problem := backlog.problem():
        return _plain(problem, 503)
    if missing := served_queues.unserved():
        return _plain(served_queues.warning(missing), 503)
    return _plain("All queues are served.")


def _database_away() -> HttpResponse:
    return _plain("The database does not answer.", 503)


def _plain(text: str, status: int = 200) -> HttpResponse:
    return HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
