"""`script/bench peers [--n N] [--rounds R] [--json]`: the same signed POSTs by other task queues, in the same run.

All workers are started first and stopped with SIGSTOP. In each round every queue in turn is continued and does `n` jobs
that were published meanwhile, so that neither starting nor publishing is measured.

At the end the workers are killed (SIGKILL) with jobs in flight to a slow receiver and started again. The table says how
many requests arrived, and how many jobs have no end in the records 110 s later.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.environment import children_environment, clear_broker, environment, report
from bench.workers import Sink, cpu_of, own_redis_database, worker
from demo.child import Child

_LIST = Path(__file__).with_name("requirements.txt")
_CRASH_JOBS = 8
_CRASH_LATENCY = 4.0  # seconds
_START = 15.0  # seconds
_PATIENCE = 110.0  # seconds; a lease of ours ends after 90


@dataclass
class Queue:
    """One task queue. `ended` is the SQL that counts jobs which are over by its records, empty without records."""

    name: str
    start: Callable[[Sink], list[Child]]
    publish: Callable[[int], None]
    start_durable: str
    end_durable: str
    ended: str
    children: list[Child] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def signal(self, number: signal.Signals) -> None:
        for child in self.children:
            os.killpg(child.pid, number)


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench peers")
    parser.add_argument("--n", type=int, default=2_000, help="jobs a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    python = environment_of_peers()
    with environment() as app, ExitStack() as stack:
        own_redis_database(app)
        stack.callback(clear_broker, app)
        queues = _queues(app, python, stack)
        sink = Sink(0)
        stack.callback(sink.close)
        for queue in queues:
            queue.children = queue.start(sink)
            _measure(queue, sink, 200)
            queue.signal(signal.SIGSTOP)
        for _ in range(options.rounds):
            for queue in queues:
                rate, cpu = _measure(queue, sink, options.n)
                queue.rates.append(rate)
                queue.cpu.append(cpu)
                queue.signal(signal.SIGSTOP)
        for queue in queues:
            queue.signal(signal.SIGKILL)
        crashes = _crash(queues)
    rows = {
        queue.name: {
            "jobs/s": round(statistics.median(queue.rates)),
            "CPU ms a job": round(statistics.median(queue.cpu), 2),
            "start durable": queue.start_durable,
            "end durable": queue.end_durable,
            **crashes[queue.name],
        }
        for queue in queues
    }
    ours = rows.pop("ours")
    report("peers", 0, ours, rows, {name: round(ours["jobs/s"] / row["jobs/s"], 2) for name, row in rows.items()})


def _measure(queue: Queue, sink: Sink, count: int) -> tuple[float, float]:
    """Jobs a second, and milliseconds of its workers' CPU for each."""
    queue.signal(signal.SIGSTOP)
    target, over = sink.answered + count, _count(queue) + count
    queue.publish(count)
    used, started = cpu_of(queue.children), time.perf_counter()
    queue.signal(signal.SIGCONT)
    while sink.answered < target or (queue.ended and _count(queue) < over):
        if time.perf_counter() > started + 90:
            raise SystemExit(f"{queue.name}: only {sink.answered - target + count} of {count} were answered")
        time.sleep(0.02)
    took = time.perf_counter() - started
    return count / took, (cpu_of(queue.children) - used) / count * 1000


def _crash(queues: Sequence[Queue]) -> dict[str, dict[str, Any]]:
    """Kill each queue's workers in mid-send, start them again, and look at what arrived and what was recorded."""
    from work.engine.rescue import rescue

    sinks = {queue.name: Sink(_CRASH_LATENCY) for queue in queues}
    before = {queue.name: _count(queue) for queue in queues}
    for queue in queues:
        queue.children = queue.start(sinks[queue.name])
    time.sleep(_START)
    for queue in queues:
        queue.signal(signal.SIGSTOP)
        queue.publish(_CRASH_JOBS)
    for queue in queues:
        queue.signal(signal.SIGCONT)
    time.sleep(_CRASH_LATENCY / 2)
    for queue in queues:
        queue.signal(signal.SIGKILL)
        queue.children = queue.start(sinks[queue.name])
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        rescue()  # ours, which beat calls elsewhere; the others' workers look for themselves
        time.sleep(5)
    found = {}
    for queue in queues:
        open_ones = _CRASH_JOBS - (_count(queue) - before[queue.name]) if queue.ended else "no record"
        arrived = sinks[queue.name].answered
        found[queue.name] = {f"crash: arrived of {_CRASH_JOBS}": arrived, "crash: without an end": open_ones}
        queue.signal(signal.SIGKILL)
        sinks[queue.name].close()
    return found


def _queues(app: Any, python: str, stack: ExitStack) -> list[Queue]:
    from django.conf import settings

    from bench import bare
    from bench.rows import make_channel, make_deliveries, make_user
    from notifications.deliveries import outbox
    from work.broker import wakes

    variables = {
        **children_environment(),
        "BENCH_BROKER": settings.CELERY_BROKER_URL,
        "ALLOWED_NETWORKS": "127.0.0.0/8",
        "WEBHOOKS_PER_SECOND": "100000",
        "LOG_LEVEL": "ERROR",
        "DATABASE_POOL": "off",
        "DJANGO_SETTINGS_MODULE": "bench.peers.settings",
    }
    variables["BENCH_DATABASE"] = variables["DATABASE_URL"]

    def other(
        name: str,
        module: str,
        command: Sequence[str],
        processes: int,
        start_durable: str,
        end_durable: str,
        ended: str = "",
        **more: str,
    ) -> Queue:
        def run(*arguments: str) -> None:
            given = {**os.environ, **variables, **more}
            call = [python, "-m", f"bench.peers.{module}", *arguments]
            subprocess.run(call, check=True, env=given, stdout=subprocess.DEVNULL)

        def start(sink: Sink) -> list[Child]:
            given = {**variables, **more, "BENCH_SINKS": sink.url}
            children = [
                Child(f"{name} {n}", [python, *command], environment=given, on_line=_ignore) for n in range(processes)
            ]
            for child in children:
                child.start()
            return children

        if module != "plain_celery":
            run("install")
        return Queue(name, start, lambda count: run("publish", str(count)), start_durable, end_durable, ended)

    channels: list[Any] = []

    def start_ours(sink: Sink) -> list[Child]:
        channels.append(make_channel(make_user(), "webhook", {"url": sink.url}, {"secret": bare.SECRET}))
        return stack.enter_context(worker("threads", 512, 2, sink, SENDS_AT_ONCE="100000"))

    def publish_ours(count: int) -> None:
        wakes.publish(wakes.Wake(outbox.DELIVER, delivery_id) for delivery_id in make_deliveries(channels[-1], count))

    ended = "SELECT count(*) FROM notifications_delivery WHERE settled_at IS NOT NULL"
    celery = ["-m", "celery", "-A", "bench.peers.plain_celery", "worker", "--concurrency", "4", "--loglevel", "ERROR"]
    return [
        Queue("ours", start_ours, publish_ours, "yes", "yes", ended),
        other("Celery, prefork 4", "plain_celery", [*celery, "-n", "plain@%h"], 1, "no", "no"),
        other(
            "Celery + django-celery-results, prefork 4",
            "plain_celery",
            [*celery, "-n", "results@%h"],
            1,
            "yes",
            "yes",
            "SELECT count(*) FROM django_celery_results_taskresult WHERE status IN ('SUCCESS', 'FAILURE')",
            BENCH_RESULTS="1",
        ),
        other(
            "Procrastinate, async 2 x 16",
            "with_procrastinate",
            ["-m", "bench.peers.with_procrastinate", "work"],
            2,
            "yes",
            "yes",
            "SELECT count(*) FROM procrastinate_jobs WHERE status NOT IN ('todo', 'doing')",
        ),
        other(
            "django-tasks, 4 processes",
            "with_django_tasks",
            ["-m", "bench.peers.with_django_tasks", "work"],
            4,
            "yes",
            "yes",
            "SELECT count(*) FROM django_tasks_database_dbtaskresult WHERE status IN ('SUCCESSFUL', 'FAILED')",
        ),
        other(
            "PgQueuer, 2 async, batches of 10",
            "with_pgqueuer",
            ["-m", "bench.peers.with_pgqueuer", "work"],
            2,
            "by batch",
            "buffered",
            "SELECT count(*) FROM pgqueuer_log WHERE status IN ('successful', 'exception')",
        ),
    ]


def _ignore(line: str, name: str) -> None:
    """Of workers' output: what matters is counted."""


def _count(queue: Queue) -> int:
    from django.db import connection

    if not queue.ended:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(queue.ended)
        [count] = cursor.fetchone()
    return int(count)


def environment_of_peers() -> str:
    """Install the peers beside the product's packages, in var/; return their Python."""
    place = Path(os.environ["CARILLON_VAR"]) / "peers"
    python = place / "bin" / "python"
    installed = place / _LIST.name
    if not installed.exists() or installed.read_bytes() != _LIST.read_bytes():
        venv.create(place, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        subprocess.run([*pip, "-r", str(_LIST)], check=True)
        [packages] = place.glob("lib/python*/site-packages")
        own = [path for path in sys.path if path.endswith("site-packages")]
        (packages / "product.pth").write_text("\n".join(own) + "\n")  # behind the peers' own
        installed.write_bytes(_LIST.read_bytes())
    return str(python)


if __name__ == "__main__":
    main()
