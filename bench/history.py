"""`script/bench history [--rows N] [--only PART …] [--json]`: what a long history costs, and how fast it is deleted.

In one run, beside 1,000 old messages and beside N (1,000,000 by default), parts that `--only` chooses from:

- statements: a claim, a settling and a rescue, in interleaved rounds; the ratio is that of medians.
- pages: the 95th of 100 of lists, history, admin and `/metrics`.
- retention: what is older than 30 days, deleted by its task with its pauses, beside reminders that fall due; how late
  these are by then, and how much more it deletes than two workers at full load add.
- bloat: the size of the tables after each of ten rounds in which a tenth of N is written, deleted and vacuumed.
- snapshot: full load beside a transaction that holds a snapshot for `--snapshot-seconds`.
"""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg

from bench.deliver import Runner, costs_of_statements
from bench.environment import arguments, environment, report
from bench.workers import Sink, beat, own_redis_database, worker

_FEW = 1_000
_FEW_DATABASE = "bench_history_few"
_HOSTS = 32
_SECONDS = 30  # of reminders, before and beside retention
_REMINDERS = 10  # a second
_TABLES = ("notifications_notification", "notifications_delivery", "notifications_attempt", "schedules_occurrence")
_SIZE = """
SELECT sum(pg_total_relation_size(name::regclass))::float8 / 1024 ^ 2 AS mib FROM unnest(%s::text[]) AS name
"""
_OLD = 300_000
"""The number of a delivery of 121 days ago."""
_LISTS = (
    *("/reminders/", "/history/", "/history/?state=failed", "/inbox/", "/events/", "/rules/", "/batches/"),
    *(
        "/api/v1/notifications",
        "/api/v1/dead-letters",
        "/api/v1/inbox",
        "/api/v1/events",
        "/api/v1/schedules",
        "/api/v1/changes",
    ),
)
_ADMIN = (
    *("/admin/", "/admin/health/", "/admin/upcoming/", "/admin/outages/", "/admin/people/user/"),
    *("/admin/notifications/notification/", "/admin/notifications/notification/?outcome__exact=failed"),
    *("/admin/notifications/delivery/", "/admin/notifications/delivery/?state__exact=dead"),
    *("/admin/notifications/deadletter/", "/admin/schedules/schedule/", "/admin/schedules/occurrence/"),
    *("/admin/events/event/", "/admin/jobs/job/", "/admin/work/intervention/"),
)
_LATE = """
SELECT extract(epoch FROM a.started_at - n.slot)::float AS late FROM notifications_attempt a
  JOIN notifications_delivery d ON d.id = a.delivery_id JOIN notifications_notification n ON n.id = d.notification_id
 WHERE n.origin = 'schedule' AND a.number = 1 AND n.slot >= %s
"""


def main() -> None:
    parts = {"statements": statements, "pages": pages, "retention": retention, "bloat": bloat, "snapshot": snapshot}
    parser = arguments("history")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", choices=list(parts), default=list(parts))
    parser.add_argument("--n", type=int, default=1_000, help="statements of each kind, and deliveries a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=20, help="of each page")
    parser.add_argument("--snapshot-seconds", type=float, default=600.0)
    options = parser.parse_args()
    with environment() as app:
        own_redis_database(app)
        with filled(options.rows) as clients:
            found: dict[str, Any] = {"rows": options.rows}
            peers: dict[str, Any] = {}
            ratios: dict[str, float] = {}
            for name in options.only:
                ours, its_peers, its_ratios = parts[name](options, clients)
                found |= ours
                peers |= its_peers
                ratios |= its_ratios
                print(f"{name}: {ours}, {its_ratios}", flush=True)
    report("history", 0, found, peers, ratios)


Found = tuple[dict[str, Any], dict[str, Any], dict[str, float]]
"""What a part has measured, its peers, and ratios to them."""


@contextmanager
def filled(rows: int) -> Iterator[tuple[Any, Any]]:
    """The bench's database with so many messages, and another with few; yields a person's client and an operator's."""
    from django.db import connection

    from bench.page_rows import fill
    from bench.rows import clear

    own = connection.settings_dict["NAME"]
    fill(100, _FEW)
    connection.close()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {_FEW_DATABASE}")
        cursor.execute(f'CREATE DATABASE {_FEW_DATABASE} TEMPLATE "{own}"')
    try:
        clear()
        began = time.perf_counter()
        clients = fill(100, rows)
        print(f"filled in {time.perf_counter() - began:.0f} s", flush=True)
        yield clients
    finally:
        connection.close()
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE {_FEW_DATABASE}")


def statements(options: Any, _: Any) -> Found:
    from django.db import connection

    from notifications.models import Channel

    held, own = connection.settings_dict, connection.settings_dict["NAME"]
    rounds: dict[str, list[dict[str, float]]] = {own: [], _FEW_DATABASE: []}
    for number in range(options.rounds + 1):
        for name, costs in rounds.items():
            connection.close()
            held["NAME"] = name
            one = costs_of_statements(Channel.objects.get(label="Pager"), options.n)
            costs.extend([one] if number else [])  # the first warms up
    connection.close()
    held["NAME"] = own
    many, few = (
        {name: statistics.median(one[name] for one in costs) for name in costs[0]} for costs in rounds.values()
    )
    return many, {"few": {"rows": _FEW} | few}, {name: round(many[name] / few[name], 2) for name in few}


def pages(options: Any, clients: tuple[Any, Any]) -> Found:
    from django.conf import settings
    from django.test import Client

    import config.asgi  # noqa: F401 - sets this process up as a web process, with its garbage collector
    from bench.pages import SLOW, Statements
    from people import tokens
    from people.models import User

    owner, staff = clients
    token = tokens.create(User.objects.get(email="ada@example.org"), "Bench", list(tokens.SCOPES), None)[1]
    program = Client(HTTP_HOST="localhost", HTTP_AUTHORIZATION=f"Bearer {token}")
    settings.METRICS_TOKEN, settings.API_REQUESTS_PER_MINUTE = "bench", 0
    scraper = Client(HTTP_HOST="localhost", HTTP_AUTHORIZATION="Bearer bench")
    who = {path: program if path.startswith("/api/") else owner for path in _LISTS}
    who |= dict.fromkeys(_ADMIN, staff) | {"/metrics": scraper}
    heard = Statements()

    def read(path: str) -> Callable[[], object]:
        def ask() -> None:
            if (answer := who[path].get(path)).status_code != 200:
                raise SystemExit(f"{path} answers {answer.status_code}")

        return ask

    measured = {path: heard.during(path, read(path), options.requests) for path in who}
    slowest = dict(sorted(measured.items(), key=lambda item: -item[1]["p95 ms"]))
    for path, one in slowest.items():
        print(f"{path}: {one}")
    heard.show()
    slow = sum(one["p95 ms"] >= SLOW for one in measured.values())
    return {"pages": len(measured), "slow pages": slow}, slowest, {}


def full_load(sink: Sink, workers: Any) -> Runner:
    """Two workers' deliveries to the receiver, as `script/bench deliver` measures them."""
    from bench import bare
    from bench.rows import make_channel, make_deliveries, make_user
    from notifications.deliveries.kind import DELIVERY
    from notifications.models import Delivery
    from work.broker import wakes

    user = make_user()
    channels = [make_channel(user, "webhook", {"url": url}, {"secret": bare.SECRET}) for url in sink.urls(_HOSTS)]

    def is_over() -> bool:
        return not Delivery.objects.filter(channel__in=channels, state__in=Delivery.OPEN).exists()

    return Runner(
        workers,
        lambda ids: wakes.publish(wakes.Wake(DELIVERY.task, key) for key in ids),
        lambda count: [key for one in channels for key in make_deliveries(one, count // len(channels))],
        is_over,
    )


@contextmanager
def installation() -> Iterator[tuple[Runner, Sink]]:
    sink = Sink(0.0)
    try:
        with worker("threads", 512, 2, sink, HISTORY_KEPT_DAYS="0") as workers, beat(sink):
            runner = full_load(sink, workers)
            runner.run(sink, 640)
            runner.rates.clear()
            yield runner, sink
    finally:
        sink.close()


def retention(options: Any, _: Any) -> Found:
    from django.conf import settings

    from notifications.tasks import NOTIFICATIONS

    settings.HISTORY_KEPT_DAYS = 30
    deleted, spent, over = 0, 0.0, threading.Event()

    def prune() -> None:
        from django.db import connection

        nonlocal deleted, spent
        began = time.perf_counter()
        while not over.is_set() and (some := NOTIFICATIONS.prune()):
            deleted += some
            spent = time.perf_counter() - began
        connection.close()

    with installation() as (runner, sink):
        for _number in range(options.rounds):
            runner.run(sink, options.n // _HOSTS * _HOSTS)
        added = statistics.median(runner.rates)
        lateness()  # of a beat that has fired nothing yet
        alone = lateness()
        thread = threading.Thread(target=prune)
        thread.start()
        beside = lateness()
        over.set()
        thread.join()
    a_second = deleted / max(spent, 0.001)
    found: dict[str, Any] = {"deleted": deleted, "deleted/s": round(a_second), "added/s": round(added)}
    found |= {
        "p99 ms alone": alone[1],
        "p99 ms beside": beside[1],
        "p50 ms alone": alone[0],
        "p50 ms beside": beside[0],
    }
    ratios = {"deleted to added": round(a_second / added, 2), "p99 beside retention": round(beside[1] / alone[1], 2)}
    return found, {}, ratios


def lateness() -> tuple[float, float]:
    """The median and the 99th of 100 of milliseconds from a reminder's slot to its claim."""
    from common.database.postgres import query
    from notifications.models import Channel
    from people.models import User
    from schedules.firing import fire
    from schedules.models import Schedule

    luck = random.Random(1)
    user = User.objects.get(email="ada@example.org")
    begin = fire.read_clock().now + timedelta(seconds=4)
    slots = [begin + timedelta(seconds=luck.random() * _SECONDS) for _ in range(_SECONDS * _REMINDERS)]
    made = Schedule.objects.bulk_create(
        Schedule(user=user, title="Late?", kind="once", time_zone="UTC", next_fire_at=slot,
                 rule={"at": slot.replace(tzinfo=None).isoformat()})
        for slot in slots
    )  # fmt: skip
    inbox, through = Channel.objects.get(user=user, label="Inbox"), Schedule.channels.through
    through.objects.bulk_create(through(schedule_id=one.id, channel_id=inbox.id) for one in made)
    give_up_at = time.monotonic() + _SECONDS + 60
    time.sleep(_SECONDS + 5)
    while len(rows := query(_LATE, [begin])) < len(slots):
        if time.monotonic() > give_up_at:
            raise SystemExit(f"Only {len(rows)} of {len(slots)} reminders were claimed")
        time.sleep(1.0)
    late = [row.late * 1000 for row in rows]
    return round(statistics.median(late), 1), round(statistics.quantiles(late, n=100)[98], 1)


def bloat(options: Any, _: Any) -> Found:
    from django.conf import settings
    from django.db import connection

    from bench.page_rows import write_deliveries
    from common.database.postgres import query
    from notifications.tasks import NOTIFICATIONS
    from people.models import User
    from schedules.tasks import SLOTS

    settings.HISTORY_KEPT_DAYS = 30
    owner_id = User.objects.get(email="ada@example.org").pk
    sizes = []
    for number in range(11):  # the first deletes what was there
        if number:
            write_deliveries(owner_id, _OLD, _OLD + options.rows // 10 - 1)
        while NOTIFICATIONS.prune() or SLOTS.prune():
            pass
        with connection.cursor() as cursor:
            cursor.execute(f"VACUUM {', '.join(_TABLES)}")
        [row] = query(
            "SELECT sum(pg_total_relation_size(name::regclass)) AS bytes FROM unnest(%s::text[]) name", [[*_TABLES]]
        )
        sizes.append(round(row.bytes / 2**20, 1))
    found = {f"MiB, round {number}": size for number, size in enumerate(sizes) if number in (0, 1, 2, 5, 10)}
    return found, {}, {"bloat, round 10 to 2": round(sizes[10] / sizes[2], 2)}


def snapshot(options: Any, _: Any) -> Found:
    from django.db import connection

    count = options.n // _HOSTS * _HOSTS
    with installation() as (runner, sink):
        for _number in range(options.rounds):
            runner.run(sink, count)
        before = statistics.median(runner.rates)
        runner.rates.clear()
        with psycopg.connect(**connection.get_connection_params()) as holder:
            holder.execute("SET idle_in_transaction_session_timeout = 0")  # Carillon's own connections have one
            holder.execute("COMMIT")
            holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            holder.execute("SELECT count(*) FROM people_user")
            until = time.monotonic() + options.snapshot_seconds
            while time.monotonic() < until:
                runner.run(sink, count)
            holder.rollback()
        beside = statistics.median(runner.rates[-options.rounds :])
        runner.rates.clear()
        for _number in range(options.rounds):
            runner.run(sink, count)
        after = statistics.median(runner.rates)
    found = {"snapshot s": options.snapshot_seconds, "sent/s before": round(before)}
    found |= {"sent/s at its end": round(beside), "sent/s after": round(after)}
    return found, {}, {"throughput beside a snapshot": round(beside / before, 2)}


if __name__ == "__main__":
    main()
