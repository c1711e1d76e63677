"""The loads of the cells in which events reach many people, or are told together."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from django.utils import timezone

from bench.faults.publisher import TOPIC
from bench.faults.workload import RULES, Asked, Workload, channel_at, event_at, event_type, paths_of
from bench.rows import WEBHOOK_SECRET, make_channel, make_user
from events.models import Rule, Subscription, Topic
from events.pure.envelope import Envelope
from notifications.messages.message import Destination
from notifications.models import Channel
from people.models import User

_GATHERED = 3


@dataclass(frozen=True, slots=True)
class DigestWorkload(Workload):
    """Events in threes, each of which a rule tells together; another rule gathers all that happens in a second.

    One event less in the first digest, or one of them twice there, leaves a digest that is never full.
    """

    effects: ClassVar[int] = 2

    def ask(self, sink_port: int) -> tuple[set[Asked], User, list[Envelope]]:
        rng, user = random.Random(self.seed), make_user()
        titles = [f"ok-{number}" for number in range(self.deliveries // len(RULES))]
        begin = timezone.now() + timedelta(seconds=1 + len(titles) / 1500)
        paths, said = paths_of("ok"), "{data.title} {count}"
        threes = Rule.objects.create(
            user=user,
            name="Threes",
            type_pattern=event_type("ok"),
            title=said,
            digest_key="data.title",
            digest_count=_GATHERED,
            digest_seconds=86_400,
        )
        threes.channels.set(channel_at(user, path, sink_port) for path in paths)
        seconds = Rule.objects.create(
            user=user, name="Seconds", type_pattern=event_type("ok"), title=said, digest_seconds=1
        )
        seconds.channels.set([make_channel(user)])
        events = [
            event_at(begin + timedelta(seconds=rng.uniform(0, self.seconds)), title)
            for title in titles
            for _ in range(_GATHERED)
        ]
        return {Asked(f"{title} {_GATHERED}", path) for title in titles for path in paths}, user, events


@dataclass(frozen=True, slots=True)
class TopicWorkload(Workload):
    """One event for a topic with twice as many subscribers as `deliveries`, each with a channel that knows repeats."""

    effects: ClassVar[int] = 0

    def ask(self, sink_port: int) -> tuple[set[Asked], User, list[Envelope]]:
        owner = make_user()
        topic = Topic.objects.create(user=owner, slug=TOPIC, name="Faults", body="")
        people = User.objects.bulk_create(
            [User(email=f"{number}@example.org") for number in range(2 * self.deliveries)]
        )
        channels = []
        for number, person in enumerate(people):
            path = f"/ok/{number}/retry"
            channel = Channel(
                user=person, provider="webhook", label=path, on_unknown="retry", verified_at=owner.date_joined
            )
            channel.hold(Destination({"url": f"http://127.0.0.1:{sink_port}{path}"}, {"secret": WEBHOOK_SECRET}))
            channels.append(channel)
        Channel.objects.bulk_create(channels, batch_size=1000)
        Subscription.objects.bulk_create([Subscription(topic=topic, user=one) for one in people], batch_size=1000)
        event = Envelope("faults.told", {"title": "told"}, "faults", occurred_at=timezone.now(), topic_id=topic.id)
        return {Asked(event.data["title"], channel.label) for channel in channels}, owner, [event]
