"""`script/bench fire [--due N] [--schedules N] [--stock-seconds N] [--json]`: from due until committed and published.

Ours is the scheduler class of the beat, ticking: occurrences, notifications, deliveries, messages. The
peers publish as many messages of the same task to the same Redis: django-celery-beat's own scheduler and RedBeat from
one daily crontab a schedule, as ours mirror them, and a bare loop of `apply_async`, which records nothing. The stock
scheduler is not charged for writing down its runs, which it does after three minutes. With its database it takes four
minutes in all, two of them for RedBeat and the stock one; each figure is shown once it is measured.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.environment import PREFIX, arguments, clear_broker, environment, queue_length, report

STOCK_DUE = 1_000  # it compares all of them for each that it fires, at the same cost from the first to the last


def main() -> None:
    parser = arguments("fire")
    parser.add_argument("--due", type=int, default=10_000)
    parser.add_argument("--schedules", type=int, default=100_000, help="those that are due among them")
    parser.add_argument("--stock-seconds", type=float, default=20.0, help="of the stock one with all due; 600 for all")
    options = parser.parse_args()
    with environment() as app:
        rates: dict[str, dict[str, Any]] = {}

        def measure(name: str, due: int, run: Callable[[], tuple[int, float]]) -> None:
            clear_broker(app)
            sent, seconds = run()
            rates[name] = {"due": due, "fired": sent, "seconds": round(seconds, 2), "a second": round(sent / seconds)}
            print(f"{name}: {sent:,} in {seconds:.1f} s", file=sys.stderr, flush=True)

        measure("bare loop, before", options.due, lambda: bare_loop(app, options.due))
        measure("ours", options.due, lambda: ours(app, options.due, options.schedules))
        measure("bare loop", options.due, lambda: bare_loop(app, options.due))
        measure("RedBeat", options.due, lambda: redbeat(app, options.due))
        measure("stock, 1,000 due", STOCK_DUE, lambda: stock(app, STOCK_DUE, 60.0))
        measure(f"stock, {options.due:,} due", options.due, lambda: stock(app, options.due, options.stock_seconds))
    own = rates.pop("ours")
    # The machine's speed drifts: the better of the two runs around ours is the one to beat.
    bare = [rates.pop("bare loop, before"), rates.pop("bare loop")]
    rates = {"bare loop": max(bare, key=lambda run: run["a second"]), **rates}
    ratios = {name: round(own["a second"] / rate["a second"], 2) for name, rate in rates.items()}
    report("fire", 0, own, rates, ratios)


def ours(app: Any, due: int, schedules: int) -> tuple[int, float]:
    from django.db import connection
    from django_celery_beat.models import PeriodicTask

    from bench.rows import clear, make_schedules
    from notifications.models import Delivery
    from schedules.beat.scheduler import Scheduler
    from schedules.firing import fire
    from schedules.models import Occurrence, Schedule
    from schedules.parts import mirror
    from work.broker import fair_queue

    clear()
    now = fire.read_clock().now
    make_schedules(schedules - due, now.replace(microsecond=0) + timedelta(days=3))
    make_schedules(due, now.replace(second=0, microsecond=0))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    app.conf.beat_schedule = {}
    beat = Scheduler(app=app)
    PeriodicTask.objects.exclude(task=mirror.FIRE).update(enabled=False)
    started = time.perf_counter()
    while Schedule.objects.filter(next_fire_at__lte=now).exists():
        beat.tick()
    seconds = time.perf_counter() - started
    gc.unfreeze()  # beat alone has it: the peers run as Celery leaves them
    published = queue_length(app) + queue_length(app, fair_queue.QUEUE)
    found = {Occurrence.objects.filter(outcome="fired").count(), Delivery.objects.count(), published}
    if found != {due}:
        raise SystemExit(f"Not everything was fired, recorded and published: {found} of {due}")
    return due, seconds


def bare_loop(app: Any, due: int) -> tuple[int, float]:
    task = app.tasks["notifications.deliver"]
    task.apply_async(args=["0" * 36])
    started = time.perf_counter()
    for _ in range(due):
        task.apply_async(args=["0" * 36])
    return due, time.perf_counter() - started


def stock(app: Any, due: int, longest: float) -> tuple[int, float]:
    """django-celery-beat's DatabaseScheduler; ends after `longest` seconds with what it has sent by then."""
    from django.utils import timezone
    from django_celery_beat.models import CrontabSchedule, PeriodicTask
    from django_celery_beat.schedulers import DatabaseScheduler

    from bench.rows import clear

    clear()
    now = timezone.now()
    daily = CrontabSchedule.objects.create(minute=str(now.minute), hour=str(now.hour), timezone="UTC")
    PeriodicTask.objects.bulk_create(
        PeriodicTask(
            name=str(number),
            task="notifications.deliver",
            args='["0"]',
            crontab=daily,
            last_run_at=now - timedelta(days=2),
            headers="{}",
        )
        for number in range(due)
    )
    beat = DatabaseScheduler(app=app)
    PeriodicTask.objects.exclude(crontab=daily).update(enabled=False)
    beat._finalize.cancel()  # it would write down its runs when all is gone
    started = time.perf_counter()
    while beat.tick() == 0 and time.perf_counter() < started + longest:
        pass
    return queue_length(app), time.perf_counter() - started


def redbeat(app: Any, due: int) -> tuple[int, float]:
    from celery.schedules import crontab
    from django.conf import settings
    from redbeat import RedBeatScheduler, RedBeatSchedulerEntry

    app.conf.update(redbeat_redis_url=settings.REDIS_URL, redbeat_key_prefix=f"{PREFIX}redbeat:", redbeat_lock_key=None)
    now = datetime.now(UTC)
    daily, before = crontab(minute=now.minute, hour=now.hour, app=app), now - timedelta(days=2)
    beat = RedBeatScheduler(app=app)
    for number in range(due):
        RedBeatSchedulerEntry(
            str(number), "notifications.deliver", daily, args=["0"], app=app, last_run_at=before
        ).save()
    started = time.perf_counter()
    while queue_length(app) < due and time.perf_counter() < started + 60:
        beat.tick()
    return queue_length(app), time.perf_counter() - started


if __name__ == "__main__":
    main()
