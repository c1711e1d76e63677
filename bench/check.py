"""`script/bench check [--people 10|100|1000] [--latency 3000] [--rounds 3] [--json]`: reminders that check first.

So many people have a reminder of their streak at GitHub, due in the same instant. A local GitHub answers after
`latency` ms. Measured from the slot until every job is decided and what speaks is in the inbox: half of the people have
committed and hear nothing. Beat and two workers of up to 512 threads run as in production.

Peers in the same run: plain Celery tasks in the same workers, which ask the same, decide the same and record nothing,
from their publication to their last answer; and a loop that asks one after the other, measured for three people and
scaled.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from bench.environment import arguments, clear_broker, environment, report
from bench.workers import Sink, beat, cpu_of, own_redis_database, worker
from demo.child import Child

_SIZES = (10, 100, 1_000)
_IN_LOOP = 3
_BEFORE_SLOT = timedelta(seconds=2.5)
_LONGEST = 120.0  # seconds

_DECIDED = """
SELECT count(*) AS jobs, count(*) FILTER (WHERE j.state = 'decided') AS decided,
       count(*) FILTER (WHERE j.tries > 1 OR j.state NOT IN ('pending', 'looking', 'decided')) AS failed,
       count(n.id) AS said, count(*) FILTER (WHERE d.state = 'delivered') AS delivered,
       extract(epoch FROM max(greatest(j.settled_at, d.settled_at)) - min(j.slot))::float AS seconds
  FROM jobs_job j
  LEFT JOIN notifications_notification n ON n.batch_id = j.batch_id
  LEFT JOIN notifications_delivery d ON d.notification_id = n.id
 WHERE j.slot = %s
"""


def main() -> None:
    parser = arguments("check")
    parser.add_argument("--people", type=int, choices=_SIZES, action="append")
    parser.add_argument("--latency", type=int, default=3_000, help="milliseconds until the source answers")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sizes = options.people or _SIZES
    source = Sink(options.latency / 1000, "github")
    try:
        with environment() as app:
            own_redis_database(app)
            reminders = make_people(max(sizes))
            with worker("threads", 512, 2, source, GITHUB_URL=source.origin) as workers, beat(source):
                ours, bare = measure(app, reminders, sizes, options.rounds, source, workers)
            clear_broker(app)
            loop = in_a_loop(reminders[:_IN_LOOP], source)
    finally:
        source.close()
    peers = {"bare task, same workers": bare, "loop": {f"{size}: s": round(loop * size, 1) for size in sizes}}
    ratios = {str(size): round(bare[f"{size}: s"] / ours[f"{size}: s"], 2) for size in sizes}
    report("check", 0, ours, peers, ratios)


def measure(
    app: Any, reminders: Sequence[UUID], sizes: Sequence[int], rounds: int, source: Sink, workers: list[Child]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The medians of interleaved rounds: seconds for each size, and milliseconds of CPU of the workers for a person."""
    ways: list[Callable[[Sequence[UUID]], float]] = [check, lambda chosen: run_bare(app, chosen, source)]
    for way in ways:  # warms up
        way(reminders[:10])
    found: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for size in sizes:
        taken: list[list[tuple[float, float]]] = [[], []]
        for _ in range(rounds):
            for way, times in zip(ways, taken, strict=True):
                used = cpu_of(workers)
                times.append((way(reminders[:size]), (cpu_of(workers) - used) / size * 1000))
        for row, times in zip(found, taken, strict=True):
            row[f"{size}: s"] = round(statistics.median(seconds for seconds, _ in times), 2)
            row[f"{size}: CPU ms"] = round(statistics.median(cpu for _, cpu in times), 2)
    return found


def make_people(count: int) -> list[UUID]:
    """The reminders of so many people, each with an inbox and a connection to GitHub."""
    from bench.receiver import ACCOUNTS
    from bench.rows import make_channel, make_user
    from demo.receivers import github
    from jobs.kinds.github_streak import GitHubStreak
    from jobs.models import Connection
    from notifications.messages.message import Destination
    from schedules.changes import editing
    from schedules.firing import fire
    from schedules.models import Schedule

    made, now = [], fire.read_clock().now
    rule: dict[str, object] = {"time": "00:00"}
    for number in range(count):
        user, login = make_user(), ACCOUNTS[number % 2]
        connection = Connection(user=user, kind="github", label="GitHub", verified_at=now, working_since=now)
        connection.hold(Destination({"login": login}, {"token": github.token(login)}))
        connection.save()
        title, body = str(GitHubStreak.title), str(GitHubStreak.body)
        schedule = Schedule(
            user=user,
            title=title,
            body=body,
            kind="daily",
            rule=rule,
            time_zone="UTC",
            job_kind=GitHubStreak.name,
            connection=connection,
        )
        made.append(editing.create(schedule, [make_channel(user)], now).id)
    return made


def check(reminders: Sequence[UUID]) -> float:
    """Seconds from the slot until everybody's job is decided, and what it said delivered."""
    from common.database.postgres import query
    from schedules.firing import fire
    from schedules.models import Schedule

    slot: datetime = fire.read_clock().now + _BEFORE_SLOT
    Schedule.objects.filter(id__in=reminders).update(next_fire_at=slot)
    wanted, give_up_at = (len(reminders), len(reminders), 0, len(reminders) // 2), time.monotonic() + _LONGEST
    while True:
        [found] = query(_DECIDED, [slot])
        if (found.jobs, found.decided, found.failed, found.delivered) == wanted and found.said == found.delivered:
            return float(found.seconds)
        if found.failed or time.monotonic() > give_up_at:
            raise SystemExit(f"Not everybody was served: {found}")
        time.sleep(0.1)


def run_bare(app: Any, reminders: Sequence[UUID], source: Sink) -> float:
    """Seconds from the publication of a plain task for each until all have their answers."""
    from bench import bare
    from work.broker import publisher

    target, started = source.answered + len(reminders), time.perf_counter()
    publisher.publish(app, bare.CHECK, [(key, 0.0) for key in reminders], "maintenance")
    while source.answered < target:
        if time.perf_counter() > started + _LONGEST:
            raise SystemExit(f"{target - source.answered} plain tasks have no answer")
        time.sleep(0.01)
    return time.perf_counter() - started


def in_a_loop(reminders: Sequence[UUID], source: Sink) -> float:
    """Seconds a person."""
    from django.conf import settings

    from bench import bare

    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.SERVICE_URLS["github"] = source.origin
    started = time.perf_counter()
    for key in reminders:
        bare.check(str(key))
    return (time.perf_counter() - started) / len(reminders)


if __name__ == "__main__":
    main()
