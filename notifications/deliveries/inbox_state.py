"""How the inboxes of people are: their unread messages, and marks that change with what their pages show."""

import json
from collections.abc import Collection
from typing import Any

from common.database.postgres import column, query
from people.models import User

MOST_UNREAD = 1_000
"""Further unread messages are not counted."""

_RECENT = 10  # so many of the newest notifications change `mark` when they end or are answered

# Each inbox alone: the index has its unread messages.
_INBOX = """
    FROM notifications_channel inbox, LATERAL (
        SELECT settled_at FROM notifications_delivery
         WHERE channel_id = inbox.id AND provider = 'inbox' AND state = 'delivered' AND $which IS NULL
         ORDER BY settled_at DESC, id DESC LIMIT $most) message
   WHERE inbox.user_id = person.id AND inbox.provider = 'inbox'"""
_UNREAD = f"(SELECT count(*) FROM (SELECT {_INBOX} LIMIT $most) unread)"  # noqa: S608 - constants only
_UNREAD = _UNREAD.replace("$which", "read_at").replace("$most", "%(most)s")
_NEWEST = f"(SELECT max(settled_at) {_INBOX})"
_NEWEST = _NEWEST.replace("$which", "archived_at").replace("$most", "1")
# As `boards.mark` says it of one.
_BOARDS = """(
    SELECT jsonb_object_agg(board.id, shown.mark)
      FROM notifications_channel board, LATERAL (
        SELECT coalesce(max(message.id), 0) || '-' || count(n.acknowledged_at) AS mark
          FROM notifications_boardmessage message LEFT JOIN notifications_notification n ON n.id = notification_id
         WHERE board_id = board.id) shown
     WHERE board.user_id = person.id AND board.provider = 'board' AND board.removed_at IS NULL)"""
_STATES = f"""
SELECT person.id, {_UNREAD} AS unread, {_BOARDS} AS boards, {_NEWEST} AS newest, recent.*,
       extract(epoch FROM statement_timestamp())::float AS at
  FROM unnest(%(users)s::bigint[]) person (id), LATERAL (
    WITH recent AS (
        SELECT id, outcome, acknowledged_at FROM notifications_notification
         WHERE user_id = person.id ORDER BY id DESC LIMIT %(recent)s
    )
    SELECT (SELECT sha256(convert_to(string_agg(recent::text, ',' ORDER BY id), 'UTF8')) FROM recent) AS mark,
           (SELECT extract(epoch FROM now() - max(greatest(acknowledged_at, created_at, settled_at)))::float
              FROM recent JOIN notifications_delivery d ON d.notification_id = recent.id) AS changed
  ) recent
"""  # noqa: S608 - constants only


def states(users: Collection[int]) -> dict[int, dict[str, Any]]:
    """For each of these people: the number of unread messages, when the newest arrived, and a mark of what pages show.

    `changed`: how many seconds ago the mark changed, so that a page knows whether it was read before; `at`: when this
    was read, so that a page can tell the newer of two. `boards`: a mark of what stands on each, by its id.
    """
    rows = query(_STATES, {"users": column(users, int), "most": MOST_UNREAD, "recent": _RECENT})
    return {
        row.id: {
            "unread": row.unread,
            "newest": row.newest.isoformat() if row.newest else "",
            "mark": (row.mark or b"").hex(),
            "changed": row.changed,
            "at": row.at,
            "boards": json.loads(row.boards or "{}"),
        }
        for row in rows
    }


def unread_of(user: User) -> str:
    """The number of a person's unread messages as live.js says it of an open page; "" for none."""
    statement = f"SELECT {_UNREAD} AS unread FROM (SELECT %(user)s::bigint AS id) person"  # noqa: S608 - constants only
    [row] = query(statement, {"user": user.pk, "most": MOST_UNREAD})
    return f"{MOST_UNREAD - 1}+" if row.unread == MOST_UNREAD else str(row.unread or "")
