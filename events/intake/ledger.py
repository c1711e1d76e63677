"""Record events: one row for each id, however often it is sent; and handle one again for its person.

Carillon's own are the changes of states that a rule of their person is for.
"""

import logging
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from common.database import correlation
from common.database.damaged import object_of
from common.database.postgres import execute
from common.database.rows import Json, Rows
from common.uuid7 import uuid7
from events.intake import registered, usage
from events.models import Event
from events.models.rule import is_for
from events.pure import types
from events.pure.envelope import Envelope
from notifications.changes import feed
from notifications.models import Notification
from people.models import User
from work.broker import wakes
from work.broker.wakes import Wake, publish_after_commit
from work.dead_letters import DISCARD, REPLAY, act_on_own
from work.models import DEAD_LETTERS

log = logging.getLogger(__name__)

HANDLE = "events.handle"
RULES_A_COST = 10
COST = f"""(
    SELECT greatest(1, count(*) / {RULES_A_COST})::int FROM events_rule r
     WHERE r.user_id = d.user_id AND r.enabled AND r.deleted_at IS NULL
)"""  # noqa: S608 - a constant only
"""The SQL of what an event `d` costs: each rule may make a message."""
_ROW = 500  # bytes of an event beside its data


class Happened(NamedTuple):
    user_id: int
    envelope: Envelope


_EVENTS = Rows(
    "e",
    Envelope,
    of="envelope.",
    id=(UUID, lambda _: uuid7()),
    user_id=(int, attrgetter("user_id")),
    correlation_id=(UUID, lambda new: correlation.key(new.envelope.chain)),
    correlation=(str, lambda new: correlation.text(new.envelope.chain)),
    data=(Json, attrgetter("envelope.data_text")),
)
# `wake_at` also for those with a delay, as everywhere: see `wakes`.
_RECORD = f"""
{
    _EVENTS.insert(
        "events_event AS d",
        **wakes.new_work("delay"),
        occurred_at="coalesce(occurred_at, now())",
        correlation_id="coalesce(correlation_id, id)",
        hops="least(hops, 32767)",
        available_at="now() + delay * interval '1 second'",
        delay=None,
    )
}
ON CONFLICT (user_id, key) DO NOTHING
RETURNING id, user_id, key, extract(epoch FROM available_at - now())::float AS wait, {COST} AS cost
"""


def record(user_id: int, envelopes: Sequence[Envelope], *, refuses: bool = False) -> set[str]:
    """Record the events that are new to this person, and have them handled after the commit. Returns their keys.

    Raises QuotaReached; with `refuses`, also Unfit for data that its type refuses. Otherwise that becomes
    a dead letter when it is handled.
    """
    if not envelopes:
        return set()
    used = usage.check(user_id, len(envelopes), {one.type for one in envelopes} if refuses else ())
    if refuses:
        registered.check(envelopes, used.registered)
    new = {key for _, key in record_all([Happened(user_id, envelope) for envelope in envelopes])}
    if new:
        stored = sum(_ROW + len(one.data_text.encode()) for one in envelopes if one.key in new)
        usage.count((user_id, len(new), stored))
    return new


def record_all(happened: Sequence[Happened]) -> set[tuple[int, str]]:
    """Like `record`, for valid events of several people, in one statement. Returns (person's id, key)."""
    if not happened:
        return set()
    rows = execute(_RECORD, {**_EVENTS.values(happened), **wakes.parameters()}).fetchall()
    publish_after_commit(Wake(HANDLE, row.id, row.wait, row.user_id, cost=row.cost) for row in rows)
    return {(row.user_id, row.key) for row in rows}


def replay(event: Event, user: User) -> str:
    """Returns the key of the event that is handled: its own where it is a dead letter, else that of a new one.

    The new event has the same data and belongs to the same chain; its person's rules fire for it as for any other.
    """
    if event.state in DEAD_LETTERS and act_on_own(event, REPLAY, user).changed:
        return event.key
    again = Envelope(
        type=event.type,
        data=event.data,
        source=event.source,
        occurred_at=event.occurred_at,
        correlation_id=event.chain,
        topic_id=event.topic_id,
        audience=event.audience,
        audience_key=event.audience_key,
    )
    record(user.pk, [again])
    return again.key


def discard(event: Event, user: User, note: str = "") -> bool:
    """Have a dead event handled no more. False where it is not dead."""
    return bool(act_on_own(event, DISCARD, user, note).changed)


def batch_of(event_id: UUID, topic_id: UUID) -> UUID:
    return uuid5(event_id, str(topic_id))


_WANTED = f"""
    SELECT EXISTS (SELECT FROM events_rule r
                    WHERE r.user_id = c.user_id AND r.created_at <= c.at AND {is_for("r", "c.type")}) AS wanted
"""  # noqa: S608 - constants only


def record_changes() -> int:
    """Record each new change that a rule is for as an event. Returns how many changes were read."""
    return feed.process("events", _WANTED, _record_changes)


def _record_changes(rows: Sequence[Any]) -> None:
    wanted = [(row, object_of(row.data)) for row in rows if row.wanted and types.is_reserved(row.type)]
    valid = [(row, data) for row, data in wanted if _is_valid(row, data)]
    causes = {data["notification_id"] for _, data in valid if "notification_id" in data}
    notifications = Notification.objects.filter(id__in=causes).values_list("id", "hops")
    hops = {str(key): hops for key, hops in notifications}
    record_all([Happened(row.user_id, _envelope(row, data, hops)) for row, data in valid])


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
