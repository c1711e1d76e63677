"""`script/bench storm [--alerts N] [--keys N] [--workers N] [--json]`: alerts of one person, one incident a key.

All alerts are there at once, in random order; two channels may ring. Workers with threads; this process rescues, as
beat would. It fails unless each key has one incident that counted all its alerts, and each channel rang once a key at
most. Then one more key is raised twice, acknowledged, resolved and raised late. There is no peer.
"""

from __future__ import annotations

import random
import time
from collections import Counter

from bench.environment import arguments, environment, report
from bench.workers import Sink, cpu_of, own_redis_database, worker

_AT_ONCE = 100
_BACKLOG = 900.0  # seconds


def main() -> None:
    parser = arguments("storm")
    parser.add_argument("--alerts", type=int, default=10_000)
    parser.add_argument("--keys", type=int, default=50)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    sink = Sink(0.0)
    with environment() as app:
        own_redis_database(app)
        try:
            with worker("threads", 512, options.workers, sink) as workers:
                storm = _Storm(sink)
                began = time.perf_counter()
                storm.raise_all(options.alerts, options.keys)
                storm.wait(_BACKLOG)
                seconds, cpu = time.perf_counter() - began, cpu_of(workers)
                rings = storm.check(options.alerts, options.keys)
                storm.play_one()
        finally:
            sink.close()
    found = {
        "alerts": options.alerts,
        "incidents": options.keys,
        "rings": rings,
        "seconds": round(seconds, 1),
        "alerts a second": round(options.alerts / seconds),
        "CPU ms": round(cpu / options.alerts * 1000, 2),
    }
    report("storm", 0, found, {}, {})


class _Storm:
    """One person whose alerts become incidents, which ring at the sink."""

    def __init__(self, sink: Sink) -> None:
        from bench.rows import WEBHOOK_SECRET, make_channel, make_user
        from events.models import FlowSettings

        self.sink, self.person = sink, make_user()
        secrets = {"secret": WEBHOOK_SECRET}
        self.channels = [make_channel(self.person, "webhook", {"url": sink.url}, secrets) for _ in range(2)]
        chosen = {"channels": [str(one.id) for one in self.channels], "wait": 60}
        FlowSettings.objects.create(user=self.person, flow="incident", settings=chosen)

    def raise_all(self, alerts: int, keys: int) -> None:
        numbers = [number % keys for number in range(alerts)]
        random.Random(0).shuffle(numbers)
        for start in range(0, alerts, _AT_ONCE):
            self._record([("alert.raised", f"key {number}") for number in numbers[start : start + _AT_ONCE]])

    def play_one(self) -> None:
        """The events of one key one after the other: the end is told, and the late alert does not ring again."""
        from events.models import Run

        for type in ("alert.raised", "alert.raised", "incident.acknowledged", "alert.resolved", "alert.raised"):
            self._record([(type, "one")])
            self.wait(60.0)
        states = [run.state for run in Run.objects.filter(user=self.person, key="one")]
        found = [(one["phase"], one["raised"], one["reopened"], one["rings"]) for one in states]
        if found != [("open", 3, 1, 1)]:
            raise SystemExit(f"The independent order ended as {found}")

    def wait(self, within: float) -> None:
        """Until all events are handled, and all messages sent."""
        from events.models import Event
        from events.pure import types
        from notifications.models import Delivery
        from work.engine import rescue

        rescued = started = time.perf_counter()
        while (
            Event.objects.filter(settled_at=None).exclude(type=types.WAIT_OVER).exists()
            or Delivery.objects.filter(settled_at=None).exists()
        ):
            if (now := time.perf_counter()) > started + within:
                left = Event.objects.filter(settled_at=None).exclude(type=types.WAIT_OVER).count()
                raise SystemExit(f"{left} events are not handled after {within:.0f} s")
            if now > rescued + 5:  # as often as beat
                rescue.rescue()
                rescued = now
            time.sleep(0.05)

    def check(self, alerts: int, keys: int) -> int:
        """Returns how often it rang on all channels together."""
        from events.models import Run
        from notifications.models import Delivery

        raised = Counter({run.key: run.state["raised"] for run in Run.objects.filter(user=self.person)})
        rings = Counter(Delivery.objects.filter(state="delivered").values_list("channel_id", flat=True))
        if (len(raised), Run.objects.count(), raised.total()) != (keys, keys, alerts):
            raise SystemExit(f"{Run.objects.count()} incidents of {len(raised)} keys counted {raised.total()} alerts")
        if max(rings.values()) > keys or self.sink.answered != rings.total():
            raise SystemExit(f"Channels rang {sorted(rings.values())} times; {self.sink.answered} messages arrived")
        return rings.total()

    def _record(self, events: list[tuple[str, str]]) -> None:
        from events.intake import ledger
        from events.pure.envelope import Envelope

        made = [Envelope(type=type, source="bench", data={"key": key, "title": "Disk full"}) for type, key in events]
        ledger.record(self.person.pk, made)


if __name__ == "__main__":
    main()
