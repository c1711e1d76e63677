"""Record notifications with their deliveries. The rows are the outbox; `work.broker.wakes` publishes them."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction

from common.database import correlation
from common.database.postgres import column, execute, query
from common.database.rows import Json, Rows, insert
from common.uuid7 import child, uuid7
from notifications import providers
from notifications.deliveries.pull_signal import wake_pullers_after_commit
from notifications.models import Channel, Notification
from notifications.reasons import DeliveryCode
from people import quiet
from work.broker import wakes
from work.broker.wakes import Wake, publish_after_commit
from work.reasons import Reason

DELIVER = "notifications.deliver"
_FROM_BATCH = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions:
    """How a message is sent, beside its texts and channels.

    Where `in_order`, only the first channel gets a delivery now, and `escalate_after` is in minutes; see `fallback`.
    It is repeated every `nag_every` minutes; see `nag`.
    `hops`: the steps since the first cause of its chain.
    """

    urgent: bool = False
    in_order: bool = False
    escalate_after: int | None = None
    nag_every: int | None = None
    nag_times: int | None = None
    nag_channel_ids: Sequence[UUID] = ()
    category: str = ""
    data: Json | None = None
    hops: int = 0


NOT_IN_ORDER: Mapping[str, Any] = {"in_order": False, "escalate_after": None}


def order_of(source: Any) -> Mapping[str, Any]:
    """Whether and when a reminder, a rule or a notification has its channels tried one after the other."""
    return {"in_order": True, "escalate_after": source.escalate_after} if source.channel_order else NOT_IN_ORDER


def nag_of(source: Any) -> Mapping[str, Any]:
    """Whether and how often a reminder or a notification is repeated until it is acknowledged."""
    return {name: getattr(source, name) for name in ("nag_every", "nag_times", "nag_channel_ids")}


@dataclass(frozen=True, slots=True)
class NewNotification(SendOptions):
    """A notification to record, with the channels (id, provider) that it goes to. Instants are aware.

    Deliveries that would disturb the person wait for the end of `quiet_hours`.
    `correlation_id`: that of its chain of causes, None where the batch is the chain. `id`: by default derived from the
    batch and the person, so that a restored copy of the database makes the same one again. `early`: minutes before its
    slot. `nagged`, `nag_of`: the number of a repeat, and the id of what it repeats.
    """

    user_id: int
    channels: Sequence[tuple[UUID, str]]
    subject: str
    body: str
    origin: Notification.Origin
    batch_id: UUID
    correlation_id: str | None = None
    origin_id: UUID | None = None
    slot: datetime | None = None
    early: int | None = None
    available_at: datetime | None = None
    expires_at: datetime | None = None
    quiet_hours: quiet.Wait | None = None
    nagged: int = 0
    nag_of: UUID | None = None
    id: UUID = _FROM_BATCH

    def __post_init__(self) -> None:
        if self.id == _FROM_BATCH:
            object.__setattr__(self, "id", child(self.batch_id, self.user_id))


def insert_deliveries(*columns: str) -> str:
    """The SQL that inserts the deliveries of the rows `new`, which also have these columns, for `due_of`.

    Its statement gets `parameters()`.
    """
    due = "greatest(available_at, now())"
    new = wakes.new_work(f"extract(epoch FROM {due} - now())::float")
    is_pulled = "provider = ANY (%(pulled)s::text[])"
    given = {name: name for name in ("id", "notification_id", "channel_id", "provider", "expires_at", *columns)}
    available_at = f"CASE WHEN {is_pulled} AND available_at < now() THEN available_at ELSE {due} END"
    wake_at = f"CASE WHEN NOT {is_pulled} THEN {new['wake_at']} END"
    return f"""
{insert("notifications_delivery", "new", given | new | {"available_at": available_at, "wake_at": wake_at})}
ON CONFLICT (notification_id, channel_id) DO NOTHING
RETURNING id, extract(epoch FROM available_at - now())::float AS wait, notification_id, channel_id,
          wake_at IS NULL AS is_pulled
"""


class _NewDelivery(NamedTuple):
    id: UUID
    notification_id: UUID
    channel_id: UUID
    provider: str
    available_at: datetime | None
    expires_at: datetime | None
    reason_code: str
    reason_params: Json


def _wait(new: NewNotification, provider: str) -> tuple[datetime | None, datetime | None, str, str]:
    """When a delivery becomes available, when it expires, and why it waits."""
    if new.quiet_hours is None or not providers.disturbs(provider):
        return new.available_at, new.expires_at, "", "{}"
    # When it was due, for a change of the quiet hours (see `quiet_changes`).
    due = {} if new.available_at is None else {"due": new.available_at.timestamp()}
    reason = Reason(DeliveryCode.QUIET_HOURS, until=new.quiet_hours.stored, **due)
    return new.quiet_hours.until, new.expires_at, str(reason.code), reason.json


def _goes_out(new: NewNotification) -> datetime | None:
    """When the last of its deliveries becomes available; None for now."""
    waits = [_wait(new, provider)[0] for _, provider in new.channels] if new.nag_every else []
    return max((wait for wait in waits if wait is not None), default=None)


_NOTIFICATIONS = Rows(
    "n",
    NewNotification,
    without=("channels", "available_at", "expires_at", "quiet_hours", "in_order"),
    channel_order=(str, lambda new: column(key for key, _ in (new.channels if new.in_order else ()))),
    **correlation.COLUMNS,
    advance_at=(datetime, lambda new: _wait(new, new.channels[0][1])[0] if new.in_order else None),
    nag_channel_ids=(str, lambda new: column(new.nag_channel_ids)),
    nag_at=(datetime, _goes_out),
)
_DELIVERIES = Rows("d", _NewDelivery)
_RECORD = f"""
WITH recorded AS (
    {
    _NOTIFICATIONS.insert(
        "notifications_notification",
        channel_order="channel_order::uuid[]",
        advance_at="greatest(advance_at, now()) + escalate_after * interval '1 minute'",
        nag_channel_ids="nag_channel_ids::uuid[]",
        nag_at="greatest(nag_at, now()) + nag_every * interval '1 minute'",
    )
}
    ON CONFLICT (batch_id, user_id) DO NOTHING
    RETURNING id
), new AS (
    SELECT d.* FROM {_DELIVERIES.sql} JOIN recorded ON recorded.id = d.notification_id
){insert_deliveries("reason_code", "reason_params")}"""  # noqa: S608 - constants only


def record(notifications: Iterable[NewNotification]) -> list[Wake]:
    """Write notifications and their deliveries, pending, in one statement, within the caller's transaction.

    Leaves out a notification whose batch and person have one already. Returns what to publish after the commit.
    """
    new = list(notifications)
    if not new:
        return []
    deliveries = (
        _NewDelivery(child(one.id, channel_id), one.id, channel_id, provider, *_wait(one, provider))
        for one in new
        for channel_id, provider in (one.channels[:1] if one.in_order else one.channels)
    )
    values = {**_NOTIFICATIONS.values(new), **_DELIVERIES.values(deliveries), **parameters()}
    # One alone, such as that of a job, is planned once a connection: planning takes as long as inserting it.
    rows = execute(_RECORD, values).fetchall() if len(new) == 1 else query(_RECORD, values)
    return due_of(rows, {one.id: one.user_id for one in new})


_SAME = ("user_id", "subject", "body", "origin_id", "hops", "slot", "early", "category")


def again(before: Notification, channels: Sequence[tuple[UUID, str]], **changed: Any) -> NewNotification:
    """The same message as a new batch of the same chain, to these channels, but for what is `changed`."""
    same = {name: getattr(before, name) for name in _SAME} | {
        "origin": Notification.Origin(before.origin),
        "batch_id": uuid7(),
        "correlation_id": before.chain,
        "data": None if before.data is None else json.dumps(before.data),
    }
    return NewNotification(channels=channels, **same | changed)


def parameters(is_bulk: bool = False) -> dict[str, object]:
    return {**wakes.parameters(is_bulk), "pulled": column(providers.pulled()), "unconfigured": providers.unconfigured()}


def due_of(rows: Sequence[Any], people: Mapping[UUID, int]) -> list[Wake]:
    """The wakes of inserted deliveries, and later those that programs pull, which are never published.

    `people` are the ids of the persons by those of the notifications. Programs that wait are woken after the commit.
    """
    wake_pullers_after_commit({row.channel_id for row in rows if row.is_pulled})
    return [Wake(DELIVER, row.id, math.inf if row.is_pulled else row.wait, people[row.notification_id]) for row in rows]


def notify(user_id: int, channels: Sequence[Channel], subject: str, body: str, origin: Notification.Origin) -> UUID:
    """Record a notification to one person outside of any schedule, and publish it. Returns the batch's id."""
    chosen = [(channel.id, channel.provider) for channel in channels]
    new = NewNotification(user_id=user_id, channels=chosen, subject=subject, body=body, origin=origin, batch_id=uuid7())
    with transaction.atomic():
        publish_after_commit(record([new]))
    return new.batch_id
