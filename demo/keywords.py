"""Three keywords of a brand, from research to publication: a flow decides, and programs pull queues and answer."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from carillon_client import Client

from config.embedded.var import CHECKOUT
from demo.child import Child
from demo.installation import DemoFailed, Installation, wait_until
from demo.person import Person
from demo.receivers.http import Received, Reply, in_json
from demo.report import Count, say, table

CHAIN = "brand-cycle-llc-tax-2026-03-14"
SETTINGS = {"FLOWS": "demo.flows", "MOST_HOPS": "5"}
"""A chain of this demo has five hops: from the brand's cycle to a post that follows from an article."""
_BRAND, _ONE, _TWO, _THREE = "LLC Tax", "llc tax rate", "s corp election", "franchise tax"
_ARRIVALS = (_ONE, _THREE, _TWO)
_RESEARCH = {_ONE: 0.5, _THREE: 0.8, _TWO: 1.2}  # seconds: a tenth of those of a real run, as all of them
_GENERATION = {_ONE: 3.2, _THREE: 3.9, _TWO: 4.5}
_TYPES = ("research.requested", "research.completed", "content.generated", "content.publish", "social.create")
_ALL = (*_TYPES, "content.published", "social.posted")
_NEVER = "600"  # seconds: longer than the demo
_RESCUE = 6.0  # seconds: rescue runs every five
_WITHIN = 120.0
_EVENTS = """
SELECT type, data ->> 'keyword' AS keyword, correlation, state, settled_at IS NOT NULL AS settled
  FROM events_event WHERE type = ANY(%s) ORDER BY id
"""
_ENDS = """
WITH run AS (SELECT user_id, correlation, state FROM events_run WHERE flow = 'brand' AND correlation = %s)
SELECT run.state,
       (SELECT count(*) FROM events_step WHERE correlation = run.correlation AND state = 'done') AS steps,
       (SELECT count(*) FROM events_stepattempt a JOIN events_step s ON s.id = a.step_id
         WHERE s.correlation = run.correlation AND a.outcome = 'lost') AS lost_steps,
       (SELECT count(*) FROM events_event e
         WHERE e.user_id = run.user_id AND e.correlation <> run.correlation) AS strangers,
       count(DISTINCT d.id) FILTER (WHERE d.state = 'delivered') AS messages,
       count(*) FILTER (WHERE a.outcome = 'lost') AS lost_leases,
       count(*) FILTER (WHERE a.outcome = 'retryable') AS returned
  FROM run JOIN notifications_notification n ON n.correlation = run.correlation
  JOIN notifications_delivery d ON d.notification_id = n.id AND d.provider = 'queue'
  JOIN notifications_attempt a ON a.delivery_id = d.id
 GROUP BY run.state, run.correlation, run.user_id
"""


class Service:
    """Research, articles and their store, which the steps ask. The same idempotency key has the same effect once."""

    def __init__(self) -> None:
        self.effects: dict[str, Counter[str]] = {
            name: Counter() for name in ("research", "generate", "store", "confirm")
        }
        self.generates = threading.Event()
        self._known: set[str] = set()

    def answer(self, request: Received) -> Reply:
        name, input = request.path.strip("/"), json.loads(request.body)
        key, keyword = request.headers["Idempotency-Key"], input["keyword"]
        if name == "generate":
            self.generates.set()
            time.sleep(_GENERATION[keyword])
        if key not in self._known:
            self._known.add(key)
            self.effects[name][keyword] += 1
        results = {"research": {"sources": 3}, "generate": {"words": 800}, "store": {"address": f"/{keyword}"}}
        return in_json(200, results.get(name, {}))


class Keywords:
    """`site` has SETTINGS and asks `service`; it runs without reminders of its own."""

    def __init__(self, site: Installation, service: Service) -> None:
        self.site, self.service = site, service
        self._killed = threading.Event()

    def run(self) -> list[Count]:
        """Run it, and return the counts. Raises DemoFailed."""
        password = secrets.token_urlsafe(12)
        with closing(Person(self.site.url, "Ada", "ada@brand.example.org", password, "UTC")) as ada:
            token = ada.token("Brand", password)
            with Client(self.site.url, token) as carillon:
                self._play(carillon, token)
                counts = self._counts(carillon)
            address = f"{self.site.url}/trace/{CHAIN}"
            ada.page(f"/trace/{CHAIN}")
            say(f"\nThe trace was at {address}")
        return counts

    def _play(self, carillon: Client, token: str) -> None:
        say(f"\nA brand has three keywords researched, and what is written about them published: {CHAIN}")
        say("Seconds are a tenth of those of a real run; the worker's death and its lease come on top.\n")
        queues = {
            type: self._queue(carillon, type, fields)
            for type, fields in {
                "research.requested": {"batch_size": 3, "batch_timeout": 5},
                "content.publish": {},
                "social.create": {"batch_size": 1},  # else “poster 1” may die with more than one message
            }.items()
        }
        researched = [f"--seconds={keyword}={seconds}" for keyword, seconds in _RESEARCH.items()]
        asleep = [f"--seconds={keyword}={_NEVER}" for keyword in _RESEARCH]
        with (
            self._consumer("researcher", token, queues["research.requested"], *researched, f"--twice={_THREE}"),
            self._consumer("publisher", token, queues["content.publish"], f"--busy={_TWO}"),
            self._consumer("poster 1", token, queues["social.create"], *asleep) as poster,
        ):
            data = {"brand": _BRAND, "keywords": [_ONE, _TWO, _THREE]}
            carillon.events.publish({"type": "brand.cycle", "source": "demo", "correlation_id": CHAIN, "data": data})
            wait_until(self.service.generates.is_set, "the first article", _WITHIN)
            self._kill_worker()
            wait_until(self._killed.is_set, "the first lease of “poster 1”", _WITHIN)
            say("  “poster 1” was killed (SIGKILL) while it held a lease")
            poster.stop(0.0)
            with self._consumer("poster 2", token, queues["social.create"]):
                wait_until(self._is_over, "the end of the chain", _WITHIN)
                time.sleep(_RESCUE)  # nothing may come twice

    def _queue(self, carillon: Client, type: str, fields: Mapping[str, int]) -> str:
        """The id of a new queue, to which a rule sends the events of this type."""
        queue = carillon.channels.add("queue", fields, type)["id"]
        carillon.rules.create(name=type, type_pattern=type, title="{data.keyword}", channel_ids=[queue])
        return queue

    @contextmanager
    def _consumer(self, name: str, token: str, queue: str, *options: str) -> Iterator[Child]:
        """A process that pulls the queue. “poster 1” is killed as soon as it has a message."""
        lines = self.site.logs[name] = deque(maxlen=400)

        def on_line(line: str, name: str) -> None:
            lines.append(line)
            if name == "poster 1" and line.startswith("pulled"):
                os.killpg(child.pid, signal.SIGKILL)
                self._killed.set()

        child = Child(
            name,
            [sys.executable, "-m", "demo.consumer", name, queue, *options],
            ready_sign="pulls",
            environment={
                "CARILLON_URL": self.site.url,
                "CARILLON_TOKEN": token,
                "PYTHONPATH": os.pathsep.join((str(CHECKOUT), str(CHECKOUT / "client"))),
            },
            on_line=on_line,
        )
        child.start()
        try:
            wait_until(child.is_ready, f"“{name}” to pull", _WITHIN)
            yield child
        finally:
            child.stop(0.0)

    def _kill_worker(self) -> None:
        worker = self.site.worker
        os.killpg(worker.pid, signal.SIGKILL)
        worker.stop(0.0)
        for name, state in (("step", "working"), ("event", "handling")):
            self.site.rows(f"UPDATE events_{name} SET lease_until = now() WHERE state = '{state}' RETURNING id")  # noqa: S608 - names from above
        say("  The worker was killed (SIGKILL) while it had an article generated; its leases end now, not after 90 s")
        self.site.start(worker)

    def _is_over(self) -> bool:
        events = self.site.rows(_EVENTS, list(_ALL))
        return len(events) >= len(_ALL) * len(_ARRIVALS) and all(event["settled"] for event in events)

    def _counts(self, carillon: Client) -> list[Count]:
        events = self.site.rows(_EVENTS, list(_ALL))
        found = Counter((event["type"], event["keyword"]) for event in events)
        expected = Counter({(type, keyword): 1 for type in _ALL for keyword in _ARRIVALS})
        self._show(carillon, found)
        [ends] = self.site.rows(_ENDS, CHAIN)
        state = ends["state"]
        arrived = [event["keyword"] for event in events if event["type"] == "research.completed"]
        answers = sum(line.startswith("answered") for lines in self.site.logs.values() for line in lines)
        if tuple(arrived) != _ARRIVALS:
            raise DemoFailed(f"Research came in another order: {', '.join(arrived)}")
        totals = [sum(found[type, keyword] for type in _ALL[:most] for keyword in _ARRIVALS) for most in (5, 6, 7)]
        effects = self.service.effects.values()
        return [
            Count("messages: requested, completed, generated, publish, social.create", 15, totals[0]),
            Count("messages with the three that are published", 18, totals[1]),
            Count("messages with the three posts too", 21, totals[2]),
            Count("messages that are missing", 0, (expected - found).total()),
            Count("messages twice, or of nobody", 0, (found - expected).total()),
            Count("messages without the correlation id", 0, sum(event["correlation"] != CHAIN for event in events)),
            Count("other events of this person without it", 0, ends["strangers"]),
            Count("messages that were not handled", 0, sum(event["state"] != "handled" for event in events)),
            Count("messages that programs pulled and acknowledged", 9, ends["messages"]),
            Count("messages pulled again after their program was killed", 1, ends["lost_leases"]),
            Count("messages returned, since the publisher was busy", 1, ends["returned"]),
            Count("answers of programs, one of them sent twice", 10, answers),
            Count("steps done", 12, ends["steps"]),
            Count("steps that the killed worker had, at least one", 1, min(1, ends["lost_steps"])),
            Count("effects of steps at the service", 12, sum(effect.total() for effect in effects)),
            Count("of these, twice", 0, sum(count > 1 for effect in effects for count in effect.values())),
            Count(
                "articles that the run knows, published and posted",
                9,
                len(state["content"]) + state["published"] + state["posted"],
            ),
            Count("what the run still waits for", 0, state["pending"] + len(state["drafts"])),
        ]

    def _show(self, carillon: Client, found: Mapping[tuple[str, str], int]) -> None:
        """The table: when each message was recorded, by the trace, and how many there are; and what was tried again."""
        trace = carillon.events.trace(CHAIN)["items"]
        rows: list[tuple[str | int, ...]] = []
        for type in _ALL:
            of_type = [item for item in trace if item["kind"] == "event" and item["type"] == type]
            times = [
                next((f"{item['seconds']:.1f}" for item in of_type if keyword in item["key"]), "-")
                for keyword in _ARRIVALS
            ]
            count = sum(found[type, keyword] for keyword in _ARRIVALS)
            consumers = {consumer for item in of_type for consumer in item["consumers"]}
            rows.append((type, *times, count, count + sum(int(row[-2]) for row in rows[-1:]), ", ".join(consumers)))
        say("\nSeconds since the first, for each keyword\n")
        say(table(("type", *_ARRIVALS, "messages", "sum", "rule or flow"), rows))
        again = [
            (f"{item['seconds']:.1f}", item["queue"], item["type"], item["state"], ", ".join(tries))
            for item in trace
            if len(tries := [one["outcome"] for one in item["tries"]]) > 1
        ]
        say("\nTried more than once: “lost” with a killed process, “released” while another event had the run\n")
        say(table(("seconds", "queue", "what", "state", "tries"), again))
