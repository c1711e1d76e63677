"""Count the tries of each kind of work, once each, some minutes after they began. A task that may die at any line."""

import time
from functools import partial
from typing import Any

from common.database.postgres import change, persist, query
from work.kinds import KINDS, Kind

_CHUNK = 20_000
_LONGEST = 30.0  # seconds
# A try that began so many seconds ago has ended, or its worker is dead: a lease lasts for 90. What programs pull may be
# held for longer, and is not counted.
_MARGIN = 180
# Those that people do not name.
_CLOSED = ("provider", "kind")

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
), totals AS (
    INSERT INTO work_total AS total (kind, handler, outcome, count, seconds)
    SELECT '$name', {handler} AS handler, old.outcome, count(*),
           sum(extract(epoch FROM greatest(old.finished_at - old.started_at, interval '0')))
      FROM old JOIN $work d ON d.id = old.$key WHERE old.finished_at IS NOT NULL
     GROUP BY 2, 3 ORDER BY 2, 3
    ON CONFLICT (kind, handler, outcome) DO UPDATE
       SET count = total.count + excluded.count, seconds = total.seconds + excluded.seconds
)
UPDATE work_countedattempts SET attempt_id = (SELECT max(id) FROM old)
 WHERE kind = '$name' AND EXISTS (SELECT FROM old)
RETURNING (SELECT count(*) FROM old) AS counted
"""
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
    return total


def _count(kind: Kind[Any]) -> int:
    handler = "$handler" if kind.handler in _CLOSED else "''"
    statement = kind.sql(_COUNT.format(handler=handler))
    rows = persist(partial(query, statement, {"chunk": _CHUNK, "margin": _MARGIN}))
    return rows[0].counted if rows else 0
