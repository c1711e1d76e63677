"""`script/bench history [--rows N] [--json]`: what a long history costs, and how fast it is deleted.

A claim, a settling and a rescue beside 1,000 old messages and beside N, in one run; then the retention of all that is
older than 30 days, for two runs of its task with their pauses. The million takes two minutes to write.
"""

from __future__ import annotations

import time

from bench.deliver import costs_of_statements
from bench.environment import arguments, environment, report
from bench.workers import own_redis_database


def main() -> None:
    parser = arguments("history")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--n", type=int, default=1_000, help="statements of each kind")
    options = parser.parse_args()
    with environment() as app:
        own_redis_database(app)
        measure(options.rows, options.n)


def measure(rows: int, n: int) -> None:
    from django.conf import settings

    from bench import page_rows
    from bench.rows import clear
    from notifications.deliveries.retention import NOTIFICATIONS
    from notifications.models import Channel, Notification

    costs = {}
    for count in (1_000, rows):
        clear()
        page_rows.fill(100, count)
        channel = Channel.objects.get(label="Pager")
        costs_of_statements(channel, n)
        costs[count] = costs_of_statements(channel, n)
    few, many = costs[1_000], costs[rows]
    settings.HISTORY_KEPT_DAYS = 30
    old, started = NOTIFICATIONS.count(), time.perf_counter()
    deleted = NOTIFICATIONS.prune() + NOTIFICATIONS.prune()
    a_second = round(deleted / (time.perf_counter() - started))
    ours = {"rows": rows, **many, "old": old, "deleted": deleted, "deleted/s": a_second}
    ratios = {name: round(many[name] / few[name], 2) for name in few}
    report("history", 0, ours | {"left": Notification.objects.count()}, {"few": {"rows": 1_000} | few}, ratios)


if __name__ == "__main__":
    main()
