"""Read, process and prune the feed of changes, and send it to status webhooks.

A change is read once no transaction that is still running can have an older one: so whoever goes on after the last
change that they have read misses nothing, however late a transaction commits.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction

from common.database import postgres
from common.database.damaged import object_of
from common.times.dates import rfc3339
from notifications.deliveries import outbox
from notifications.messages.change_types import STATUS
from notifications.models import Notification
from notifications.models.change import KEPT_DAYS
from notifications.models.channel import VERIFIED_SQL
from people.models import User
from work.broker.wakes import publish_after_commit

_CHUNK = 10_000
_FIRST_ID = UUID(int=0)


class Position(NamedTuple):
    """Behind this change of this transaction."""

    xact: int
    change_id: UUID


START = Position(0, _FIRST_ID)


class Foreign(Exception):
    """The position is of another database, such as the one of which this is an older backup."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change. `data` holds ids and codes."""

    xact: int
    id: UUID
    type: str
    at: datetime
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """`position` is where the next page begins; `more`: there are changes behind it already."""

    changes: Sequence[Entry]
    position: Position
    more: bool


HORIZON = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
"""The oldest transaction that is still running, as the statement sees it."""

_READ = f"""
SELECT {HORIZON} AS horizon, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS newest, found.*
  FROM (SELECT) one LEFT JOIN LATERAL (
    SELECT c.xact, c.id, c.type, c.at, c.data::text AS data FROM notifications_change c
     WHERE c.user_id = %(user)s AND (c.xact, c.id) > (%(xact)s, %(id)s) AND c.xact < {HORIZON}
       AND (%(types)s::text[] IS NULL OR c.type = ANY(%(types)s::text[])
            OR split_part(c.type, '.', 1) || '.*' = ANY(%(types)s::text[]))
     ORDER BY c.xact, c.id LIMIT %(limit)s
  ) found ON true
 ORDER BY found.xact, found.id
"""  # noqa: S608 - constants only


def read(user_id: int, after: Position, limit: int, types: Sequence[str] | None = None) -> Page:
    """Up to `limit` changes of a person, of `types` (None: all), oldest first. Raises `Foreign`."""
    rows = postgres.query(
        _READ,
        {
            "user": user_id,
            "xact": after.xact,
            "id": after.change_id,
            "types": None if types is None else postgres.column(types),
            "limit": limit + 1,
        },
    )
    horizon, newest = rows[0].horizon, rows[0].newest
    if after.xact > newest:
        raise Foreign
    entries = [Entry(row.xact, row.id, row.type, row.at, object_of(row.data)) for row in rows if row.xact is not None]
    changes = entries[:limit]
    if len(entries) > limit:
        return Page(changes, Position(changes[-1].xact, changes[-1].id), more=True)
    return Page(changes, max(after, Position(horizon, _FIRST_ID)), more=False)


def waiting(reader: str) -> str:
    """The SQL of changes that may be new to a reader of `process`."""
    position = f"SELECT xact, change_id FROM notifications_feedposition WHERE reader = '{reader}'"  # noqa: S608 - a constant
    return (
        f"SELECT FROM notifications_change c WHERE (c.xact, c.id) > ({position})"
        f" UNION ALL SELECT WHERE NOT EXISTS ({position})"
    )


CHUNK = 500  # changes that a task processes in a transaction

_BEGIN = "INSERT INTO notifications_feedposition (reader, xact, change_id) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
# A position in the future is of another database, such as the one that a backup was restored into this one from.
_TAKE = """
SELECT CASE WHEN xact <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint THEN xact ELSE 0 END AS xact, change_id
  FROM notifications_feedposition WHERE reader = %s FOR NO KEY UPDATE SKIP LOCKED
"""
_MOVE = "UPDATE notifications_feedposition SET xact = %s, change_id = %s WHERE reader = %s"
_CHANGES = f"""
WITH page AS MATERIALIZED (
    SELECT c.* FROM notifications_change c
     WHERE (c.xact, c.id) > (%(xact)s, %(id)s) AND c.xact < {HORIZON}
     ORDER BY c.xact, c.id LIMIT %(limit)s
)
SELECT c.xact, c.id, c.user_id, c.type, c.at, c.data::text AS data, joined.*
  FROM page c LEFT JOIN LATERAL ($joined) joined ON true
 ORDER BY c.xact, c.id
"""  # noqa: S608 - constants only


def process(reader: str, joined: str, write: Callable[[Sequence[Any]], object]) -> int:
    """Give `write` all changes that are new to `reader`, in chunks. Returns how many.

    Its position moves in the transaction of `write`, so each change is processed once. `joined` is the SQL of what is
    joined to a change `c`; `write` gets a row for each result, or one with nulls. Does nothing while another process
    does it.
    """
    statement, seen = _CHANGES.replace("$joined", joined), 0
    while True:
        taken = postgres.persist(lambda: _process_chunk(reader, statement, write))
        seen += taken
        if taken < CHUNK:
            return seen


@transaction.atomic
def _process_chunk(reader: str, statement: str, write: Callable[[Sequence[Any]], object]) -> int:
    postgres.change(_BEGIN, [reader, *START])
    if not (position := postgres.query(_TAKE, [reader])):
        return 0
    rows = postgres.query(statement, {"xact": position[0].xact, "id": position[0].change_id, "limit": CHUNK})
    if not rows:
        return 0
    write(rows)
    postgres.change(_MOVE, [rows[-1].xact, rows[-1].id, reader])
    return len({row.id for row in rows})


# By the oldest transactions, which are the first of the index.
_PRUNE = f"""
DELETE FROM notifications_change c
 USING (SELECT xact, id, at FROM notifications_change ORDER BY xact, id LIMIT %s) old
 WHERE c.xact = old.xact AND c.id = old.id AND old.at < now() - interval '{KEPT_DAYS} days'
"""  # noqa: S608 - constants only


def prune() -> int:
    """Delete what is older than `KEPT_DAYS`, in chunks of a transaction each. Returns how many."""
    pruned = 0
    while deleted := postgres.change(_PRUNE, [_CHUNK]):
        pruned += deleted
    return pruned


# Each of its readers who have a status webhook for the change: its person, and staff, whose rights `send` checks.
_READERS = f"""
    SELECT w.user_id AS reader_id, array_agg(w.id ORDER BY w.id) AS channels,
           1 + coalesce((SELECT n.hops FROM notifications_notification n
                          WHERE n.id = (c.data ->> 'notification_id')::uuid), 0) AS hops
      FROM (SELECT * FROM notifications_channel c WHERE c.provider = '{STATUS}' AND {VERIFIED_SQL}) w
      JOIN people_user p ON p.id = w.user_id AND p.is_active
     WHERE w.verified_at <= c.at
       AND (w.user_id = c.user_id OR (w.address @> '{{"everybody": true}}' AND p.is_staff))
       AND (w.address -> 'types' ? c.type OR w.address -> 'types' ? (split_part(c.type, '.', 1) || '.*'))
     GROUP BY w.user_id
"""  # noqa: S608 - constants only


def send_changes() -> int:
    """Record a notification for each new change and reader. Returns how many changes were read."""

    def send(rows: Sequence[Any]) -> None:
        of_others = User.objects.filter(pk__in={row.reader_id for row in rows if row.reader_id != row.user_id})
        seeing = {user.pk for user in of_others if user.sees_everybody}
        allowed = (row for row in rows if row.reader_id == row.user_id or row.reader_id in seeing)
        publish_after_commit(outbox.record(map(_notification, allowed)))

    return process("status", _READERS, send)


def _notification(row: Any) -> outbox.NewNotification:
    """The batch is the change, so that a reader gets one notification of it, on all of their status webhooks."""
    channels: list[UUID] = row.channels
    data = object_of(row.data)
    return outbox.NewNotification(
        user_id=row.reader_id,
        channels=[(channel, STATUS) for channel in channels],
        subject=row.type,
        body="",
        origin=Notification.Origin.STATUS,
        batch_id=row.id,
        correlation_id=str(data["correlation_id"]) if data.get("correlation_id") else None,
        hops=row.hops,
        data=json.dumps({"id": str(row.id), "type": row.type, "time": rfc3339(row.at), "data": data}),
    )
