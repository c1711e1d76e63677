"""The cell of pings: programs that ping watches over HTTP while everything is killed, and what beats tell of it."""

from __future__ import annotations

import http.client
import random
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bench.faults.brokers import signal_engine
from bench.faults.scene import Scene, wait_for
from bench.faults.workload import Asked, Workload
from bench.rows import make_channel, make_user
from common.database.fault_points import Point
from common.database.postgres import persist
from events.models import Event
from events.pure.envelope import Envelope
from notifications.models import Notification
from people.models import User
from watches.models import Ping, Watch
from watches.pings import MOST_PINGS

_WATCHES = 40
_EXPECTED, _GRACE = 2, 1  # seconds
# Pauses in seconds, in time and too late.
_SHORT, _LONG = (0.5, 2.0), (4.0, 8.0)
_BEAT_WAITS = 1.0  # seconds, for pings that are on their way to the database
_PATIENCE = 240.0  # seconds
_ORDERS: dict[str, tuple[Point, ...]] = {
    "web": ("recording", "recorded"),
    "beat": ("recorded", "waking", "publishing"),
    "worker": ("claimed", "settled"),
}


class PingWorkload(Workload):
    """Watches of which each miss and each recovery goes to an inbox. Nothing else is asked for."""

    def ask(self, sink_port: int) -> tuple[set[Asked], User, list[Envelope]]:
        user = make_user()
        inbox = make_channel(user)
        fields = {"user": user, "kind": "since", "period": _EXPECTED, "grace": _GRACE, "time_zone": "UTC"}
        for number in range(_WATCHES):
            Watch.objects.create(name=f"Job {number}", **fields).channels.add(inbox)
        return set(), user, []


@dataclass(frozen=True, slots=True)
class Answered:
    """A ping that was answered with 200, by its text, which no other ping of its watch has."""

    watch: Watch
    text: str
    at: datetime


def lose_pings(scene: Scene) -> None:
    """Each process at its points, PostgreSQL and Redis, at once; then any of them at random."""
    cluster, is_over = scene.cluster, threading.Event()
    watches = list(Watch.objects.all())
    for whom, points in _ORDERS.items():  # at once, since a process may need longer to start than the load lasts
        for point in points:
            cluster.order(whom, point, "kill-group")
    with ThreadPoolExecutor(_WATCHES) as pool:
        programs = [pool.submit(_ping, watch, cluster.web_port, scene.rng.random(), is_over) for watch in watches]
        try:
            for _ in range(2):
                signal_engine(cluster.postgres, signal.SIGQUIT)
                cluster.broker.kill()
                time.sleep(2.0)
            wait_for(lambda: not any(cluster.is_ordered(*one) for one in _ordered()), _PATIENCE)
            for _ in scene.moments(every=1.0):
                _kill_one(scene)
        finally:
            is_over.set()
        answered = [one for program in programs for one in program.result()]
    cluster.heal()
    if not wait_for(lambda: persist(_all_is_told), _PATIENCE):
        scene.problems.append("something was not told")
    problems = list(_problems(watches, answered))
    scene.problems.extend(f"{len(found)} {what}" for what, found in _grouped(problems).items())
    scene.notes.extend(f"{what}: {about}" for what, about in problems)
    misses = Event.objects.filter(type="watch.missed").count()
    scene.notes.append(
        f"{len(answered):,} pings answered with 200, {misses:,} misses told, {len(cluster.ended)} deaths"
    )


def _ordered() -> Iterator[tuple[str, Point]]:
    return ((whom, point) for whom, points in _ORDERS.items() for point in points)


def _kill_one(scene: Scene) -> None:
    cluster, rng = scene.cluster, scene.rng
    match rng.choice(("web", "web", "beat", "worker", "broker", "postgres")):
        case "web":
            cluster.kill(cluster.web)
        case "beat":
            cluster.kill(rng.choice(cluster.beats[:2]))
        case "worker":
            cluster.kill(rng.choice(cluster.workers))
        case "broker":
            cluster.broker.kill()
        case _:
            signal_engine(cluster.postgres, signal.SIGQUIT)


def _ping(watch: Watch, port: int, seed: float, is_over: threading.Event) -> list[Answered]:
    """Ping the watch as curl does, again until it is answered with 200; as often as all its pings are stored."""
    rng, answered, tries = random.Random(seed), list[Answered](), 0
    while not is_over.is_set() and tries < MOST_PINGS:
        text, tries = str(tries), tries + 1
        with suppress(OSError, http.client.HTTPException):
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            line.request("POST", f"/ping/{watch.token}", text)
            if line.getresponse().status == 200:
                answered.append(Answered(watch, text, datetime.now(UTC)))
                is_over.wait(rng.uniform(*(_SHORT if rng.random() < 0.6 else _LONG)))
                continue
        is_over.wait(1.0)
    return answered


def _all_is_told() -> bool:
    return not Watch.objects.exclude(deadline=None).exists() and not Ping.objects.exclude(tells="").exists()


def _problems(watches: list[Watch], answered: list[Answered]) -> Iterator[tuple[str, str]]:
    """What is wrong, and about which ping or miss."""
    at_of = {(ping.watch_id, ping.output): ping.at for ping in Ping.objects.order_by("watch_id", "number")}
    answers = {(one.watch.id, one.text): one.at for one in answered}
    for lost in answers.keys() - at_of.keys():
        yield "answered pings lost", f"{lost}"
    told: dict[object, list[datetime]] = defaultdict(list)
    for key, at in Event.objects.filter(type="watch.missed").values_list("correlation_id", "data__at"):
        told[str(key)].append(datetime.fromisoformat(at))
    for watch in watches:
        pings = [(at, answers.get((key, text))) for (key, text), at in at_of.items() if key == watch.id]
        yield from _wrong_misses(watch.name, pings, told[str(watch.id)])
        events = Event.objects.filter(correlation_id=watch.id, type__startswith="watch.").count()
        if (sent := Notification.objects.filter(origin_id=watch.id).count()) != events:
            yield "messages that are not one for each event", f"{watch.name}: {sent} of {events}"


def _wrong_misses(
    name: str, pings: list[tuple[datetime, datetime | None]], told: list[datetime]
) -> Iterator[tuple[str, str]]:
    """`pings`: when each came, and was answered. A ping in time whose answer came late may have ended a miss."""
    left = sorted(told)
    for (at, _), (following, answer) in zip(pings, [*pings[1:], (None, None)], strict=True):
        deadline = at + timedelta(seconds=_EXPECTED + _GRACE)
        times = sum(abs(one - deadline) < timedelta(milliseconds=5) for one in left)
        left = [one for one in left if abs(one - deadline) >= timedelta(milliseconds=5)]
        if following is None or following > deadline:
            if times != 1:
                yield "misses not told once", f"{name} at {deadline}: {times} times"
        elif times > 1 or (times and answer and answer < deadline + timedelta(seconds=_BEAT_WAITS)):
            yield "misses told though a ping came in time", f"{name} at {deadline}"
    for one in left:
        yield "misses told of no deadline", f"{name} at {one}"


def _grouped(problems: list[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = defaultdict(list)
    for what, about in problems:
        grouped[what].append(about)
    return grouped
