"""Record notifications with their deliveries. The rows are the outbox; `work.broker.wakes` publishes them."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from common.database.postgres import column, execute, query
from common.uuid7 import uuid7
from notifications import providers
from notifications.deliveries.pull_signal import wake_pullers_after_commit
from notifications.models import Channel, Notification
from notifications.reasons import Code
from people import quiet
from work.broker import wakes
from work.broker.wakes import Wake, publish_after_commit
from work.reasons import Reason

DELIVER = "notifications.deliver"


@dataclass(frozen=True, slots=True)
class NewNotification:
    """A notification to record, with the channels (id, provider) that it goes to. Instants are aware.

    Deliveries that would disturb the person wait for the end of `quiet_hours`. Where `in_order`, only the
    first channel gets a delivery now, and `escalate_after` is in minutes; see `fallback`. `data` is JSON.
    `correlation_id`: that of its chain of causes, None where the batch is the chain; `hops`: the steps since its first.
    """

    user_id: int
    channels: Sequence[tuple[UUID, str]]
    subject: str
    body: str
    origin: Notification.Origin
    batch_id: UUID
    correlation_id: UUID | None = None
    hops: int = 0
    origin_id: UUID | None = None
    slot: datetime | None = None
    available_at: datetime | None = None
    expires_at: datetime | None = None
    urgent: bool = False
    quiet_hours: quiet.Wait | None = None
    in_order: bool = False
    escalate_after: int | None = None
    category: str = ""
    data: str | None = None
    notification_id: UUID = field(default_factory=uuid7)


# Inserts the deliveries of the rows `new`, for `due_of`. Its statement gets `parameters()`.
INSERT_DELIVERIES = f"""
INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, available_at, wake_at, wakes,
                                    is_bulk, expires_at, tries, replays, reason_code, reason_params, because_code,
                                    because_params)
SELECT id, notification_id, channel_id, provider, 'pending',
       CASE WHEN provider = ANY (%(pulled)s::text[]) AND available_at < now() THEN available_at
            ELSE greatest(available_at, now()) END,
       CASE WHEN provider <> ALL (%(pulled)s::text[])
            THEN {wakes.wake_at("extract(epoch FROM greatest(available_at, now()) - now())::float")} END,
       0, %(is_bulk)s, expires_at, 0, 0, reason_code, reason_params::jsonb, because_code, because_params::jsonb
  FROM new
ON CONFLICT (notification_id, channel_id) DO NOTHING
RETURNING id, extract(epoch FROM available_at - now())::float AS wait, notification_id, channel_id,
          wake_at IS NULL AS is_pulled
"""  # noqa: S608 - constants only

_RECORD = (
    """
WITH recorded AS (
    INSERT INTO notifications_notification (id, batch_id, correlation_id, hops, user_id, origin, origin_id, slot,
                                            subject, body, urgent, category, data, channel_order, escalate_after,
                                            advance_at)
    SELECT id, batch_id, correlation_id, hops, user_id, origin, origin_id, slot, subject, body, urgent, category,
           data::jsonb, channel_order::uuid[], escalate_after,
           greatest(first_at, now()) + escalate_after * interval '1 minute'
      FROM unnest(%(ids)s::uuid[], %(batches)s::uuid[], %(correlations)s::uuid[], %(hops)s::int[],
                  %(users)s::bigint[], %(origins)s::text[], %(origin_ids)s::uuid[], %(slots)s::timestamptz[],
                  %(subjects)s::text[], %(bodies)s::text[], %(urgent)s::bool[], %(categories)s::text[],
                  %(data)s::text[], %(orders)s::text[], %(escalations)s::int[], %(first)s::timestamptz[])
           AS n(id, batch_id, correlation_id, hops, user_id, origin, origin_id, slot, subject, body, urgent, category,
                data, channel_order, escalate_after, first_at)
    ON CONFLICT (batch_id, user_id) DO NOTHING
    RETURNING id
), new AS (
    SELECT d.*, '' AS because_code, '{}' AS because_params
      FROM unnest(%(keys)s::uuid[], %(notifications)s::uuid[], %(channels)s::uuid[], %(providers)s::text[],
                  %(available)s::timestamptz[], %(expires)s::timestamptz[], %(codes)s::text[], %(params)s::text[])
           AS d(id, notification_id, channel_id, provider, available_at, expires_at, reason_code, reason_params)
      JOIN recorded ON recorded.id = d.notification_id
)"""  # noqa: S608 - constants only
    + INSERT_DELIVERIES
)


def record(notifications: Iterable[NewNotification]) -> list[Wake]:
    """Write notifications and their deliveries, pending, in one statement, within the caller's transaction.

    Leaves out a notification whose batch and person have one already. Returns what to publish after the commit.
    """
    new = [(notification.notification_id, notification) for notification in notifications]
    if not new:
        return []
    sent = [
        (uuid7(), key, channel_id, provider, *_wait(notification, provider))
        for key, notification in new
        for channel_id, provider in (notification.channels[:1] if notification.in_order else notification.channels)
    ]
    keys = ("keys", "notifications", "channels", "providers", "available", "expires", "codes", "params")
    columns = [column(values) for values in zip(*sent, strict=True)] or ["{}"] * len(keys)
    values = {
        "ids": column(key for key, _ in new),
        "batches": column(one.batch_id for _, one in new),
        "correlations": column(one.correlation_id for _, one in new),
        "hops": column(min(one.hops, 32_767) for _, one in new),
        "users": column(one.user_id for _, one in new),
        "origins": column(str(one.origin) for _, one in new),
        "origin_ids": column(one.origin_id for _, one in new),
        "slots": column(one.slot for _, one in new),
        "subjects": column(one.subject for _, one in new),
        "bodies": column(one.body for _, one in new),
        "urgent": column(one.urgent for _, one in new),
        "categories": column(one.category for _, one in new),
        "data": column(one.data for _, one in new),
        "orders": column(_order(one) for _, one in new),
        "escalations": column(one.escalate_after for _, one in new),
        "first": column(_wait(one, one.channels[0][1])[0] if one.in_order else None for _, one in new),
        **dict(zip(keys, columns, strict=True)),
        **parameters(),
    }
    # One alone, such as that of a job, is planned once a connection: planning takes as long as inserting it.
    rows = execute(_RECORD, values).fetchall() if len(new) == 1 else query(_RECORD, values)
    return due_of(rows, {key: one.user_id for key, one in new})


def again(said: Notification, channels: Sequence[tuple[UUID, str]], **changed: Any) -> NewNotification:
    """The same message as a new batch, to these channels."""
    return NewNotification(
        user_id=said.user_id,
        channels=channels,
        subject=said.subject,
        body=said.body,
        origin=Notification.Origin(said.origin),
        batch_id=uuid7(),
        origin_id=said.origin_id,
        hops=said.hops,
        slot=said.slot,
        category=said.category,
        data=None if said.data is None else json.dumps(said.data),
        **changed,
    )


def parameters(is_bulk: bool = False) -> dict[str, object]:
    return {**wakes.parameters(is_bulk), "pulled": column(providers.pulled()), "unconfigured": providers.unconfigured()}


def due_of(rows: Sequence[Any], people: Mapping[UUID, int]) -> list[Wake]:
    """What to publish for inserted deliveries, and later those that programs pull, which are never published.

    `people` are the ids of the persons by those of the notifications. Programs that wait are woken after the commit.
    """
    wake_pullers_after_commit({row.channel_id for row in rows if row.is_pulled})
    return [Wake(DELIVER, row.id, math.inf if row.is_pulled else row.wait, people[row.notification_id]) for row in rows]


def _order(new: NewNotification) -> str:
    """The literal of the array of the channels in order; empty where all of them get it at once."""
    return column(channel_id for channel_id, _ in new.channels) if new.in_order else "{}"


def _wait(new: NewNotification, provider: str) -> tuple[datetime | None, datetime | None, str, str]:
    """When a delivery becomes available, when it expires, and why it waits."""
    if new.quiet_hours is None or not providers.disturbs(provider):
        return new.available_at, new.expires_at, "", "{}"
    # When it was due, for a change of the quiet hours (see `quiet_changes`).
    due = {} if new.available_at is None else {"due": new.available_at.timestamp()}
    reason = Reason(Code.QUIET_HOURS, until=new.quiet_hours.shown, **due)
    return new.quiet_hours.until, new.expires_at, str(reason.code), reason.json


def notify(user_id: int, channels: Sequence[Channel], subject: str, body: str, origin: Notification.Origin) -> UUID:
    """Record a notification to one person outside of any schedule, and publish it. Returns the batch's id."""
    batch_id = uuid7()
    with transaction.atomic():
        due = record(
            [
                NewNotification(
                    user_id=user_id,
                    channels=[(channel.id, channel.provider) for channel in channels],
                    subject=subject,
                    body=body,
                    origin=origin,
                    batch_id=batch_id,
                )
            ]
        )
        publish_after_commit(due)
    return batch_id
