"""Whom a batch is for, as SQL; other apps add their own kinds of audience."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Audience:
    """A kind of audience.

    `people` is a SELECT of `user_id`, `channel_ids` (empty: all that the person can use) and `own_id` (what the
    notification's origin is for this person; NULL: the batch's). It may use `held`, the batch's row; see `batch_kind`.
    `nobody` counts those who belong to it and have no account.
    """

    name: str
    label: str
    people: str
    nobody: str = "SELECT 0"


# ruff: noqa: S608 - constants only

_ACTIVE = """
SELECT u.id AS user_id, '{}'::uuid[] AS channel_ids, NULL::uuid AS own_id
  FROM people_user u
 WHERE u.is_active AND u.date_joined <= (SELECT as_of FROM held)
   AND NOT EXISTS (SELECT FROM jobs_leaver l WHERE l.origin_id = (SELECT origin_id FROM held) AND l.user_id = u.id)"""

AUDIENCES = {
    one.name: one
    for one in (
        Audience("everybody", "Everybody", _ACTIVE),
        Audience(
            "group",
            "A group",
            _ACTIVE
            + """
   AND EXISTS (SELECT FROM people_user_groups g
                WHERE g.user_id = u.id AND g.group_id::text = (SELECT audience_key FROM held))""",
        ),
        Audience(
            "connected",
            "Who has connected a source",
            _ACTIVE
            + """
   AND EXISTS (SELECT FROM jobs_connection c
                WHERE c.user_id = u.id AND c.kind = (SELECT audience_key FROM held) AND c.removed_at IS NULL
                  AND c.disabled_at IS NULL AND c.created_at <= (SELECT as_of FROM held))""",
        ),
    )
}
"""By name."""
