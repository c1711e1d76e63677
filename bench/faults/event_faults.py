"""The faults that hit a topic's fan-out and the programs that pull queues."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from django.db import connection, transaction

from bench.faults.scene import Scene, resume, wait_for
from notifications.models import Channel, Notification

_PATIENCE = 60.0  # seconds


def kill_while_expanding(scene: Scene) -> None:
    """SIGKILL in turns of the worker that has committed a chunk, and of all while one is at its statement."""
    assert scene.publisher
    scene.publisher.start()
    scene.publisher.finish()
    for turn in range(20 if scene.full else 4):
        if turn % 2 == 0:
            scene.cluster.order("worker", "chunk-told", "kill-group")
            _must(lambda: not scene.cluster.is_ordered("worker", "chunk-told"), "No worker tells the subscribers.")
        else:
            _kill_at_the_statement(scene)
    told, audience = Notification.objects.filter(origin="topic").count(), Channel.objects.count()
    if told >= audience:
        raise RuntimeError("All subscribers were told before the last kill.")
    scene.notes.append(f"{turn + 1} kills, the last after {told:,} of {audience:,} people")


@transaction.atomic
def _kill_at_the_statement(scene: Scene) -> None:
    """The server may go on with it, once the table is free."""
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE events_subscription IN ACCESS EXCLUSIVE MODE")

        def waits() -> bool:
            cursor.execute(
                "SELECT FROM pg_locks WHERE relation = 'events_subscription'::regclass AND NOT granted LIMIT 1"
            )
            return bool(cursor.rowcount)

        _must(waits, "No worker tells the subscribers.")
        for worker in scene.cluster.workers:
            scene.cluster.kill(worker)
        time.sleep(scene.rng.uniform(0.0, 0.5))


def kill_pullers(scene: Scene) -> None:
    """In turns: SIGKILL of a puller that holds leases, and SIGSTOP of one until they are over."""
    cluster, publisher = scene.cluster, scene.publisher
    assert publisher
    queues = [f"{queue.label}={queue.id}" for queue in Channel.objects.filter(provider="queue")]
    log = cluster.directory / "arrivals"
    command = [sys.executable, "-m", "bench.faults.puller", str(publisher.port), publisher.token, str(log), *queues]
    for number in (1, 2):
        cluster.add(f"puller{number}", command)
    publisher.start()
    times = {"kill-group": 0, "stop-group": 0}
    for order in list(times) * (20 if scene.full else 2):
        cluster.forget_taken("puller", "claimed")
        cluster.order("puller", "claimed", order)
        if not wait_for(lambda: not cluster.is_ordered("puller", "claimed"), _PATIENCE):
            break  # nothing is left to pull
        [pid] = cluster.took("puller", "claimed")
        held = _pulls(log, pid, "pulled") - _pulls(log, pid, "acked") - _pulls(log, pid, "late")
        again = {(key, attempts + 1) for key, attempts in held}
        if not wait_for(lambda: again <= _pulls(log, None, "pulled"), _PATIENCE):  # noqa: B023 - called at once
            scene.problems.append("messages of a puller that was lost did not come again, or not as the next attempt")
        if order == "stop-group":
            resume(pid)
            if not wait_for(lambda: held <= _pulls(log, pid, "late"), _PATIENCE):  # noqa: B023 - called at once
                scene.problems.append("an acknowledgement after the lease was not refused")
        times[order] += len(held)
    publisher.finish()
    if not all(times.values()):
        raise RuntimeError("No puller was lost with messages.")
    scene.notes.append(f"messages of killed pullers: {times['kill-group']}, of late ones: {times['stop-group']}")


def _pulls(log: Path, pid: int | None, what: str) -> set[tuple[str, int]]:
    """Which messages, at which attempt, this process (None: any) has pulled, acknowledged, or was late with."""
    lines = [line.split() for line in log.with_name("pulls").read_text().splitlines()]
    return {(key, int(attempts)) for by, key, attempts, result in lines if result == what and pid in {None, int(by)}}


def _must(ask: Callable[[], bool], otherwise: str) -> None:
    if not wait_for(ask, _PATIENCE):
        raise RuntimeError(otherwise)
