"""Carillon's own events: the changes of states that a rule of their person is for."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid5

from common.database.damaged import object_of
from events.intake import ledger
from events.models.rule import is_for
from events.pure import types
from events.pure.envelope import Envelope
from notifications.changes import feed
from notifications.models import Notification

log = logging.getLogger(__name__)

_WANTED = f"""
    SELECT EXISTS (SELECT FROM events_rule r
                    WHERE r.user_id = c.user_id AND r.created_at <= c.at AND {is_for("r", "c.type")}) AS wanted
"""  # noqa: S608 - constants only


def record_changes() -> int:
    """Record each new change that a rule is for as an event. Returns how many changes were read."""
    return feed.process("events", _WANTED, _record)


def _record(rows: Sequence[Any]) -> None:
    wanted = [(row, object_of(row.data)) for row in rows if row.wanted and types.is_reserved(row.type)]
    valid = [(row, data) for row, data in wanted if _is_valid(row, data)]
    causes = {data["notification_id"] for _, data in valid if "notification_id" in data}
    notifications = Notification.objects.filter(id__in=causes).values_list("id", "hops")
    hops = {str(key): hops for key, hops in notifications}
    ledger.record_all([ledger.Happened(row.user_id, _envelope(row, data, hops)) for row, data in valid])


def _is_valid(row: Any, data: Any) -> bool:
    """Whether the data fits the schema of its type; else it does not go out."""
    if problem := types.problem(row.type, data):
        log.error("The change %s does not fit its type %s: %s", row.id, row.type, problem.params)
    return problem is None


def _envelope(row: Any, data: Mapping[str, Any], hops: Mapping[str, int]) -> Envelope:
    """Its id follows from the change, so that a change is one event, however often it is read."""
    return Envelope(
        type=row.type,
        data=dict(data),
        source=types.SOURCE,
        key=str(uuid5(row.id, types.SOURCE)),
        occurred_at=row.at,
        correlation_id=data.get("correlation_id"),
        hops=hops.get(data.get("notification_id", ""), 0),
    )
