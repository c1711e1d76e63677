"""`script/bench punctual [--reminders N] [--seconds N] [--stock] [--json]`: from a slot until its message is published.

A real beat process, and one-off reminders at random milliseconds over a minute. A listener takes the messages from the
queue and notes when each came, so the lateness holds the wake-up, the transaction and the publishing. With `--stock`,
the same under django-celery-beat's own scheduler and one worker, without the rows of schedules: that sweeps alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from datetime import timedelta
from uuid import UUID

import redis

from bench.environment import PREFIX, arguments, children_environment, environment, report, set_up

STOCK = "django_celery_beat.schedulers:DatabaseScheduler"
AHEAD = 8.0  # seconds for the beat to start


def main() -> None:
    parser = arguments("punctual")
    parser.add_argument("--reminders", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stock", action="store_true")
    parser.add_argument("--process", choices=["ours", "stock", "worker"], help=argparse.SUPPRESS)  # used by itself
    options = parser.parse_args()
    if options.process:
        return run_process(options.process)
    with environment():
        from django_celery_beat.models import PeriodicTask

        from schedules.parts import mirror

        make(options.reminders, options.seconds, random.Random(options.seed))
        if options.stock:
            PeriodicTask.objects.filter(task=mirror.FIRE).delete()
        children = [start(name) for name in (["stock", "worker"] if options.stock else ["ours"])]
        try:
            received = listen(options.reminders, AHEAD + options.seconds + 20)
        finally:
            for child in children:
                child.terminate()
                child.wait(timeout=15)
        late = sorted(lateness(received))
    own = {
        "reminders": len(late),
        "p50 ms": round(late[len(late) // 2] * 1000, 1),
        "p99 ms": round(late[int(len(late) * 0.99)] * 1000, 1),
        "max ms": round(late[-1] * 1000, 1),
    }
    report("punctual", options.seed, own, {}, {})


def run_process(name: str) -> None:
    app = set_up()
    if name == "worker":
        app.Worker(queues="maintenance", pool="solo", loglevel="ERROR", quiet=True, without_gossip=True).start()
    else:
        app.Beat(
            quiet=True,
            loglevel="WARNING",
            pidfile=None,
            scheduler_cls=STOCK if name == "stock" else app.conf.beat_scheduler,
        ).run()


def start(name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bench.punctual", "--process", name]
    return subprocess.Popen(command, env=os.environ | children_environment(), stderr=subprocess.DEVNULL)


def make(count: int, seconds: float, luck: random.Random) -> None:
    from django.db import transaction

    from bench.rows import make_channel, make_schedule, make_user
    from schedules.firing import fire

    user = make_user()
    channels = [make_channel(user)]
    began = fire.read_clock().now
    slots = [AHEAD + count / 150 + luck.random() * seconds for _ in range(count)]  # 150: made in a second, at the least
    with transaction.atomic():
        for slot in slots:
            at = began + timedelta(seconds=slot)
            make_schedule(user, channels, "once", {"at": at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]}, began)


def listen(count: int, longest: float) -> dict[UUID, float]:
    """When the message about each delivery came, in seconds since 1970."""
    from django.conf import settings

    client = redis.Redis.from_url(settings.REDIS_URL)
    received: dict[UUID, float] = {}
    end = time.monotonic() + longest
    while len(received) < count and time.monotonic() < end:
        popped = client.brpop([f"{PREFIX}deliveries", f"{PREFIX}bulk"], timeout=1)
        if popped:
            shown = json.loads(popped[1])["headers"]["argsrepr"]
            received.setdefault(UUID(shown.strip("[]'")), time.time())  # nobody claims it, so rescue publishes it again
    return received


def lateness(received: dict[UUID, float]) -> list[float]:
    from notifications.models import Delivery

    slots = dict(Delivery.objects.values_list("id", "notification__slot"))
    return [moment - slot.timestamp() for id_, moment in received.items() if (slot := slots[id_]) is not None]


if __name__ == "__main__":
    main()
