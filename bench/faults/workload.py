"""The load of a cell: one-time reminders and events over some seconds, each to two channels, and entries."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from django.db import connection, transaction
from django.utils import timezone

from bench.faults.models import Entry
from bench.faults.tasks import ENTRY, REFUSED
from bench.rows import WEBHOOK_SECRET, make_channel, make_user
from events.models import Rule
from events.pure.envelope import Envelope
from notifications.models import Channel
from people.models import User
from schedules.models import Schedule
from work import dead_letters
from work.dead_letters import Which, Who

RULES = ("retry", "hold")
# Seconds after its slot at which what may go stale does.
_STALE = 2
# Seconds that a send may take, in workers of the harness.
WEBHOOK_DEADLINE = 1.5


@dataclass(frozen=True, slots=True)
class Asked:
    """One delivery that is expected. `path` is the channel's at the sink, and ends in the channel's rule."""

    title: str
    path: str

    @property
    def rule(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def may_die(self) -> bool:
        """Whether to end as dead is right: the receiver never answers, or the payload is poison."""
        return self.title.startswith(("tls", "raise", "memory", "exit", "poison"))

    @property
    def may_expire(self) -> bool:
        return self.title.startswith("stale")


@dataclass(frozen=True, slots=True)
class Workload:
    """`kinds`: what the reminders are, by weight; a kind names the sink's behaviour, else it is accepted at once.

    One in `events_of` is an event instead, whose rule says the same. `least` seconds of load."""

    seed: int
    deliveries: int
    kinds: dict[str, int]
    events_of: int = 4
    rate: int = 250
    least: float = 4.0
    # of each event
    effects: ClassVar[int] = 1

    @property
    def seconds(self) -> float:
        return max(self.least, self.deliveries / self.rate)

    def ask(self, sink_port: int) -> tuple[set[Asked], User, list[Envelope]]:
        """Write the schedules and rules, due from a moment after now.

        Returns what is to arrive, and the events to publish for a person.
        """
        rng, user = random.Random(self.seed), make_user()
        count = self.deliveries // len(RULES)
        titles = [
            f"{kind}-{number}"
            for number, kind in enumerate(rng.choices(list(self.kinds), weights=list(self.kinds.values()), k=count))
        ]
        # Of a rare kind there is one at least.
        titles[: len(self.kinds)] = [f"{kind}-{number}" for number, kind in enumerate(self.kinds)]
        channels = {path: channel_at(user, path, sink_port) for kind in self.kinds for path in paths_of(kind)}
        begin = timezone.now() + timedelta(seconds=1 + count / 1500)
        schedules, events = {}, []
        for number, title in enumerate(titles):
            slot = begin + timedelta(seconds=rng.uniform(0, self.seconds))
            if number % self.events_of == 0 and not title.startswith("stale"):
                events.append(event_at(slot, title))
                continue
            schedules[title] = once_at(user, title, slot, stale_after=_STALE if title.startswith("stale") else None)
        links = [
            Schedule.channels.through(schedule_id=schedule.id, channel_id=channels[path].id)
            for title, schedule in schedules.items()
            for path in paths_of(_kind(title))
        ]
        with transaction.atomic():  # on a slow machine the first are due before the last are written
            Schedule.objects.bulk_create(schedules.values(), batch_size=1000)
            Schedule.channels.through.objects.bulk_create(links, batch_size=1000)
            for kind in self.kinds:
                rule = Rule.objects.create(user=user, name=kind, type_pattern=event_type(kind), title="{data.title}")
                rule.channels.set(channels[path] for path in paths_of(kind))
        entries = [begin + timedelta(seconds=rng.uniform(0, self.seconds)) for _ in range(count // 2)]
        Entry.objects.bulk_create(
            [
                Entry(code=REFUSED if number % 10 == 0 else "note", available_at=at, wake_at=at)
                for number, at in enumerate(entries)
            ],
            batch_size=1000,
        )
        return {Asked(title, path) for title in titles for path in paths_of(_kind(title))}, user, events


def replay_refused() -> None:
    """Replay the entries that became dead letters."""
    dead_letters.replay(Which(ENTRY).rows(), "refused entries", Who(None, "the harness"), per_minute=10_000)


def clear() -> None:
    """Remove all that the last cell left."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE people_user, notifications_delivery, schedules_schedule, faults_entry CASCADE")


def once_at(user: User, title: str, slot: datetime, **fields: Any) -> Schedule:
    rule = {"at": slot.astimezone(UTC).replace(tzinfo=None).isoformat()}
    return Schedule(user=user, title=title, kind="once", rule=rule, time_zone="UTC", next_fire_at=slot, **fields)


def _kind(title: str) -> str:
    return title.partition("-")[0]


def event_type(title: str) -> str:
    return f"faults.{_kind(title)}"


def event_at(slot: datetime, title: str) -> Envelope:
    delay = math.ceil((slot - timezone.now()).total_seconds())
    due = timezone.now() + timedelta(seconds=delay)
    return Envelope(event_type(title), {"title": title}, "faults", occurred_at=due, delay=delay)


def paths_of(kind: str) -> list[str]:
    behaviour = kind if kind in {"500", "429", "hang", "reset", "drip", "tls", "queue"} else "ok"
    return [f"/{behaviour}/{rule}" for rule in RULES]


def channel_at(user: User, path: str, sink_port: int) -> Channel:
    if path.startswith("/queue"):
        return make_channel(user, "queue", {"tries": "100"}, label=path)
    scheme = "https" if path.startswith("/tls") else "http"  # the sink speaks no TLS: the handshake fails
    address = {"url": f"{scheme}://127.0.0.1:{sink_port}{path}"}
    secrets = {"secret": WEBHOOK_SECRET}
    return make_channel(user, "webhook", address, secrets, label=path, on_unknown=path.rpartition("/")[2])
