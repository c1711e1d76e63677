"""Queues: programs pull messages, and acknowledge or return them."""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal
from uuid import UUID

from django.db import transaction
from django.http import Http404, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer
from api.protocol.fields import Body, Instant, written
from api.protocol.problems import FieldError, conflict, invalid
from api.resources.event_bodies import MessagesBody
from api.resources.events import id_reused
from common.database.postgres import column, columns, execute, instance
from events.intake import direct
from notifications import providers
from notifications.deliveries import pull, pull_signal
from notifications.deliveries.kind import DeliveryClaim
from notifications.deliveries.pull import LeaseResult
from notifications.models import Channel
from notifications.providers.queue import Settings
from notifications.providers.webhook import as_cloud_event, document

router = Router(tags=["queues"], auth=Bearer("queues"))

LARGEST_BATCH = 100
MOST_LEASES = 500
_LONGEST_LEASE = 12 * 3_600_000  # milliseconds


class Pull(Body):
    batch_size: int = Field(10, ge=1, le=LARGEST_BATCH, description="At most; the queue's own largest batch holds too.")
    visibility_timeout_ms: int = Field(
        30_000, ge=1_000, le=_LONGEST_LEASE, description="How long nobody else gets them. Then they come again."
    )
    wait_ms: int = Field(0, ge=0, le=20_000, description="How long to wait while there is nothing to pull.")


class Message(BaseModel):
    id: UUID = Field(description="The delivery's, the same at each attempt.")
    body: dict[str, Any] = Field(description="What a webhook would get: `WebhookPost`, or `CloudEventPost`.")
    recorded_at: Instant
    attempts: int = Field(description="How often it was handed out, counting from the last replay.")
    lease_id: str = Field(description="Names this lease of it to `ack`.")
    correlation_id: str
    hops: int = Field(description="How many steps it is behind the first cause of its chain.")


class Messages(BaseModel):
    items: list[Message] = Field(description="The oldest first; empty where there is none.")


class Ack(Body):
    lease_id: str = Field(max_length=200, description="As the message came with it.")


class Retry(Ack):
    delay_seconds: int = Field(0, ge=0, le=86_400, description="Seconds after which it comes again.")


class Settle(Body):
    acks: list[Ack] = Field([], max_length=MOST_LEASES, description="What is done.")
    retries: list[Retry] = Field([], max_length=MOST_LEASES, description="What comes again.")


class Settled(BaseModel):
    lease_id: str = Field(description="As it was sent.")
    result: Literal["acked", "returned", "dead", "late", "settled", "not-found"] = Field(
        description="`dead`: its tries are used up. `late`: the lease was over, and nothing was done."
    )
    detail: str = Field(description="Why nothing was done, and what to do; else empty.")


class SettledAll(BaseModel):
    items: list[Settled] = Field(description="One for each lease, in the order of the request.")


_DETAILS = {
    LeaseResult.LATE: (
        "This lease was over, so the message is handed out again. Acknowledge it sooner, or pull with a longer "
        "visibility_timeout_ms."
    ),
    LeaseResult.SETTLED: "This lease was acknowledged or returned already, and stays so.",
    LeaseResult.NOT_FOUND: "This queue has given no such lease. Send the lease_id that came with the message.",
}


class SentMessage(BaseModel):
    """A message that was sent."""

    id: UUID = Field(description="The delivery's, as who pulls it gets it.")
    new: bool = Field(description="Whether the queue has not had it before under its id.")


class SentMessages(BaseModel):
    items: list[SentMessage] = Field(description="In the order of the request.")


@router.post("/{uuid:queue_id}/messages", response={202: SentMessages}, summary="Send messages to a queue")
def publish_messages(request: ApiRequest, queue_id: UUID, body: MessagesBody) -> HttpResponse:
    """Straight to your programs: no rule applies, and no limit of what disturbs people counts it. Each message has the
    envelope of an event, as `body.data.data` of what is pulled. Send again if no answer comes: a message with an `id`
    is taken once, and another one with the same `id` is refused (409), with all of the list.
    """
    channel = _enabled(request, queue_id)
    request.messages = len(body.all)
    with transaction.atomic():
        sent = direct.send(channel, [one.envelope() for one in body.all])
        if wrong := [id_reused(body.place(number)) for number, one in enumerate(sent) if one.is_other]:
            raise conflict("An id names a message of other content. Nothing was sent.", errors=wrong)
    return answer({"items": [{"id": str(one.id), "new": one.is_new} for one in sent]}, 202)


@router.post("/{uuid:queue_id}/pull", response=Messages, summary="Pull messages")
def pull_messages(request: ApiRequest, queue_id: UUID, body: Pull) -> HttpResponse:
    """The oldest first. Acknowledge or return each within `visibility_timeout_ms`, or it comes again.

    With `wait_ms` the answer comes as soon as there is a message. `Idempotency-Key` is ignored.
    """
    channel = _enabled(request, queue_id)
    seen = pull_signal.last(queue_id) if body.wait_ms else ""
    result = pull.pull(channel, body.batch_size, body.visibility_timeout_ms / 1000, f"token {request.auth.prefix}")
    as_cloud_events = Settings.read(channel.address).cloudevents
    request.messages = len(result.messages)
    response = answer({"items": [_message(claim, as_cloud_events) for claim in result.messages]})
    if not result.messages and (left := _left(request, body.wait_ms)) > 0:
        response.wait = partial(pull_signal.wait, queue_id, seen, min(left, result.wait))  # type: ignore[attr-defined]
    return response


@router.post("/{uuid:queue_id}/ack", response=SettledAll, summary="Acknowledge or return messages")
def settle_messages(request: ApiRequest, queue_id: UUID, body: Settle) -> HttpResponse:
    """`acks` are done. `retries` come again after `delay_seconds`, and are dead letters after the queue's last try.

    Sending it twice changes nothing and gets the same results. `Idempotency-Key` is ignored.
    """
    channel = _own(request, queue_id)
    requested: dict[str, int | None] = {one.lease_id: None for one in body.acks}
    requested |= {one.lease_id: one.delay_seconds for one in body.retries}
    if len(requested) < len(body.acks) + len(body.retries):
        raise invalid(*_named_twice(body.acks, body.retries))
    request.messages = len(requested)
    results = pull.settle(channel, requested)
    items = [{"lease_id": key, "result": one, "detail": _DETAILS.get(one, "")} for key, one in results.items()]
    return answer({"items": items})


# Every call pays for it: its plan is kept, and Django does not write its text again.
_OWN = f"""
SELECT {columns(Channel, "c")} FROM notifications_channel c
 WHERE c.id = %(id)s AND c.user_id = %(user)s AND c.removed_at IS NULL AND c.provider = ANY(%(pulled)s::text[])
"""  # noqa: S608 - names of columns


def _own(request: ApiRequest, queue_id: UUID) -> Channel:
    values = {"id": queue_id, "user": request.auth.user.pk, "pulled": column(providers.pulled(), str)}
    if (row := execute(_OWN, values).fetchone()) is None:
        raise Http404
    return instance(Channel, row)


def _enabled(request: ApiRequest, queue_id: UUID) -> Channel:
    channel = _own(request, queue_id)
    if channel.disabled_at is not None:
        raise conflict(f"This queue is disabled. {channel.disabled_reason} Enable its channel first.")
    return channel


def _left(request: ApiRequest, wait_ms: int) -> float:
    """The seconds that the call may still wait; it comes here again after each wait."""
    until: float | None = getattr(request, "waits_until", None)
    if until is None:
        until = request.waits_until = time.monotonic() + wait_ms / 1000  # type: ignore[attr-defined]
    return until - time.monotonic()


def _message(claim: DeliveryClaim, as_cloud_events: bool) -> dict[str, Any]:
    body = document(claim.message, datetime.now(UTC))
    return {
        "id": str(claim.id),
        "body": as_cloud_event(body, str(claim.message.key)) if as_cloud_events else body,
        "recorded_at": written(datetime.fromtimestamp((claim.id.int >> 80) / 1000, UTC)),
        "attempts": claim.tries,
        "lease_id": pull.lease_id(claim),
        "correlation_id": str(claim.message.correlation_id or claim.message.key),
        "hops": claim.message.hops,
    }


def _named_twice(acks: Sequence[Ack], retries: Sequence[Retry]) -> list[FieldError]:
    named = {f"acks.{place}.lease_id": one.lease_id for place, one in enumerate(acks)}
    named |= {f"retries.{place}.lease_id": one.lease_id for place, one in enumerate(retries)}
    times = Counter(named.values())
    text = "This lease is named twice. Acknowledge it or return it, once."
    return [FieldError(path, text, "named_twice") for path, lease_id in named.items() if times[lease_id] > 1]
