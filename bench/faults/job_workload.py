"""The load of the cell of jobs, the faults that hit them, and what must be true of them afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from bench.faults.job_kinds.faults_watch import FaultsWatch
from bench.faults.scene import Scene, wait_until_reached
from bench.faults.workload import RULES, Asked, Workload, channel_at, once_at, paths_of
from bench.rows import make_user
from common.database.fault_points import Point
from events.pure.envelope import Envelope
from people.models import User
from schedules.models import Schedule

QUEUE = "watches"

_JOBS = """
SELECT s.title, s.job_payload->>'does' AS does, count(DISTINCT j.id), count(DISTINCT a.id), count(DISTINCT m.state),
       max(m.state::text), count(DISTINCT j.notification_id), max(j.state)
  FROM schedules_schedule s
  LEFT JOIN jobs_job j ON j.origin_id = s.id
  LEFT JOIN jobs_jobattempt a ON a.job_id = j.id AND a.outcome = 'decided'
  LEFT JOIN jobs_memory m ON m.origin_id = s.id
 WHERE s.job_kind <> ''
 GROUP BY s.id
"""
# Those of schedules that have not fired, too.
_OPEN = """
SELECT (SELECT count(*) FROM schedules_schedule WHERE job_kind <> '' AND state = 'active')
     + (SELECT count(*) FROM jobs_job WHERE settled_at IS NULL)
"""


@dataclass(frozen=True, slots=True)
class JobWorkload(Workload):
    """Reminders that ask the sink, each once: half of them say what was asked for, the others stay silent."""

    def ask(self, sink_port: int) -> tuple[set[Asked], User, list[Envelope]]:
        rng, user, paths = random.Random(self.seed), make_user(), paths_of("ok")
        count = self.deliveries // len(RULES)
        titles = {f"say-{number}": "say" for number in range(count)}
        titles |= {f"silent-{number}": ("count", "nothing")[number % 2] for number in range(count)}
        channels = [channel_at(user, path, sink_port) for path in paths]
        begin = timezone.now() + timedelta(seconds=1 + count / 750)
        schedules = [
            once_at(
                user,
                title,
                begin + timedelta(seconds=rng.uniform(0, self.seconds)),
                job_kind=FaultsWatch.name,
                job_payload={"does": does, "url": f"http://127.0.0.1:{sink_port}/source"},
            )
            for title, does in titles.items()
        ]
        links = [
            Schedule.channels.through(schedule_id=schedule.id, channel_id=channel.id)
            for schedule in schedules
            for channel in channels
        ]
        with transaction.atomic():
            Schedule.objects.bulk_create(schedules, batch_size=1000)
            Schedule.channels.through.objects.bulk_create(links, batch_size=1000)
        return {Asked(title, path) for title, does in titles.items() if does == "say" for path in paths}, user, []


def kill_job_workers(scene: Scene) -> None:
    """Two workers of the jobs alone, killed while the source is away; then at each point of a job, without the broker.

    While the source is away, nothing is decided: so there is work at each point, however slow the machine is.
    """
    cluster = scene.cluster
    points: list[Point] = ["claimed", "running", "ran", "recorded", "waking", "publishing", "settled"]
    if cluster.pool == "threads":
        points += ["claims-committed", "settlements-committed"]
    with cluster.source_away():
        workers = [cluster.add_worker(f"watcher{number}", QUEUE) for number in (1, 2)]
        for _ in scene.moments(every=1.0):
            cluster.kill(scene.rng.choice(workers))
        cluster.broker.empty()
        cluster.broker.kill()
        for point in points:
            cluster.order("watcher", point, "kill-group")
    for point in points:
        wait_until_reached(cluster, "watcher", point)


def unfinished_jobs() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_OPEN)
        return int(cursor.fetchone()[0])


def wrong_jobs() -> Iterator[str]:
    """What is wrong with jobs: not decided exactly once, or with another effect than their kind's."""
    with connection.cursor() as cursor:
        cursor.execute(_JOBS)
        for title, does, jobs, decided, memories, counted, said, state in cursor.fetchall():
            counts = 0 if does == "nothing" else 1
            right = (1, 1, counts, "1" if counts else None, int(does == "say"), "decided")
            if (found := (jobs, decided, memories, counted, said, state)) != right:
                yield f"job of {title}: {found} instead of {right}"
