"""Health checks for load balancers, `script/server` and monitors, and `/metrics` for Prometheus.

They reveal nobody's data: the numbers are by kind of work and by provider, never by person. Off without METRICS_TOKEN.
"""

from collections.abc import Iterator, Mapping
from secrets import compare_digest

from django.conf import settings
from django.db import Error, connection
from django.http import Http404, HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from common.database.postgres import query
from common.redis import served_queues
from schedules.beat import canary, heartbeat, periodic_runs, problems as clock_problems
from work.backup import newest
from work.broker import backlog
from work.engine import hold
from work.models import Total
from work.operators import health as work_health

_LARGEST = 20
_TABLES = """
SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
 WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY bytes DESC, name LIMIT %s
"""


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
        ago, problems = heartbeat.age(), clock_problems.sentences()
        if hold.is_on():
            return _plain("Carillon is on hold: release it on the page “Outages” of the admin.", 503)
    except Error:
        return _database_away()
    if ago is None:
        return _plain("No beat has been seen yet.", 503)
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


def metrics(request: HttpRequest) -> HttpResponse:
    """The numbers, for who has the token: 404 where there is none, 401 for another one, 503 without a database."""
    if not settings.METRICS_TOKEN:
        raise Http404
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not compare_digest(given.encode(), settings.METRICS_TOKEN.encode()):
        refusal = _plain("Send METRICS_TOKEN as a bearer token.", 401)
        refusal["WWW-Authenticate"] = "Bearer"
        return refusal
    try:
        return HttpResponse(generate_latest(Numbers()), content_type=CONTENT_TYPE_LATEST)
    except Error:
        return _database_away()


class Numbers(Collector):
    """Asked at each scrape, in ten statements that read indexes and at most 100,000 rows of a kind of work."""

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("carillon_up", "The database answers.", value=1)
        yield from self._tries()
        yield from self._work()
        yield from self._clock()
        sizes = {row.name: row.bytes for row in query(_TABLES, [_LARGEST])}
        yield _gauge("carillon_table_bytes", "Size of the largest tables, with their indexes.", "table", sizes)

    def _tries(self) -> Iterator[Metric]:
        labels = ["kind", "handler", "outcome"]
        tries = CounterMetricFamily(
            "carillon_tries", "Tries that have ended, counted some minutes later.", labels=labels
        )
        seconds = CounterMetricFamily("carillon_try_seconds", "How long these tries took together.", labels=labels)
        for total in Total.objects.order_by("kind", "handler", "outcome"):
            values = [total.kind, total.handler, total.outcome]
            tries.add_metric(values, total.count)
            seconds.add_metric(values, total.seconds)
        yield from (tries, seconds)

    def _work(self) -> Iterator[Metric]:
        waiting, dead = work_health.waiting(), {row.kind: row.count for row in work_health.dead()}
        counts, late = {row.kind: row.count for row in waiting}, {row.kind: row.late for row in waiting}
        oldest = {row.kind: row.oldest or 0 for row in waiting}
        yield _gauge("carillon_work_waiting", "Work that waits for its time or a worker.", "kind", counts)
        yield _gauge("carillon_work_late", "Of that, due for more than a minute.", "kind", late)
        yield _gauge("carillon_work_oldest_seconds", "Since the oldest was due.", "kind", oldest)
        yield _gauge("carillon_dead_letters", "Dead letters that wait for a decision.", "kind", dead)

    def _clock(self) -> Iterator[Metric]:
        if (age := heartbeat.age()) is not None:
            yield GaugeMetricFamily("carillon_beat_age_seconds", "Since any beat was seen.", value=max(0.0, age))
        yield GaugeMetricFamily("carillon_on_hold", "Nothing is done until it is released.", value=hold.is_on())
        if (past := newest.age()) is not None:
            text = "Since the data of the newest backup; before the first one, since the installation began."
            yield GaugeMetricFamily("carillon_backup_age_seconds", text, value=past.total_seconds())
        if settings.CANARY and (ago := canary.age()) is not None:
            yield GaugeMetricFamily(
                "carillon_canary_age_seconds", "Since the slot of the last canary that arrived.", value=ago
            )
        problems = len(periodic_runs.faults())
        yield GaugeMetricFamily("carillon_periodic_task_problems", "What /healthz/clock says of them.", value=problems)
        unserved = len(served_queues.unserved())
        yield GaugeMetricFamily("carillon_queues_unserved", "Queues that no worker serves.", value=unserved)


def _gauge(name: str, text: str, label: str, numbers: Mapping[str, float]) -> Metric:
    gauge = GaugeMetricFamily(name, text, labels=[label])
    for value, number in numbers.items():
        gauge.add_metric([value], number)
    return gauge
