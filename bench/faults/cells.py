"""The cells: a fault and a load each."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import cycle

import psycopg
from django.db import connection

from bench.faults.brokers import Sentinels, signal_engine
from bench.faults.cluster import Cluster
from bench.faults.event_faults import kill_pullers, kill_while_expanding
from bench.faults.event_workload import DigestWorkload, TopicWorkload
from bench.faults.flow_workload import FlowWorkload
from bench.faults.job_workload import QUEUE, JobWorkload, kill_job_workers
from bench.faults.person import PersonWorkload, misuse
from bench.faults.ping_faults import PingWorkload, lose_pings
from bench.faults.scene import Scene, resume, wait_for, wait_until_reached
from bench.faults.team_workload import TeamWorkload
from bench.faults.workload import WEBHOOK_DEADLINE, Workload
from bench.servers import Postgres as Server
from common.database.fault_points import Point


@dataclass(frozen=True, slots=True)
class Cell:
    """`uncertain`: whether nobody may know how a try ended, so that it is held for a person, or repeated.

    `seconds` of load at least. One in `events_of` of the load is an event, not a reminder. `over_http`: the fault
    publishes the events, see `publisher`; else they are there from the start, with a delay.
    """

    title: str
    fault: Callable[[Scene], None]
    kinds: Mapping[str, int] = field(default_factory=lambda: {"ok": 1})
    environment: Mapping[str, str] = field(default_factory=dict)
    uncertain: bool = False
    seconds: float = 4.0
    events_of: int = 4
    over_http: bool = False
    workload: type[Workload] = Workload


def kill_workers(scene: Scene) -> None:
    """At each point, a child and a whole worker, which is the same with threads; then at random instants."""
    cluster = scene.cluster
    points: list[Point] = ["claimed", "running", "ran", "recorded", "waking", "publishing", "settled"]
    if cluster.pool == "threads":
        points += ["claims-committed", "settlements-committed"]
        orders = [(point, "kill-group") for point in points]
    else:
        orders = [(point, order) for point in points for order in ("kill", "kill-group")]
    scene.rng.shuffle(orders)
    orders.sort(key=lambda one: one[0] not in {"recorded", "waking", "publishing"})  # events are handled soon
    for point, order in orders:
        cluster.order("worker", point, order)
        wait_until_reached(cluster, "worker", point)
    for _ in scene.moments(every=1.0):
        worker = scene.rng.choice(cluster.workers)
        pool = cluster.pool_of(worker)
        if pool and scene.rng.random() < 0.7:
            with suppress(ProcessLookupError):
                os.kill(scene.rng.choice(pool), signal.SIGKILL)
        else:
            cluster.kill(worker)


def kill_anything(scene: Scene) -> None:
    """Workers at each point of a step and of an event; then a worker, a beat or Redis at random instants."""
    cluster = scene.cluster
    points: tuple[Point, ...] = ("recorded", "waking", "publishing", "claimed", "running", "ran", "settled")
    for point in points:  # at once, since a worker may need longer to start than the load lasts
        cluster.order("worker", point, "kill-group")
    wait_for(lambda: not any(cluster.is_ordered("worker", point) for point in points), 180.0)
    for _ in scene.moments(every=1.0):
        match scene.rng.choice(("worker", "worker", "beat", "broker", "all")):
            case "worker":
                cluster.kill(scene.rng.choice(cluster.workers))
            case "beat":
                cluster.kill(scene.rng.choice(cluster.beats[:2]))
            case "broker":
                cluster.broker.kill()
            case _:
                cluster.broker.empty()
                for worker in cluster.workers:
                    cluster.kill(worker)


def kill_beats(scene: Scene) -> None:
    """Before the commit, after it, while publishing; then at random instants."""
    points: tuple[Point, ...] = ("recorded", "waking", "publishing")
    for point in points:  # at once, since a beat may need longer to start than the load lasts
        scene.cluster.order("beat", point, "kill-group")
    wait_for(lambda: not any(scene.cluster.is_ordered("beat", point) for point in points), 60.0)
    for _ in scene.moments(every=2.0):
        if scene.rng.random() < 0.5:
            scene.cluster.order("beat", scene.rng.choice(points), "kill-group")
        else:
            scene.cluster.kill(scene.rng.choice(scene.cluster.beats[:2]))


def stop_beats(scene: Scene) -> None:
    """No beat for a while, then three."""
    for beat in scene.cluster.beats[:2]:
        scene.cluster.dismiss(beat)
    time.sleep(120 if scene.full else scene.seconds / 2 + 1)
    for beat in scene.cluster.beats:
        scene.cluster.want(beat)


def lose_broker(scene: Scene) -> None:
    """Emptied, a crash, silence, absence. With Sentinels: the primary crashes, and they choose another one."""
    broker, away = scene.cluster.broker, 60.0 if scene.full else 2.0
    if isinstance(broker, Sentinels):
        lose_primary(scene, broker)
        return
    time.sleep(scene.seconds / 8)
    broker.empty()
    time.sleep(scene.seconds / 8)
    broker.kill()
    time.sleep(scene.seconds / 4)
    broker.freeze()
    time.sleep(8 if scene.full else 2)
    broker.heal()
    time.sleep(scene.seconds / 8)
    broker.empty()
    broker.keep_away()
    time.sleep(away)
    broker.heal()
    time.sleep(2.0)
    broker.empty()


def lose_primary(scene: Scene, broker: Sentinels) -> None:
    for _ in range(2):
        if not wait_for(broker.can_fail_over, 60.0):
            raise RuntimeError("The replica never followed.")
        time.sleep(scene.seconds / 6)
        before, killed_at = broker.primary(), time.time()
        broker.kill()
        wait_for(lambda: broker.primary() != before, 30.0)  # noqa: B023 - called at once
        chosen = time.time() - killed_at
        time.sleep(max(15.0, scene.seconds / 6))
        silence = scene.cluster.longest_silence(killed_at, time.time())
        scene.notes.append(f"another primary after {chosen:.1f} s; longest time without sending {silence:.1f} s")


def lose_postgres(scene: Scene) -> None:
    """Every connection ended again and again; a restart; a crash."""
    for position, _ in enumerate(scene.moments(every=0.25)):
        if position in {8, 60}:
            signal_engine(scene.cluster.postgres, signal.SIGINT)
            time.sleep(2.0)
        elif position in {14, 90}:
            signal_engine(scene.cluster.postgres, signal.SIGQUIT)
            time.sleep(2.0)
        else:
            end_connections()


def fail_over(scene: Scene) -> None:
    """SIGKILL of the primary and all its processes. Two seconds later its standby is promoted, as by a manager."""
    cluster, publisher = scene.cluster, scene.publisher
    assert publisher
    assert isinstance(cluster.postgres, Server)
    assert cluster.postgres.standby
    publisher.start()
    time.sleep(scene.seconds / 2)
    killed = time.time()
    cluster.postgres.stop(signal.SIGKILL)
    time.sleep(2.0)
    cluster.postgres.standby.promote()
    promoted = time.time() - killed
    publisher.finish()
    wait_for(lambda: cluster.first_arrival_after(killed + 0.5) < float("inf"), _BACK_WITHIN)
    silent = cluster.first_arrival_after(killed + 0.5) - killed
    scene.notes.append(f"nothing was sent for {silent:.1f} s; the standby was promoted after {promoted:.1f} s")
    scene.problems.extend(f"{name} ended" for name in cluster.ended)


def fill_disk(scene: Scene) -> None:
    """No space is left for PostgreSQL for five seconds under load. Then there is again, and nothing else is done."""
    cluster, publisher = scene.cluster, scene.publisher
    assert publisher
    assert isinstance(cluster.postgres, Server)
    publisher.start()
    time.sleep(scene.seconds / 2)
    filler = cluster.postgres.home / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    full = time.time()
    time.sleep(5.0)
    filler.unlink()
    emptied = time.time()
    publisher.finish()
    wait_for(lambda: cluster.first_arrival_after(emptied) < float("inf"), _BACK_WITHIN)
    refused = (cluster.postgres.home / "log").read_text().count("No space left on device")
    if not refused:
        scene.problems.append("PostgreSQL never lacked space")
    scene.notes.append(
        f"{emptied - full:.1f} s without space, {refused} refusals of it in PostgreSQL's log; "
        f"the first arrival {cluster.first_arrival_after(emptied) - emptied:.1f} s after there was space again"
    )
    scene.problems.extend(f"{name} ended" for name in cluster.ended)


def end_connections() -> None:
    with suppress(psycopg.Error):
        parameters = connection.get_connection_params()
        where = {name: parameters[name] for name in ("host", "port", "dbname", "user") if name in parameters}
        with psycopg.connect(**where, autocommit=True) as outside:
            outside.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


def freeze_workers(scene: Scene) -> None:
    """Stop a worker before or after its send, past its lease; continue it while another one sends the same again."""
    orders: list[tuple[Point, str]] = [("ran", "retry"), ("claimed", "hold"), ("ran", "hold"), ("running", "hold")]
    for _, (point, rule) in zip(scene.moments(every=1.0), cycle(orders)):
        _freeze(point, rule, scene.cluster)


def _freeze(point: Point, rule: str, cluster: Cluster) -> None:
    """Stop a worker at `point` with a delivery to a channel of `rule`; let others continue."""
    cluster.forget_taken("worker", point)
    cluster.order("worker", point, "stop-group")
    for _ in range(100):
        time.sleep(0.03)
        for pid in cluster.took("worker", point):
            if _of_its_delivery(pid, "a.finished_at IS NULL AND c.on_unknown = %s", rule):
                _continue_while_sent_again(pid, cluster)
                return
            resume(pid)
            cluster.forget_taken("worker", point)
            cluster.order("worker", point, "stop-group")
    cluster.forget_orders()


def kill_all_workers(scene: Scene) -> None:
    """Both at once, while they hold the slots of the host and a memory full of messages."""
    for _ in range(3 if scene.full else 2):
        with scene.cluster.slow_sink():
            wait_for(lambda: _in_flight() >= _MANY)
            if _in_flight() < _MANY:
                raise RuntimeError("The workers never held enough sends to be killed with them.")
            killed_at = datetime.now(UTC)
            for worker in scene.cluster.workers:
                scene.cluster.kill(worker)
        if not wait_for(lambda: not _left_since(killed_at), _BACK_WITHIN):  # noqa: B023 - called at once
            scene.problems.append(f"{_left_since(killed_at)} did not come back within {_BACK_WITHIN:.0f} s")
        blocked = scene.cluster.first_arrival_after(killed_at.timestamp() + 0.3) - killed_at.timestamp()
        if blocked > WEBHOOK_DEADLINE + 5.0 + _RESTART:
            scene.problems.append(f"the host got nothing for {blocked:.1f} s")
        back = (datetime.now(UTC) - killed_at).total_seconds()
        scene.notes.append(f"all came back within {back:.1f} s, the first arrived after {blocked:.1f} s")


# Sends in flight that a worker dies with.
_MANY = 4
# Seconds: the lease, and rescue's gap before it publishes a second time.
_BACK_WITHIN = 30.0
# Seconds until the restarted worker, or the wait of a delivery that found its host full, is over.
_RESTART = 5.0


def _in_flight() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM notifications_delivery WHERE state = 'sending'")
        return int(cursor.fetchone()[0])


def _left_since(instant: datetime) -> int:
    """How many deliveries that were due then have neither ended nor been claimed again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM notifications_delivery d"
            " WHERE d.state IN ('pending', 'sending') AND d.created_at <= %s AND d.available_at <= now()"
            "   AND NOT EXISTS (SELECT FROM notifications_attempt a WHERE a.delivery_id = d.id AND a.started_at > %s)",
            [instant, instant],
        )
        return int(cursor.fetchone()[0])


def cut_connections(scene: Scene) -> None:
    """Workers cut their own connection while a claim or a settlement is committed; see `apps`."""
    time.sleep(scene.seconds)
    if not scene.cluster.took("worker", "cut"):
        raise RuntimeError("No connection was cut.")


def _continue_while_sent_again(pid: int, cluster: Cluster) -> None:
    wait_for(lambda: _of_its_delivery(pid, "a.outcome = 'lost' AND a.finished_at > %s", _a_moment_ago()))
    with cluster.slow_sink():
        wait_for(lambda: _of_its_delivery(pid, "d.state <> 'pending' AND a.finished_at > %s", _a_moment_ago()))
        resume(pid)
        time.sleep(1.0)


def _of_its_delivery(pid: int, condition: str, value: str | datetime) -> bool:
    """Whether it is so of what the process had in hand: an attempt (a) of a delivery (d) to a channel (c)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT FROM notifications_attempt a"
            "  JOIN notifications_delivery d ON d.id = a.delivery_id"
            "  JOIN notifications_channel c ON c.id = d.channel_id"
            f" WHERE a.worker LIKE %s AND {condition}",
            [f"%:{pid}", value],
        )
        return bool(cursor.rowcount)


def _a_moment_ago() -> datetime:
    return datetime.now(UTC) - timedelta(seconds=20)


def restart_workers(scene: Scene) -> None:
    """Twenty rolling restarts by SIGTERM."""
    times = 20 if scene.full else 5
    for turn in range(times):
        scene.cluster.ask_to_stop(scene.cluster.workers[turn % 2])
        time.sleep(max(scene.seconds / times, 1.0))


def cut_answers(scene: Scene) -> None:
    """Every answer to an event is cut; SIGKILL of the web process after a commit, then at random instants."""
    cluster, publisher = scene.cluster, scene.publisher
    assert publisher
    publisher.start()
    points: tuple[Point, ...] = ("waking", "publishing")
    for point in points:
        cluster.order("web", point, "kill-group")
        wait_until_reached(cluster, "web", point, 10.0)
    for _ in scene.moments(every=2.0):
        cluster.kill(cluster.web)
    publisher.finish()


def only_load(scene: Scene) -> None:
    time.sleep(scene.seconds)


CELLS: dict[int, Cell] = {
    1: Cell("workers killed", kill_workers, uncertain=True, seconds=10.0),
    2: Cell("beats killed", kill_beats),
    3: Cell("beats away, then three", stop_beats, {"ok": 20, "stale": 1}),
    4: Cell("broker crashed, emptied, silent, away", lose_broker, {"ok": 20, "stale": 1}),
    5: Cell("PostgreSQL restarted, connections ended", lose_postgres, environment={"FAULTS_LEASE": "16"}),
    6: Cell(
        "workers stopped past their lease",
        freeze_workers,
        environment={"FAULTS_HARD_LIMIT": "60"},
        uncertain=True,
        seconds=30.0,
    ),
    7: Cell("every message four times", only_load, environment={"FAULTS_WITH": "fourfold"}),
    8: Cell(
        "receivers that misbehave",
        only_load,
        {"ok": 40, "500": 4, "429": 4, "hang": 1, "reset": 2, "drip": 1, "tls": 1},
        {"FAULTS_TRIES": "3"},
        uncertain=True,
    ),
    9: Cell("workers restarted by SIGTERM", restart_workers),
    10: Cell(
        "payloads that raise, exhaust memory, exit, cannot be stored",
        only_load,
        {"ok": 3000, "raise": 1, "memory": 1, "exit": 1, "poison": 1},
        environment={
            "FAULTS_WITH": "misbehaving",
            "FAULTS_TRIES": "6",
        },  # so many that no other delivery dies with them by chance
        uncertain=True,
    ),
    11: Cell("connections cut during commits", cut_connections, environment={"FAULTS_WITH": "cut"}),
    12: Cell(
        "all workers killed with full memories",
        kill_all_workers,
        {"ok": 20, "500": 2, "429": 2},
        uncertain=True,
        seconds=10.0,
    ),
    13: Cell("answers to events cut, web process killed", cut_answers, seconds=6.0, events_of=1, over_http=True),
    14: Cell(
        "worker killed while it tells a topic's subscribers",
        kill_while_expanding,
        environment={"FAULTS_LEASE": "3"},
        uncertain=True,
        over_http=True,
        workload=TopicWorkload,
    ),
    15: Cell("pullers killed, or late, with their leases", kill_pullers, {"queue": 1}, seconds=8.0, over_http=True),
    16: Cell(
        "events gathered into digests, workers killed, every message four times",
        kill_workers,
        environment={"FAULTS_WITH": "fourfold"},
        uncertain=True,
        seconds=10.0,
        workload=DigestWorkload,
    ),
    17: Cell(
        "workers of jobs killed, every message four times, broker and source away",
        kill_job_workers,
        environment={"FAULTS_WITH": "fourfold", "JOB_QUEUES": f"faults_watch={QUEUE}"},
        uncertain=True,
        workload=JobWorkload,
    ),
    18: Cell(
        "a person",
        misuse,
        environment={"FAULTS_LEASE": "90", "FAULTS_QUOTAS": "on"},
        seconds=60.0,
        over_http=True,
        workload=PersonWorkload,
    ),
    19: Cell(
        "PostgreSQL killed, its standby promoted",
        fail_over,
        environment={"FAULTS_LEASE": "16"},
        seconds=10.0,
        over_http=True,
    ),
    20: Cell(
        "disk of PostgreSQL full",
        fill_disk,
        environment={"FAULTS_LEASE": "30"},
        seconds=10.0,
        over_http=True,
    ),
    21: Cell(
        "runs and steps: workers, beats and Redis killed",
        kill_anything,
        environment={"FLOWS": "bench.faults.flow_files"},
        uncertain=True,
        seconds=10.0,
        workload=FlowWorkload,
    ),
    22: Cell(
        "pings: PostgreSQL, Redis, web, beats and workers killed",
        lose_pings,
        environment={"FAULTS_LEASE": "16", "PINGS_PER_MINUTE": "100000"},
        uncertain=True,
        seconds=15.0,
        over_http=True,
        workload=PingWorkload,
    ),
    23: Cell(
        "reminders of a team, to its members and a board: workers, beats and Redis killed",
        kill_anything,
        uncertain=True,
        seconds=10.0,
        workload=TeamWorkload,
    ),
}
