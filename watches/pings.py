"""Record pings: one statement for all that come at the same moment.

The statement inserts the pings, moves the deadlines of their watches, and deletes the oldest pings. What a ping is to
tell stays in its row until beat records it as an event (see `tell`), so that a ping waits for nothing else.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.conf import settings
from django.db import transaction

from common.database.postgres import change, column, execute
from common.database.rows import Rows
from common.uuid7 import uuid7
from watches import timing
from watches.models import Watch
from work import totals

LARGEST_OUTPUT = 100_000
"""Bytes of a ping's output that are stored."""
MOST_PINGS = 100
"""The newest pings of each watch, which are stored."""

TAKEN, TOO_MANY, LOCKED, BUSY, UNKNOWN = "taken", "too-many", "locked", "busy", "unknown"
_NO_SLOTS = "no-slots"
_MOST_EDITS = 10  # of a watch, while its pings are being recorded


@dataclass(frozen=True, slots=True)
class NewPing:
    """`kind` is one of `Ping.Kind`; `waited`: the seconds since it arrived; `address`: `key/slug`, without a token."""

    token: UUID | None
    kind: str
    exit_code: int | None = None
    rid: str = ""
    output: str = ""
    size: int = 0
    waited: float = 0.0
    address: str = ""
    id: UUID = field(default_factory=uuid7)


_GIVEN = Rows("g", NewPing, without=("address",))
_FIND = """
SELECT k.key || '/' || w.slug AS address, w.token
  FROM unnest(%(addresses)s::text[]) AS address
  JOIN watches_pingkey k ON k.key = split_part(address, '/', 1)
  JOIN watches_watch w ON w.user_id = k.user_id AND w.slug = split_part(address, '/', 2) AND w.deleted_at IS NULL
                      AND w.slug <> ''
"""


def _has(words: str) -> str:
    """Whether one of the words is in the output, in SQL."""
    return f"EXISTS (SELECT FROM unnest(w.{words}) AS word WHERE strpos(g.output, word) > 0)"


_OPEN = """w.deleted_at IS NULL AND EXISTS (SELECT FROM people_user p WHERE p.id = w.user_id AND p.is_active)
       AND NOT EXISTS (SELECT FROM watches_ping p WHERE p.id = g.id)"""
# No ping waits for the lock of another one's watch.
_RECORD = f"""
WITH w AS MATERIALIZED (
    SELECT g.id, g.exit_code, g.rid, g.output, g.size, w.id AS watch_id, w.user_id, w.name, w.state, w.stays_paused,
           w.deadline, w.period, w.grace, w.longest_run, w.is_over, w.lock, w.owes_recovery,
           md5(w.id::text || g.rid) AS run, g.kind AS sent,
           CASE WHEN g.kind <> 'success' OR g.output = '' THEN g.kind
                WHEN {_has("ignore_words")} THEN 'log'
                WHEN {_has("failure_words")} OR w.success_words <> '{{}}' AND NOT {_has("success_words")} THEN 'fail'
                ELSE g.kind END AS kind,
           w.ping_count + 1 AS number, now() - g.waited * interval '1 second' AS at,
           CASE WHEN w.minute = date_trunc('minute', now()) THEN w.minute_count ELSE 0 END AS minute_count,
           CASE WHEN w.period IS NOT NULL THEN now() + (w.period - g.waited) * interval '1 second'
                ELSE (SELECT min(slot) FROM unnest(w.slots) AS slot
                       WHERE slot > now() - g.waited * interval '1 second')
           END AS expected_at
      FROM {_GIVEN.sql} JOIN watches_watch w ON w.token = g.token
     WHERE {_OPEN}
     ORDER BY w.id FOR NO KEY UPDATE OF w SKIP LOCKED
), decided AS MATERIALIZED (
    SELECT w.*, w.kind <> 'log' AND NOT (w.state = 'paused' AND w.stays_paused) AS acts,
           w.kind = 'success' AND w.deadline < w.at AS is_late,
           CASE WHEN w.minute_count >= %(most)s THEN '{TOO_MANY}'
                WHEN w.period IS NULL AND w.expected_at IS NULL AND NOT w.is_over THEN '{_NO_SLOTS}'
                ELSE '{TAKEN}' END AS outcome
      FROM w
), locked AS (
    INSERT INTO locks_lock AS l (id, user_id, name, holder, hashed, fence, acquired_at, expires_at)
    SELECT DISTINCT ON (user_id, lock) gen_random_uuid(), user_id, lock, name, run,
           floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, clock_timestamp(),
           at + coalesce(longest_run, 3600) * interval '1 second'
      FROM decided WHERE outcome = '{TAKEN}' AND kind = 'start' AND lock <> '' ORDER BY user_id, lock
        ON CONFLICT (user_id, name) DO UPDATE
       SET holder = excluded.holder, hashed = excluded.hashed, acquired_at = excluded.acquired_at,
           fence = greatest(l.fence + 1, excluded.fence), expires_at = excluded.expires_at
     WHERE l.expires_at <= clock_timestamp()
        OR l.hashed = excluded.hashed AND l.hashed IN (SELECT run FROM decided WHERE rid <> '')
 RETURNING hashed
), taken AS MATERIALIZED (
    SELECT d.*,
           CASE WHEN NOT acts THEN state WHEN kind = 'success' THEN 'up' WHEN kind = 'fail' THEN 'down'
                WHEN state = 'down' THEN 'down' ELSE 'up' END AS new_state,
           CASE WHEN NOT acts THEN deadline WHEN kind = 'fail' THEN NULL
                WHEN kind = 'success' OR state IN ('new', 'paused') THEN expected_at + grace * interval '1 second'
                ELSE deadline END AS new_deadline,
           acts AND (kind = 'success' OR kind = 'start' AND state IN ('new', 'paused')) AS counts,
           CASE WHEN NOT acts THEN '' WHEN kind = 'fail' AND state <> 'down' THEN 'failed'
                WHEN kind = 'success' AND (state = 'down' OR owes_recovery OR is_late) THEN 'recovered'
                ELSE '' END AS tells
      FROM decided d
     WHERE d.outcome = '{TAKEN}' AND (d.kind <> 'start' OR d.lock = '' OR d.run IN (SELECT hashed FROM locked))
), released AS (
    UPDATE locks_lock l SET expires_at = clock_timestamp() FROM taken t
     WHERE t.sent IN ('success', 'fail') AND l.user_id = t.user_id AND l.hashed = t.run
       AND l.expires_at > clock_timestamp()
), moved AS (
    UPDATE watches_watch w
       SET state = t.new_state, deadline = t.new_deadline, ping_count = t.number,
           last_ping_at = CASE WHEN t.kind = 'log' THEN w.last_ping_at ELSE t.at END,
           counted_from = CASE WHEN t.counts THEN t.at ELSE w.counted_from END,
           owes_recovery = CASE t.tells WHEN 'failed' THEN true WHEN 'recovered' THEN false ELSE w.owes_recovery END,
           state_since = CASE WHEN t.new_state <> t.state THEN t.at ELSE w.state_since END,
           minute = date_trunc('minute', now()), minute_count = t.minute_count + 1
      FROM taken t WHERE w.id = t.watch_id
), ended AS (
    UPDATE watches_ping p SET is_open = false, slow_at = CASE WHEN p.slow_at < t.at THEN p.slow_at END
      FROM taken t
     WHERE p.watch_id = t.watch_id AND p.rid = t.rid AND p.is_open AND t.sent <> 'log'
       AND p.number > t.number - {MOST_PINGS}
 RETURNING p.watch_id, p.at
), pruned AS (
    DELETE FROM watches_ping p USING taken t
     WHERE p.watch_id = t.watch_id AND p.number <= t.number - {MOST_PINGS} AND p.tells = ''
), recorded AS (
    INSERT INTO watches_ping (id, watch_id, number, kind, at, rid, exit_code, output, size, milliseconds, is_open,
                              slow_at, tells, missed_at)
    SELECT t.id, t.watch_id, t.number, t.kind, t.at, t.rid, t.exit_code, t.output, t.size,
           CASE WHEN t.sent IN ('success', 'fail') THEN
               (SELECT extract(epoch FROM t.at - max(e.at)) * 1000 FROM ended e WHERE e.watch_id = t.watch_id) END,
           t.kind = 'start', CASE WHEN t.kind = 'start' THEN t.at + t.longest_run * interval '1 second' END,
           t.tells, CASE WHEN t.is_late THEN t.deadline END
      FROM taken t
)
SELECT d.id, CASE WHEN d.outcome = '{TAKEN}' AND t.id IS NULL THEN '{LOCKED}' ELSE d.outcome END AS outcome,
       t.user_id, t.kind
  FROM decided d LEFT JOIN taken t ON t.id = d.id
 UNION ALL
SELECT g.id, '{TAKEN}', NULL, NULL FROM {_GIVEN.sql} JOIN watches_ping p ON p.id = g.id
 UNION ALL
SELECT g.id, '{BUSY}', NULL, NULL FROM {_GIVEN.sql} JOIN watches_watch w ON w.token = g.token
 WHERE {_OPEN} AND g.id NOT IN (SELECT id FROM decided)
"""  # noqa: S608 - constants only


def record(pings: Sequence[NewPing]) -> list[str]:
    """Record pings, and commit. Returns what became of each: TAKEN, TOO_MANY, LOCKED (of a start), BUSY or UNKNOWN.

    A ping that is stored is not stored again: call it again where the connection was lost, or where another transaction
    locks its watch (BUSY).
    """
    outcomes: dict[UUID, str] = {}
    waiting = _with_tokens(pings)
    while waiting:  # one statement takes one ping of a watch
        first = {ping.token: ping for ping in reversed(waiting)}
        outcomes |= _record(list(first.values()))
        # What refuses one refuses those behind it: a flood of pings to one watch costs one statement.
        results = {token: outcomes.get(ping.id, UNKNOWN) for token, ping in first.items()}
        refused = (ping for ping in waiting if results[ping.token] in (TOO_MANY, BUSY, UNKNOWN))
        outcomes |= {ping.id: results[ping.token] for ping in refused}
        waiting = [ping for ping in waiting if ping.id not in outcomes]
    return [outcomes.get(ping.id, UNKNOWN) for ping in pings]


def _with_tokens(pings: Sequence[NewPing]) -> Sequence[NewPing]:
    """With the tokens of those that have an address; without those that have none."""
    if not (addresses := [ping.address for ping in pings if ping.token is None]):
        return pings
    tokens = dict(execute(_FIND, {"addresses": column(addresses)}).fetchall())
    named = [ping if ping.token else replace(ping, token=tokens.get(ping.address)) for ping in pings]
    return [ping for ping in named if ping.token]


def _record(pings: Sequence[NewPing]) -> dict[UUID, str]:
    outcomes = _record_once(pings)
    # More than once where a watch is edited meanwhile, whose slots are not stored; without outcome where it is deleted.
    for _edit in range(_MOST_EDITS):
        if not (again := [ping for ping in pings if outcomes.get(ping.id) == _NO_SLOTS]):
            break
        compute_slots([ping.token for ping in again if ping.token])
        outcomes |= dict.fromkeys((ping.id for ping in again), UNKNOWN) | _record_once(again)
    return outcomes


def _record_once(pings: Sequence[NewPing]) -> dict[UUID, str]:
    rows = execute(_RECORD, _GIVEN.values(pings) | {"most": settings.PINGS_PER_MINUTE}).fetchall()
    for row in rows:
        if row.user_id is not None:  # recorded now, not before
            totals.arrived(row.user_id, totals.PING, row.kind == "success", row.kind == "fail")
    return {row.id: row.outcome for row in rows}


def release_locks(watch: Watch) -> None:
    change(_RELEASE, {"id": watch.id, "user": watch.user_id})


_RELEASE = """
UPDATE locks_lock SET expires_at = clock_timestamp()
 WHERE user_id = %(user)s AND expires_at > clock_timestamp()
   AND hashed IN (SELECT md5(watch_id::text || rid) FROM watches_ping WHERE watch_id = %(id)s AND is_open)
"""


def compute_slots(tokens: Collection[UUID]) -> None:
    """Store the next slots of watches with a rule whose stored ones have passed."""
    for watch in Watch.objects.filter(token__in=tokens).order_by("id"):
        with transaction.atomic():
            [now] = execute("SELECT clock_timestamp() AS now", {}).fetchone()
            # Pings that came just before the last slot still need it.
            timing.set_slots(watch, now - timing.REACH)
            Watch.objects.filter(id=watch.id, version=watch.version).update(slots=watch.slots, is_over=watch.is_over)
