"""The health of a kind of work, for operators. Each statement reads an index, and at most `MOST` rows."""

import time
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, groupby
from typing import Any

from django.utils import timezone

from common.database.postgres import query
from common.uuid7 import first_of
from work.kinds import Kind, of_all
from work.models import Rollup
from work.totals import EDGES, MINUTE

MOST = 100_000
_LINES = 20
# What is due and still waits after so many seconds is late.
LATE = 60
HOURS = 24

# Tries whose end is in the rollups of the minutes since then, and those that are not counted yet: all have an id from
# `first` on, so the newest ones are read by the primary key.
_ENDED = """
SELECT a.$key, a.outcome, a.finished_at FROM (
       SELECT * FROM $attempt WHERE id >= {first} ORDER BY id DESC LIMIT %(most)s
) a WHERE a.finished_at >= %(since)s AND a.outcome <> 'released'
"""
_UNCOUNTED = "coalesce((SELECT attempt_id + 1 FROM work_countedattempts WHERE kind = '$name'), 0)"
_ENDED_SINCE = _ENDED.format(
    first=f"""coalesce((
           SELECT min(first_attempt) FROM work_rollup
            WHERE span = {MINUTE} AND start >= date_trunc('minute', %(since)s) AND kind = '$name'), {_UNCOUNTED})"""  # noqa: S608 - constants only
)
_PROCESSED = f"""
SELECT $handler AS handler, $source AS source, count(*) AS count, count(*) FILTER (WHERE a.outcome = '$done') AS done
  FROM ({_ENDED_SINCE}) a JOIN $work d ON d.id = a.$key GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %(lines)s
"""  # noqa: S608 - constants only
_DEAD = """
SELECT queue, handler, cause, count(*) AS count, max(settled_at) AS last FROM (
       SELECT coalesce($queue_of, '$queue') AS queue, $handler AS handler, d.cause, d.settled_at FROM $work d
        WHERE d.state IN ('dead', 'unknown') AND d.settled_at >= %(since)s ORDER BY d.settled_at DESC LIMIT %(most)s
) newest GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT %(lines)s
"""
_MINUTES = f"""
SELECT minute, sum(recorded)::bigint AS recorded, sum(tries)::bigint AS tries, sum(done)::bigint AS done FROM (
       SELECT date_trunc('minute', created_at) AS minute, count(*) AS recorded, 0 AS tries, 0 AS done FROM (
              SELECT d.created_at FROM $work d WHERE d.id >= %(first)s ORDER BY d.id DESC LIMIT %(most)s
       ) newest GROUP BY 1
        UNION ALL
       SELECT start, 0, tries, done FROM work_rollup WHERE span = {MINUTE} AND start >= %(since)s AND kind = '$name'
        UNION ALL
       SELECT date_trunc('minute', finished_at), 0, count(*), count(*) FILTER (WHERE outcome = '$done')
         FROM ({_ENDED.format(first=_UNCOUNTED)}) a GROUP BY 1
) counts WHERE minute >= %(since)s GROUP BY 1 ORDER BY 1 DESC
"""  # noqa: S608 - constants only
_HOURS = """
WITH newest AS MATERIALIZED (
       SELECT d.state, d.settled_at FROM $work d WHERE d.id >= %(first)s ORDER BY d.id DESC LIMIT %(most)s
), ended AS (
       SELECT settled_at, true AS is_done FROM newest WHERE state = '$done'
        UNION ALL
      (SELECT d.settled_at, false FROM $work d
        WHERE d.state IN ('dead', 'unknown') AND d.settled_at >= %(since)s ORDER BY d.settled_at DESC LIMIT %(most)s)
)
SELECT ago, count(*) FILTER (WHERE is_done) AS done, count(*) FILTER (WHERE NOT is_done) AS failed,
       (SELECT count(*) FROM newest) AS counted
  FROM ended, LATERAL (SELECT greatest(floor(extract(epoch FROM now() - settled_at) / 3600), 0)::int AS ago) AS buckets
 WHERE ago < %(hours)s GROUP BY ago
"""
_WAITING = """
SELECT '$name' AS kind, count(*) AS count,
       count(*) FILTER (WHERE available_at < now() - %(late)s * interval '1 second') AS late,
       greatest(0, extract(epoch FROM now() - min(available_at)))::float8 AS oldest FROM (
       SELECT d.available_at FROM $work d WHERE d.state = 'pending' AND d.wake_at IS NOT NULL LIMIT %(most)s
) AS waiting
"""
# What took one try, from when it was due to its end; the past hour, and the same hour a day before.
_SPEED = """
SELECT '$name' AS kind, ago, count(*) AS count,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS median,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) AS most FROM (
      (SELECT 0 AS ago, extract(epoch FROM d.settled_at - d.available_at)::float8 AS seconds FROM $work d
        WHERE d.id >= %(hour)s AND d.state = '$done' AND d.tries = 1 ORDER BY d.id DESC LIMIT %(most)s)
        UNION ALL
      (SELECT 1, extract(epoch FROM d.settled_at - d.available_at)::float8 FROM $work d
        WHERE d.id >= %(before)s AND d.id < %(day)s AND d.state = '$done' AND d.tries = 1
        ORDER BY d.id DESC LIMIT %(most)s)
) AS took GROUP BY ago
"""
_GROWTH = """
SELECT '$name' AS kind, (SELECT count(*) FROM (
           SELECT FROM $work d WHERE d.id >= %(day)s ORDER BY d.id DESC LIMIT %(most)s) AS newest) AS count,
       pg_total_relation_size('$work') + pg_total_relation_size('$attempt') AS bytes,
       (SELECT greatest(reltuples, 0)::float8 FROM pg_class WHERE oid = '$work'::regclass) AS rows
"""
_PEOPLE = """
SELECT '$name' AS kind, person, count(*) AS count FROM (
       SELECT $person AS person FROM $work d WHERE d.id >= %(day)s ORDER BY d.id DESC LIMIT %(most)s
) newest WHERE person IS NOT NULL GROUP BY person ORDER BY 3 DESC, person LIMIT %(lines)s
"""
_DEAD_NOW = """
SELECT '$name' AS kind, count(*) AS count FROM (
       SELECT FROM $work d WHERE d.state IN ('dead', 'unknown') LIMIT %(most)s) AS dead
"""
_CAUSES = """
SELECT '$name' AS kind, causes.*, newest.reason_code, newest.reason_params FROM (
       SELECT cause, count(*) AS count, max(settled_at) AS last FROM (
              SELECT d.cause, d.settled_at FROM $work d
               WHERE d.state IN ('dead', 'unknown') ORDER BY d.settled_at DESC LIMIT %(most)s
       ) newest GROUP BY cause ORDER BY 2 DESC, cause LIMIT %(lines)s
) AS causes, LATERAL (
       SELECT d.reason_code, d.reason_params FROM $work d
        WHERE d.cause = causes.cause AND d.state IN ('dead', 'unknown') ORDER BY d.settled_at DESC LIMIT 1
) newest
"""


def hours(kind: Kind[Any]) -> list[Any]:
    """Return the counts of `done` and `failed` in each of the past 24 hours that had some; `ago` 0 is the last one.

    Those done are counted among the newest `MOST` that were recorded meanwhile; `counted` is how many were.
    """
    since = timezone.now() - timedelta(hours=HOURS)
    return query(kind.sql(_HOURS), {"first": first_of(since), "since": since, "hours": HOURS, "most": MOST})


def waiting() -> list[Any]:
    """For each kind, how many wait for a worker, how many of them are `late`, and the `oldest`'s seconds since due."""
    return query(of_all(_WAITING), {"late": LATE, "most": MOST})


def speed() -> dict[tuple[str, int], Any]:
    """By kind, and 0 for the past hour or 1 for the same hour yesterday: seconds from due to done, `median` and 95 %.

    Of what was recorded in that hour and needed one try.
    """
    now = timezone.now()
    hour, day = now - timedelta(hours=1), now - timedelta(days=1)
    since = {"hour": first_of(hour), "day": first_of(day), "before": first_of(day - timedelta(hours=1))}
    return {(row.kind, row.ago): row for row in query(of_all(_SPEED), since | {"most": MOST})}


def growth() -> dict[str, Any]:
    """By kind: the `count` of the past 24 hours, and the `bytes` of all `rows` (an estimate) with their tries."""
    rows = query(of_all(_GROWTH), {"day": first_of(timezone.now() - timedelta(days=1)), "most": MOST})
    return {row.kind: row for row in rows}


def people(lines: int) -> list[Any]:
    """The people for whom most was recorded in the past 24 hours, by kind: `person` is their key."""
    day = first_of(timezone.now() - timedelta(days=1))
    rows = query(of_all(_PEOPLE), {"day": day, "most": MOST, "lines": lines})
    return sorted(rows, key=lambda row: (-row.count, row.kind, row.person))[:lines]


def dead() -> list[Any]:
    """For each kind, how many dead letters wait for a decision; at most `MOST`."""
    return query(of_all(_DEAD_NOW), {"most": MOST})


def causes(lines: int) -> list[Any]:
    """The causes of the dead letters that wait, of all kinds: `count`, the `last` one and its reason; most first."""
    rows = query(of_all(_CAUSES), {"lines": lines, "most": MOST})
    return sorted(rows, key=lambda row: (-row.count, row.kind, row.cause))[:lines]


def processed(kind: Kind[Any]) -> list[Any]:
    """Of the tries that ended in the past hour: `count` and `done` by `handler` and `source`, most first."""
    return _rows(kind, _PROCESSED, timezone.now() - timedelta(hours=1))


def died(kind: Kind[Any]) -> list[Any]:
    """Dead letters of the past 24 hours: `count` and the `last` one by `queue`, `handler` and `cause`, most first."""
    return _rows(kind, _DEAD, timezone.now() - timedelta(hours=24))


def minutes(kind: Kind[Any]) -> list[Any]:
    """By each of the past 30 minutes: what was `recorded` in it, the `tries` that ended in it, and those `done`."""
    return _rows(kind, _MINUTES, timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=29))


def _rows(kind: Kind[Any], statement: str, since: datetime) -> list[Any]:
    return query(kind.sql(statement), {"since": since, "first": first_of(since), "most": MOST, "lines": _LINES})


@dataclass(frozen=True, slots=True)
class Past:
    """Tries of one handler of a kind, and their share that failed.

    `took` is how long they took, and `late` how long after they were due they began: half and 99 % of them within so
    many seconds, as far as a bucket of a histogram tells; None where there are none.
    """

    kind: str
    handler: str
    tries: int
    failed: float
    took: tuple[float, float] | None
    late: tuple[float, float] | None


def past(span: int, count: int) -> list[Past]:
    """Read the rollups of the present hour or day (`span`, of `work.totals`) and `count` before it, most first."""
    since = datetime.fromtimestamp((time.time() // span - count) * span, UTC)
    rows, result = Rollup.objects.filter(span=span, start__gte=since).order_by("kind", "handler"), []
    for (kind, handler), some in groupby(rows, key=lambda row: (row.kind, row.handler)):
        of = list(some)
        tries = sum(row.tries for row in of)
        failed = 1 - sum(row.done for row in of) / tries
        took, late = (_percentiles([getattr(row, name) for row in of]) for name in ("took", "late"))
        result.append(Past(kind, handler, tries, failed, took, late))
    return sorted(result, key=lambda row: -row.tries)


def _percentiles(histograms: list[list[int]]) -> tuple[float, float] | None:
    """The upper ends of the buckets with the median and with the 99th percentile."""
    upto = list(accumulate(map(sum, zip(*histograms, strict=True))))
    if not upto[-1]:
        return None
    half, most = (EDGES[min(bisect_left(upto, part * upto[-1]), len(EDGES) - 1)] for part in (0.5, 0.99))
    return half, most
