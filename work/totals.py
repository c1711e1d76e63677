"""Count the tries of each kind of work, once each, some minutes after they began. A task that may die at any line.

In all, for `/metrics`; by minute, hour and day, for the page "Health"; and of each person by minute, by day and in all,
for the API. A settlement does not pay for it.

What a person's programs send, pings and API calls, is counted where it arrives, in memory: see `arrived`.
"""

import time
from functools import partial
from typing import Any

from common.database.postgres import change, persist, query
from common.database.rows import Rows
from common.database.sums import Sums
from work.kinds import KINDS, Kind

_CHUNK = 20_000
_LONGEST = 30.0  # seconds
# A try that began so many seconds ago has ended, or its worker is dead: a lease lasts for 90. What programs pull may be
# held for longer, and is not counted.
_MARGIN = 180
# Those that people do not name.
_CLOSED = ("provider", "kind")

MINUTE, HOUR, DAY = 60, 3_600, 86_400
# For how long the rows of each span are kept, in seconds: with what the counting is behind.
_RETENTION = {MINUTE: 2 * HOUR, HOUR: 26 * HOUR, DAY: 31 * DAY}
LIFETIME = 0
_RETENTION_OF_PEOPLE = {MINUTE: 2 * HOUR, DAY: 366 * DAY}
_SPANS_OF_PEOPLE = [LIFETIME, *_RETENTION_OF_PEOPLE]
EDGES = [0.001 * 2 ** (number / 2) for number in range(55)]
"""The upper ends of the buckets of a histogram, in seconds: from 1 ms to a day and a half. One more has the rest."""

_INSERT = "INSERT INTO work_persontotal AS total (user_id, span, start, kind, handler, tries, done, dead)"
_ADD = """ON CONFLICT (user_id, span, start, kind, handler) DO UPDATE
       SET tries = total.tries + excluded.tries, done = total.done + excluded.done, dead = total.dead + excluded.dead"""
# The ids of two attempts that begin at once may be in the other order: what is too new ends the part.
_COUNT = """
WITH position AS MATERIALIZED (
    SELECT attempt_id FROM work_countedattempts WHERE kind = '$name' FOR NO KEY UPDATE
), part AS MATERIALIZED (
    SELECT a.id, a.$key, a.outcome, a.started_at, a.finished_at FROM $attempt a
     WHERE a.id > (SELECT attempt_id FROM position) ORDER BY a.id LIMIT %(chunk)s
), old AS MATERIALIZED (
    SELECT * FROM part
     WHERE id < coalesce((SELECT min(id) FROM part WHERE started_at > now() - %(margin)s * interval '1 second'),
                         9223372036854775807)
), ended AS MATERIALIZED (
    SELECT old.*, {handler} AS handler, $person AS person,
           d.state = 'dead' AND d.settled_at BETWEEN old.started_at AND old.finished_at AS is_dead,
           extract(epoch FROM greatest(old.finished_at - old.started_at, interval '0'))::float8 AS seconds,
           -- A retry has another time: when this try was due is then no longer known.
           CASE WHEN d.available_at <= old.started_at
                THEN extract(epoch FROM old.started_at - d.available_at)::float8 END AS late
      FROM old JOIN $work d ON d.id = old.$key WHERE old.finished_at IS NOT NULL
), totals AS (
    INSERT INTO work_total AS total (kind, handler, outcome, count, seconds)
    SELECT '$name', handler, outcome, count(*), sum(seconds) FROM ended GROUP BY 2, 3 ORDER BY 2, 3
    ON CONFLICT (kind, handler, outcome) DO UPDATE
       SET count = total.count + excluded.count, seconds = total.seconds + excluded.seconds
), spans AS MATERIALIZED (
    SELECT handler, span, to_timestamp(floor(extract(epoch FROM finished_at) / span) * span) AS start,
           count(*) AS tries, count(*) FILTER (WHERE outcome = '$done') AS done, min(id) AS first_attempt,
           array_agg(width_bucket(seconds, {edges})) AS took, array_agg(width_bucket(late, {edges})) AS late
      FROM ended, unnest(%(spans)s::int[]) AS span WHERE outcome <> 'released' GROUP BY 1, 2, 3
), rollups AS (
    INSERT INTO work_rollup AS rollup (kind, handler, span, start, tries, done, first_attempt, took, late)
    SELECT '$name', handler, span, start, tries, done, first_attempt, {took}, {late} FROM spans ORDER BY 2, 3, 4
    ON CONFLICT (span, start, kind, handler) DO UPDATE
       SET tries = rollup.tries + excluded.tries, done = rollup.done + excluded.done,
           first_attempt = least(rollup.first_attempt, excluded.first_attempt),
           took = ARRAY(SELECT a + b FROM unnest(rollup.took, excluded.took) AS pair(a, b)),
           late = ARRAY(SELECT a + b FROM unnest(rollup.late, excluded.late) AS pair(a, b))
), of_people AS MATERIALIZED (
    SELECT person, span, handler, count(*) AS tries, count(*) FILTER (WHERE outcome = '$done') AS done,
           count(*) FILTER (WHERE is_dead) AS dead,
           CASE WHEN span = 0 THEN 'epoch' ELSE to_timestamp(floor(extract(epoch FROM finished_at) / span) * span)
           END AS start
      FROM ended, unnest(%(spans_of_people)s::int[]) AS span
     WHERE outcome <> 'released' AND person IS NOT NULL GROUP BY person, span, handler, start
), people AS (
    {insert}
    SELECT person, span, start, '$name', handler, tries, done, dead FROM of_people ORDER BY 1, 2, 3, 5
    {add}
)
UPDATE work_countedattempts SET attempt_id = (SELECT max(id) FROM old)
 WHERE kind = '$name' AND EXISTS (SELECT FROM old)
RETURNING (SELECT count(*) FROM old) AS counted
"""
_EDGES = "%(edges)s::float8[]"
_HISTOGRAM = """
    ARRAY(SELECT count(one) FROM generate_series(0, cardinality({edges})) AS bucket
            LEFT JOIN unnest({column}) AS one ON one = bucket GROUP BY bucket ORDER BY bucket)"""
_FORGET = "DELETE FROM work_rollup WHERE span = %s AND start < now() - %s * interval '1 second'"
_FORGET_OF_PEOPLE = _FORGET.replace("work_rollup", "work_persontotal")
_BEGIN = "INSERT INTO work_countedattempts (kind, attempt_id) VALUES (%s, 0) ON CONFLICT DO NOTHING"


def count() -> int:
    """Count what is not counted yet, for at most 30 seconds; return how many tries."""
    give_up_at, total = time.monotonic() + _LONGEST, 0
    for kind in KINDS.values():
        persist(partial(change, _BEGIN, [kind.name]))
        while counted := _count(kind):
            total += counted
            if counted < _CHUNK or time.monotonic() > give_up_at:
                break
    for statement, spans in ((_FORGET, _RETENTION), (_FORGET_OF_PEOPLE, _RETENTION_OF_PEOPLE)):
        for span, length in spans.items():
            persist(partial(change, statement, [span, length]))
    return total


def _count(kind: Kind[Any]) -> int:
    handler = "$handler" if kind.handler in _CLOSED else "''"
    took, late = (_HISTOGRAM.format(column=column, edges=_EDGES) for column in ("took", "late"))
    statement = kind.sql(_COUNT.format(handler=handler, took=took, late=late, edges=_EDGES, insert=_INSERT, add=_ADD))
    values = {"chunk": _CHUNK, "margin": _MARGIN, "edges": EDGES, "spans": list(_RETENTION)}
    values["spans_of_people"] = _SPANS_OF_PEOPLE
    rows = persist(partial(query, statement, values))
    return rows[0].counted if rows else 0


PING, API = "ping", "api"
_SUMS = Rows("g", user_id=int, kind=str, tries=int, done=int, dead=int)
_ARRIVED = f"""
{_INSERT}
SELECT u.id, span,
       CASE WHEN span = 0 THEN 'epoch' ELSE to_timestamp(floor(extract(epoch FROM now()) / span) * span) END,
       g.kind, '', g.tries, g.done, g.dead
  FROM {_SUMS.sql} JOIN people_user u ON u.id = g.user_id, unnest(%(spans)s::int[]) AS span
 ORDER BY 1, 2, 3, 4
{_ADD}
"""  # noqa: S608 - constants only


_arrived = Sums[tuple[int, str]](lambda sums: change(_ARRIVED, _SUMS.values(sums) | {"spans": _SPANS_OF_PEOPLE}))


def arrived(user_id: int, kind: str, is_done: bool, is_dead: bool) -> None:
    """Count a ping or a call of the API in the total of its person, some seconds later."""
    _arrived.add((user_id, kind), 1, int(is_done), int(is_dead))
