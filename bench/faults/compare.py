"""Compare what was asked for with the rows, the attempts and what the sink says arrived."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Count

from bench.faults.flow_check import STEPS, took, wrong_flows
from bench.faults.flow_workload import PATH
from bench.faults.job_workload import unfinished_jobs, wrong_jobs
from bench.faults.models import Entry
from bench.faults.tasks import REFUSED
from bench.faults.team_workload import wrong_boards
from bench.faults.workload import Asked
from events.models import Digest, Event, Step
from events.pure.envelope import Envelope
from jobs.models import Batch

_ROWS = """
SELECT n.subject, c.label, d.id::text, d.state,
       extract(epoch FROM d.settled_at - coalesce(
           n.slot, (n.data ->> 'occurred_at')::timestamptz,
           (n.data #>> '{events,-1,occurred_at}')::timestamptz))::float,
       count(a.id), count(a.id) FILTER (WHERE a.finished_at IS NULL),
       count(a.id) FILTER (WHERE a.outcome = 'delivered'), d.reason_code
  FROM notifications_delivery d
  JOIN notifications_notification n ON n.id = d.notification_id
  JOIN notifications_channel c ON c.id = d.channel_id
  LEFT JOIN notifications_attempt a ON a.delivery_id = d.id
 WHERE n.origin <> 'notice' AND c.provider NOT IN ('inbox', 'team', 'board')
 GROUP BY n.id, c.id, d.id
"""
# Carillon's own words to owners, of channels that do not work: nobody has asked for them here.
_NOTICES = """
SELECT d.id::text FROM notifications_delivery d JOIN notifications_notification n ON n.id = d.notification_id
 WHERE n.origin = 'notice'
"""
_OPEN = """
SELECT count(*) FILTER (WHERE d.state IN ('pending', 'sending')),
       count(*) FILTER (WHERE d.provider NOT IN ('team', 'board'))
  FROM notifications_delivery d JOIN notifications_notification n ON n.id = d.notification_id
 WHERE n.origin <> 'notice' AND d.provider <> 'inbox'
"""
_DIGESTS = """
SELECT d.id, d.state, d.gathered, count(e.event_id),
       ARRAY(SELECT (n.data ->> 'count')::int FROM notifications_notification n WHERE n.batch_id = d.id)
  FROM events_digest d LEFT JOIN events_effect e ON e.digest_id = d.id
 GROUP BY d.id
"""


@dataclass
class Result:
    """Of one cell.

    `repeats`: arrived more than once under one id, at a receiver that recognises ids; `duplicates`: where it does not.
    `lost`: neither arrived nor ended with a reason that this fault explains. `incoherent`: rows, attempts and the sink
    contradict each other. `p99`: seconds from the slot until 99 % of the deliveries had come to their end.
    """

    expected: int = 0
    delivered: int = 0
    lost: int = 0
    repeats: int = 0
    duplicates: int = 0
    unknown: int = 0
    expired: int = 0
    dead: int = 0
    incoherent: int = 0
    p99: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def as_values(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    state: str
    took: float | None
    attempts: int
    open_attempts: int
    delivered_attempts: int
    reason: str


def unfinished(expected: int) -> int:
    """How many have not come to an end: deliveries, also those not recorded yet, and other work."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN)
        unsettled, recorded = cursor.fetchone()
    others = sum(model.objects.filter(settled_at=None).count() for model in (Entry, Event, Batch, Digest, Step))
    return int(unsettled + expected - recorded + others) + unfinished_jobs()


def compare(asked: Iterable[Asked], events: Collection[Envelope], effects: int, arrivals: Path) -> Result:
    """`effects` is how many each event has."""
    with connection.cursor() as cursor:
        cursor.execute(_ROWS)
        found = cursor.fetchall()
        cursor.execute(_NOTICES)
        notices = {key for (key,) in cursor.fetchall()}
    rows: dict[Asked, list[Row]] = defaultdict(list)
    for title, path, *values in found:
        rows[Asked(title, path)].append(Row(*values))
    arrived: dict[Asked, list[tuple[str, str]]] = defaultdict(list)
    of_steps: list[tuple[str, str]] = []
    for line in arrivals.read_text().splitlines():
        _, path, key, verdict, title = line.split(" ", 4)
        if key in notices:
            continue
        if path == PATH:
            of_steps.append((title, key))
            continue
        arrived[Asked(title, path)].append((key, verdict))
    sum_up = Result()
    wanted = set(asked)
    for one in wanted:
        sum_up.expected += 1
        _judge(one, rows[one], arrived[one], sum_up)
    for stranger in (rows.keys() | arrived.keys()) - wanted:
        sum_up.incoherent += 1
        sum_up.notes.append(f"{stranger} was never asked for")
    _judge_entries(sum_up)
    _judge_events(events, effects, sum_up)
    _judge_digests(sum_up)
    _judge_flows(events, of_steps, sum_up)
    wrong = [*wrong_jobs(), *wrong_boards()]
    sum_up.incoherent += len(wrong)
    sum_up.notes += wrong
    seconds = sorted([*took(), *(row.took for those in rows.values() for row in those if row.took is not None)])
    sum_up.p99 = round(seconds[int(len(seconds) * 0.99)], 1) if seconds else 0.0
    return sum_up


def _judge_entries(sum_up: Result) -> None:
    """Of entries, only those count that have gone wrong: not done, or not with exactly one effect."""
    counted = Entry.objects.annotate(times=Count("effects", distinct=True))
    for key, state, times in counted.exclude(state="done", times=1).values_list("id", "state", "times"):
        sum_up.lost += times == 0
        sum_up.duplicates += times > 1
        sum_up.incoherent += (state == "done") != (times == 1)
        sum_up.notes.append(f"entry {key}: {state}, {times} effects")
    # Each that was refused was a dead letter once.
    sum_up.incoherent += Entry.objects.filter(code=REFUSED).exclude(replays=1).count()


def _judge_events(events: Collection[Envelope], effects: int, sum_up: Result) -> None:
    """Each is there once, is handled, and has its effects; what followed from that is judged with the deliveries."""
    counted = Event.objects.filter(source="faults").annotate(times=Count("effects"))
    found = {event.key: event for event in counted}
    for key in found.keys() ^ {event.key for event in events}:
        sum_up.incoherent += 1
        sum_up.notes.append(f"event {key} was {'never asked for' if key in found else 'not taken'}")
    for event in found.values():
        if (event.state, event.times) != ("handled", effects):  # type: ignore[attr-defined]
            sum_up.incoherent += 1
            sum_up.notes.append(f"event {event.key}: {event.state}, {event.times} effects")  # type: ignore[attr-defined]


def _judge_digests(sum_up: Result) -> None:
    """Each is sent, and one notification tells of all its events."""
    with connection.cursor() as cursor:
        cursor.execute(_DIGESTS)
        for key, state, gathered, events, told in cursor.fetchall():
            if (state, gathered, told) != ("sent", events, [events]):
                sum_up.incoherent += 1
                sum_up.notes.append(f"digest {key}: {state}, {events} events, counted {gathered}, told {told}")


def _judge_flows(events: Collection[Envelope], arrivals: list[tuple[str, str]], sum_up: Result) -> None:
    """Each event of a run is applied once, and each step has one effect at the sink."""
    runs = Counter(event.data["run"] for event in events if event.type == "faults.run")
    before = sum_up.lost
    for what, note in wrong_flows(runs, arrivals):
        setattr(sum_up, what, getattr(sum_up, what) + 1)
        if what != "repeats":
            sum_up.notes.append(note)
    sum_up.expected += runs.total() * len(STEPS)
    sum_up.delivered += max(0, runs.total() * len(STEPS) - (sum_up.lost - before))


def _judge(one: Asked, rows: list[Row], arrived: list[tuple[str, str]], sum_up: Result) -> None:
    def lost(why: str) -> None:
        sum_up.lost += 1
        sum_up.notes.append(f"{one.title} {one.path}: {why}")

    def incoherent(why: str) -> None:
        sum_up.incoherent += 1
        sum_up.notes.append(f"{one.title} {one.path}: {why}")

    verdicts = Counter(verdict for _, verdict in arrived)
    acted = verdicts["ok"] + verdicts["silent"]
    if acted > 1:
        if one.rule == "retry" and len({key for key, _ in arrived}) == 1:
            sum_up.repeats += 1
        else:
            sum_up.duplicates += 1
            sum_up.notes.append(f"{one.title} {one.path}: arrived {acted} times")
    if len(rows) != 1:
        lost(f"{len(rows)} rows")
        return
    row = rows[0]
    match row.state:
        case "delivered" if verdicts["ok"]:
            sum_up.delivered += 1
        case "delivered":
            lost("delivered, says the row, and nothing arrived")
        case "unknown" if one.rule == "hold":
            sum_up.unknown += 1
        case "dead" if one.may_die:
            sum_up.dead += 1
        case "expired" if one.may_expire and not arrived:
            sum_up.expired += 1
        case state:
            lost(f"{state}: {row.reason}")
    if row.state not in {"pending", "sending"} and row.open_attempts:
        incoherent(f"{row.state} with an attempt that is still open")
    if row.delivered_attempts != (row.state == "delivered"):
        incoherent(f"{row.state} with {row.delivered_attempts} successful attempts")
    if len(arrived) > row.attempts:
        incoherent(f"{len(arrived)} arrivals of {row.attempts} attempts")
