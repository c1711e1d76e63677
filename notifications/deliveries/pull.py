"""Pull a queue: a program claims its messages in batches, for as long as it asks, and acknowledges or returns each.

`count` costs a few index entries and locks nothing. Who takes something locks the queue's channel, so that no two
programs together hold more than it allows. A lease that is over is recovered by the next pull, or by rescue.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from common.database.postgres import query
from common.database.rows import Rows
from notifications.deliveries import fallback
from notifications.deliveries.kind import DELIVERY, DeliveryClaim
from notifications.deliveries.pull_signal import LONGEST_WAIT, wake_pullers_after_commit
from notifications.models import Channel
from notifications.providers.queue import Settings
from notifications.reasons import DeliveryCode
from work.engine import recovery, runner
from work.engine.claim import claim_pulled, read
from work.engine.decision import Decision
from work.engine.settlement import settlement, write
from work.kinds import Lease
from work.reasons import NO_REASON, Reason

# Leases that one pull recovers at most.
_RECOVERED = 500
_SHORTEST_WAIT = 0.05  # seconds


class QueueState(NamedTuple):
    """A queue at the instant `now`. Instants are aware, None where there is no such message.

    `leased`: messages under a lease, of which the first ends at `lease_ends`. `returned_at`: when the first message
    comes again that was pulled before. `waiting`: messages to pull, counted up to a limit; the oldest is due since
    `oldest`. `next_at`: when the next one becomes due.
    """

    now: datetime
    leased: int
    lease_ends: datetime | None
    returned_at: datetime | None
    waiting: int
    oldest: datetime | None
    next_at: datetime | None


_PENDING = """channel_id = %(channel)s AND provider = 'queue' AND state = 'pending'
            AND (expires_at IS NULL OR expires_at > now())"""
_LEASED = "channel_id = %(channel)s AND provider = 'queue' AND state = 'sending' AND tries > 0"
_DUE = f"{_PENDING} AND available_at <= now()"
_COUNT = f"""
SELECT now() AS now,
       (SELECT count(*) FROM notifications_delivery WHERE {_LEASED}) AS leased,
       (SELECT min(lease_until) FROM notifications_delivery WHERE {_LEASED}) AS lease_ends,
       (SELECT min(available_at) FROM notifications_delivery WHERE {_PENDING} AND tries > 0) AS returned_at,
       (SELECT count(*) FROM (SELECT FROM notifications_delivery WHERE {_DUE} LIMIT %(most)s) due) AS waiting,
       (SELECT available_at FROM notifications_delivery WHERE {_DUE} ORDER BY available_at LIMIT 1) AS oldest,
       (SELECT available_at FROM notifications_delivery WHERE {_PENDING} AND available_at > now()
         ORDER BY available_at LIMIT 1) AS next_at
"""  # noqa: S608 - constants only


def count(channel_id: UUID, most: int) -> QueueState:
    """The queue as it is now; counts at most `most` waiting messages."""
    [state] = query(_COUNT, {"channel": channel_id, "most": most}, QueueState)
    return state


@dataclass(frozen=True, slots=True)
class Pulled:
    """Messages, or how many seconds to wait before it is worth polling again."""

    messages: list[DeliveryClaim]
    wait: float = 0.0


def pull(channel: Channel, batch_size: int, seconds: float, worker: str) -> Pulled:
    """pending -> working for up to `batch_size` messages, oldest first, under leases of so many seconds."""
    settings = Settings.read(channel.address)
    most = min(batch_size, settings.batch_size, settings.concurrency)
    standing = count(channel.id, most)
    if standing.lease_ends is not None and standing.lease_ends <= standing.now:
        recovery.recover(DELIVERY, _RECOVERED)
        standing = count(channel.id, most)
    if not _takes(standing, settings, most):
        return Pulled([], _wait(standing, settings))
    messages = [message for row in _claim(channel.id, batch_size, seconds, worker) if (message := _begin(row))]
    return Pulled(messages, _SHORTEST_WAIT)


def _takes(standing: QueueState, settings: Settings, most: int) -> int:
    """Return the number of messages that may be taken now; none while a batch is still filling."""
    free = settings.concurrency - standing.leased
    if settings.concurrency == 1 and standing.returned_at is not None and standing.returned_at > standing.now:
        free = 0  # the message before comes again first
    batch = min(most, free)
    if standing.oldest is None or batch <= 0:
        return 0
    is_late = standing.oldest + timedelta(seconds=settings.batch_timeout) <= standing.now
    return min(standing.waiting, batch) if is_late or standing.waiting >= batch else 0


def _wait(standing: QueueState, settings: Settings) -> float:
    filled = standing.oldest and standing.oldest + timedelta(seconds=settings.batch_timeout)
    changes = (standing.lease_ends, standing.returned_at, standing.next_at, filled)
    ahead = [(at - standing.now).total_seconds() for at in changes if at is not None and at > standing.now]
    return max(_SHORTEST_WAIT, min([LONGEST_WAIT, *ahead]))


_CHOOSE = f"""
SELECT id FROM notifications_delivery WHERE {_DUE} AND (NOT %(again)s OR tries > 0)
 ORDER BY available_at, id LIMIT %(takes)s FOR NO KEY UPDATE SKIP LOCKED
"""  # noqa: S608 - constants only


@transaction.atomic
def _claim(channel_id: UUID, batch_size: int, seconds: float, worker: str) -> list[object]:
    channel = Channel.objects.select_for_update(no_key=True).filter(id=channel_id, removed_at=None, disabled_at=None)
    if (address := channel.values_list("address", flat=True).first()) is None:
        return []
    settings = Settings.read(address)
    most = min(batch_size, settings.batch_size, settings.concurrency)
    standing = count(channel_id, most)
    again = settings.concurrency == 1 and standing.returned_at is not None
    ids = query(_CHOOSE, {"channel": channel_id, "again": again, "takes": _takes(standing, settings, most)})
    return claim_pulled(DELIVERY, [row.id for row in ids], seconds, worker)


def _begin(row: object) -> DeliveryClaim | None:
    """The message; None for one that nobody may get any more, which is settled."""
    claim = read(DELIVERY, row)
    with suppress(runner.TryAgain):
        if claim is not None and runner.begin(DELIVERY, claim) is not None:
            return claim
    return None


class LeaseResult(StrEnum):
    """The result for a lease. `LATE`: it was over. `SETTLED`: the program has already said otherwise."""

    ACKED = "acked"
    RETURNED = "returned"
    DEAD = "dead"
    LATE = "late"
    SETTLED = "settled"
    NOT_FOUND = "not-found"


_LEASE_ID = re.compile("[0-9a-f]{64}")


def lease_id(lease: Lease) -> str:
    return lease.id.hex + lease.token.hex


_GIVEN = Rows("given", id=UUID, token=UUID)
_LEASES = f"""
SELECT d.id, d.lease_token AS token, d.provider AS handler, d.tries
  FROM {_GIVEN.sql} JOIN notifications_delivery d USING (id)
  JOIN notifications_notification n ON n.id = d.notification_id
 WHERE d.channel_id = %(channel)s AND d.state = 'sending' AND d.lease_token = given.token AND d.lease_until > now()
 ORDER BY n.id FOR NO KEY UPDATE OF n, d
"""  # noqa: S608 - constants only
_CLOSED = f"""
SELECT d.id, a.token, a.outcome,
       d.state = 'dead' AND d.replays = a.replay AND d.tries + d.released = a.number AS is_dead
  FROM {_GIVEN.sql} JOIN notifications_delivery d USING (id)
  JOIN notifications_attempt a ON a.delivery_id = d.id AND a.token = given.token
 WHERE d.channel_id = %(channel)s
"""  # noqa: S608 - constants only


def settle(channel: Channel, requested: Mapping[str, int | None]) -> dict[str, LeaseResult]:
    """working -> done for a lease with None, pending again in so many seconds with a number; dead at the last try.

    The same request again gets the same result, and does nothing.
    """
    named = {(UUID(key[:32]), UUID(key[32:])): key for key in requested if _LEASE_ID.fullmatch(key)}
    values = {"channel": channel.id, **_GIVEN.values(named)}
    most_tries, results = Settings.read(channel.address).tries, dict.fromkeys(requested, LeaseResult.NOT_FOUND)
    with transaction.atomic():
        rows = []
        for lease in query(_LEASES, values, Lease):
            key = named[lease.id, lease.token]
            decision, results[key] = _decide(lease, requested[key], most_tries)
            rows.append(settlement(DELIVERY, lease, decision))
        if rows:
            write(DELIVERY, rows)
            wake_pullers_after_commit({channel.id})  # some wait because others hold all that they may
    if LeaseResult.DEAD in results.values():
        fallback.advance()
    if LeaseResult.NOT_FOUND in results.values():
        for row in query(_CLOSED, values):
            key = named[row.id, row.token]
            if results[key] is LeaseResult.NOT_FOUND:
                results[key] = _repeated(row.outcome, requested[key] is None, row.is_dead)
    return results


def _decide(lease: Lease, delay: int | None, most_tries: int) -> tuple[Decision, LeaseResult]:
    if delay is None:
        return Decision("delivered", "delivered", NO_REASON), LeaseResult.ACKED
    reason = Reason(DeliveryCode.RETURNED)
    if lease.tries >= most_tries:
        return Decision("dead", "retryable", reason), LeaseResult.DEAD
    return Decision("pending", "retryable", reason, wait=float(delay)), LeaseResult.RETURNED


def _repeated(outcome: str, is_ack: bool, is_dead: bool) -> LeaseResult:
    """The result for a lease whose attempt has ended so, or was not closed in time."""
    match outcome, is_ack:
        case ("delivered", True):
            return LeaseResult.ACKED
        case ("retryable", False):
            return LeaseResult.DEAD if is_dead else LeaseResult.RETURNED
        case ("delivered" | "retryable", _):
            return LeaseResult.SETTLED
    return LeaseResult.LATE
