"""How the work of a kind goes, for operators. Each statement reads an index, and at most `MOST` rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from common.postgres import query
from common.uuid7 import first_of
from work.kinds import Kind

MOST = 100_000
_LINES = 20

_PROCESSED = """
SELECT handler, source, count(*) AS count, count(*) FILTER (WHERE state = '$done') AS done FROM (
       SELECT $handler AS handler, $source AS source, d.state, d.settled_at FROM $work d
        WHERE d.id >= %(since)s ORDER BY d.id DESC LIMIT %(most)s
) newest WHERE settled_at IS NOT NULL GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %(lines)s
"""
_DEAD = """
SELECT handler, cause, count(*) AS count, max(settled_at) AS last FROM (
       SELECT $handler AS handler, d.cause, d.settled_at FROM $work d
        WHERE d.state IN ('dead', 'unknown') AND d.settled_at >= %(since)s ORDER BY d.settled_at DESC LIMIT %(most)s
) newest GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %(lines)s
"""
_MINUTES = """
SELECT date_trunc('minute', created_at) AS minute, count(*) AS recorded, count(settled_at) AS ended FROM (
       SELECT d.created_at, d.settled_at FROM $work d WHERE d.id >= %(since)s ORDER BY d.id DESC LIMIT %(most)s
) newest GROUP BY 1 ORDER BY 1 DESC
"""


def processed(kind: Kind[Any]) -> list[Any]:
    """Of what was recorded in the past hour and has ended: `count` and `done` by `handler` and `source`, most first."""
    return _rows(kind, _PROCESSED, first_of(timezone.now() - timedelta(hours=1)))


def died(kind: Kind[Any]) -> list[Any]:
    """Dead letters of the past 24 hours: `count` and the `last` one by `handler` and `cause`, most first."""
    return _rows(kind, _DEAD, timezone.now() - timedelta(hours=24))


def minutes(kind: Kind[Any]) -> list[Any]:
    """How many were `recorded` in each of the past 30 minutes, and have `ended` since, newest first."""
    return _rows(kind, _MINUTES, first_of(timezone.now() - timedelta(minutes=30)))


def _rows(kind: Kind[Any], statement: str, since: object) -> list[Any]:
    return query(kind.sql(statement), {"since": since, "most": MOST, "lines": _LINES})
