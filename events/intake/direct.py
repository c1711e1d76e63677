"""Messages that a program sends straight to a queue: no rule applies, and nobody is disturbed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID, uuid5

from django.db import transaction
from django.utils import timezone

from common.uuid7 import child, uuid7
from events.intake import usage
from events.pure.envelope import Envelope, as_sent
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification
from notifications.models import Channel, Delivery, Notification
from work.broker.wakes import publish_after_commit

_ROW = 600  # bytes of a message and its delivery beside the data
_CONTENT = ("type", "source", "data")


class Sent(NamedTuple):
    """The delivery of one message, and whether its id is new to the queue. `is_other`: the id names other content."""

    id: UUID
    is_new: bool
    is_other: bool = False


@transaction.atomic
def send(queue: Channel, envelopes: Sequence[Envelope]) -> list[Sent]:
    """Record messages for programs to pull, in order; one whose id the queue has had before is not sent again.

    Raises QuotaReached where the person's bytes of the day are used up.
    """
    usage.check(queue.user_id, 0)
    new = {child(one.id, queue.id): one for one in map(partial(_notification, queue), envelopes)}
    due = outbox.record(list(new.values()))
    publish_after_commit(due)
    fresh = {wake.id for wake in due}
    known = [one.batch_id for key, one in new.items() if key not in fresh]
    before = Delivery.objects.filter(
        channel=queue, notification__user=queue.user_id, notification__batch_id__in=known
    ).select_related("notification")
    stored = {one.notification.batch_id: one for one in before}
    usage.count((queue.user_id, 0, sum(_ROW + len(new[key].data or "") for key in fresh)))
    return [
        Sent(key, True) if key in fresh else _repeated(stored[one.batch_id], envelope)
        for envelope, (key, one) in zip(envelopes, new.items(), strict=True)
    ]


def _notification(queue: Channel, envelope: Envelope) -> NewNotification:
    """Its batch follows from the queue and the message's id, so that the same message is there once."""
    now, batch_id = timezone.now(), uuid5(queue.id, envelope.key)
    chain = envelope.chain or str(batch_id)
    whole = replace(envelope, correlation_id=chain, occurred_at=envelope.occurred_at or now)
    return NewNotification(
        user_id=queue.user_id,
        channels=[(queue.id, queue.provider)],
        subject=envelope.type,
        body="",
        origin=Notification.Origin.API,
        origin_id=queue.id,
        batch_id=batch_id,
        correlation_id=chain,
        hops=envelope.hops,
        data=json.dumps(as_sent(whole), ensure_ascii=False),
        available_at=now + timedelta(seconds=envelope.delay) if envelope.delay else None,
        id=uuid7(),
    )


def _repeated(before: Delivery, envelope: Envelope) -> Sent:
    data = before.notification.data or {}
    return Sent(before.id, False, any(data.get(name) != getattr(envelope, name) for name in _CONTENT))
