"""What is wrong with runs and steps, by their rows and by what arrived at the sink."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import connection

STEPS = ("first", "second")
_RUNS = "SELECT key, status, state::text FROM events_run WHERE flow = 'faults_run'"
_ROWS = """
SELECT r.key, split_part(s.handler, '.', 2), s.key, s.id::text, s.state,
       count(a.id), count(a.id) FILTER (WHERE a.outcome = 'done')
  FROM events_step s JOIN events_run r ON r.id = s.run_id LEFT JOIN events_stepattempt a ON a.step_id = s.id
 WHERE r.flow = 'faults_run' GROUP BY r.id, s.id
"""
_TOOK = """
SELECT extract(epoch FROM s.settled_at - e.occurred_at)::float
  FROM events_event e JOIN events_run r ON r.flow = 'faults_run' AND r.key = e.data ->> 'run'
  JOIN events_step s ON s.run_id = r.id AND s.handler = 'faults_run.second' AND s.key = e.data ->> 'number'
 WHERE e.type = 'faults.run' AND s.settled_at IS NOT NULL
"""


def took() -> list[float]:
    """Seconds from an event to the end of its second step."""
    return [seconds for (seconds,) in _all(_TOOK)]


def wrong_flows(expected: Mapping[str, int], arrivals: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """What is lost, arrived twice and so on (a count of `Result`), with a note.

    `expected`: the number of events of each run by its key. `arrivals`: subject and idempotency key, as the sink has
    them: it recognises repeats, so a step that is tried again is not a duplicate, unless it has another key.
    """
    runs = {key: (status, json.loads(state)) for key, status, state in _all(_RUNS)}
    rows: dict[str, list[Any]] = defaultdict(list)
    for run, step, key, *values in _all(_ROWS):
        rows[f"{run} {step} {key}"].append(values)
    arrived: dict[str, list[str]] = defaultdict(list)
    for subject, key in arrivals:
        arrived[subject].append(key)
    for run, count in expected.items():
        status, state = runs.get(run, ("missing", {}))
        if status != "finished":
            yield "incoherent", f"run {run} is {status}"
        for what in ("events", *STEPS):
            yield from _once(f"{what} of run {run}", state.get(what, []), count)
    wanted = {f"{run} {step} {number}" for run, count in expected.items() for number in range(count) for step in STEPS}
    for subject in wanted:
        yield from _step(subject, rows[subject], arrived[subject])
    for subject in (rows.keys() | arrived.keys()) - wanted:
        yield "incoherent", f"step {subject} was never asked for"


def _once(what: str, numbers: list[int], count: int) -> Iterator[tuple[str, str]]:
    """That each number up to `count` was applied once."""
    found, wanted = Counter(numbers), Counter(range(count))
    if missing := wanted - found:
        yield "lost", f"{what}: {sorted(missing)} were not applied"
    if more := found - wanted:
        yield "duplicates", f"{what}: {sorted(more)} were applied twice"


def _step(subject: str, rows: list[Any], keys: list[str]) -> Iterator[tuple[str, str]]:
    if len(rows) != 1 or not keys:
        yield "lost", f"step {subject}: {len(rows)} rows, {len(keys)} arrivals"
        return
    [(id, state, tries, done)] = rows
    if set(keys) != {id}:
        yield "duplicates", f"step {subject}: arrived as {sorted(set(keys))} instead of {id}"
    elif len(keys) > 1:
        yield "repeats", f"step {subject}: tried again with the same key"
    if (state, done) != ("done", 1):
        yield "incoherent", f"step {subject}: {state}, with {done} successful tries"
    if len(keys) > tries:
        yield "duplicates", f"step {subject}: {len(keys)} arrivals of {tries} tries"


def _all(statement: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows: list[Any] = cursor.fetchall()
    return rows
