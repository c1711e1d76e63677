"""`script/bench lateness [--reminders 200] [--seed 1] [--json]`: how late a reminder is, with one beat and one worker.

From its slot to the first byte at the receiver. Single reminders, each in a second of its own, at a
random instant in it, to a webhook on this machine. It takes as many seconds as there are reminders.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from demo.installation import Installation, wait_until
from demo.receivers import HTTPReceiver
from demo.report import table

_HEAD_START = timedelta(seconds=5)  # all of them are made before the first is due

_RECORDED = """
SELECT d.id, n.slot, o.fired_at, a.started_at AS claimed_at, d.settled_at, d.state
  FROM notifications_delivery d
  JOIN notifications_notification n ON n.id = d.notification_id
  JOIN schedules_occurrence o ON o.id = n.batch_id
  LEFT JOIN notifications_attempt a ON a.delivery_id = d.id AND a.number = 1
"""


def measure(reminders: int, seed: int) -> dict[str, dict[str, float]]:
    """For each station, milliseconds after the slot: p50, p99, max."""
    with HTTPReceiver() as sink, Installation("bench_lateness") as site:
        site.start(site.worker, site.beat)
        os.environ |= site.environment | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        last = _make(reminders, seed, sink.url)
        time.sleep(max(0.0, last.timestamp() - time.time()))
        wait_until(lambda: len(sink.requests) >= reminders or None, "the last reminder", within=30)
        wait_until(lambda: all(row["state"] == "delivered" for row in site.rows(_RECORDED)), "the last", within=30)
        rows = site.rows(_RECORDED)
        arrived = {request.headers["webhook-id"]: request.at for request in sink.requests}
    if not len(rows) == len(arrived) == len(sink.requests) == reminders:
        raise SystemExit(f"{reminders} reminders, {len(rows)} deliveries, {len(sink.requests)} posts")
    late = {
        "recorded by beat": [row["fired_at"] - row["slot"] for row in rows],
        "claimed by a worker": [row["claimed_at"] - row["slot"] for row in rows],
        "first byte at the receiver": [arrived[str(row["id"])] - row["slot"] for row in rows],
    }
    return {station: _summary(durations) for station, durations in late.items()}


def _make(reminders: int, seed: int, url: str) -> datetime:
    """Make them through the same verb as the pages; returns the last slot."""
    import django

    django.setup()
    from django.db import connection

    from notifications.channels import changes
    from notifications.deliveries import confirmation
    from people.models import User
    from schedules.changes import editing
    from schedules.firing import fire
    from schedules.models import Schedule

    chance = random.Random(seed)
    user = User.objects.create_user(email="bench@example.org")
    channel = changes.add(user, "webhook", {"url": url})
    confirmation.accept(channel)
    now = fire.read_clock().now
    first = now.replace(microsecond=0) + _HEAD_START
    for number in range(reminders):
        slot = first + timedelta(seconds=number + chance.random())
        rule: dict[str, object] = {"at": slot.replace(tzinfo=None).isoformat()}
        made = Schedule(user=user, title=f"Reminder {number}", kind="once", rule=rule, time_zone="UTC")
        editing.create(made, [channel], now)
    connection.close()
    return slot


def _summary(durations: Sequence[timedelta]) -> dict[str, float]:
    ordered = sorted(duration.total_seconds() * 1000 for duration in durations)

    def at(share: float) -> float:
        return round(ordered[math.ceil(share * len(ordered)) - 1], 1)

    return {"p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reminders", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    stations = measure(asked.reminders, asked.seed)
    rows = [(name, *(f"{value:.0f} ms" for value in figures.values())) for name, figures in stations.items()]
    print(f"Lateness of {asked.reminders} single reminders, from the slot to …\n")
    print(table(("", "p50", "p99", "max"), rows))
    if asked.json:
        ours: dict[str, Any] = {"reminders": asked.reminders, **stations}
        machine = (
            f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
        )
        said = {"bench": "lateness", "machine": machine, "ours": ours, "peers": {}, "ratios": {}, "seed": asked.seed}
        print(json.dumps(said))


if __name__ == "__main__":
    main()
