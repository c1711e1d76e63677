"""Plain functions that make rows for tests; every field can be overridden."""

from __future__ import annotations

import itertools
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch
from uuid import UUID

from django.db import connection

from common.uuid7 import uuid7
from notifications.deliveries import outbox
from notifications.deliveries.kind import DELIVERY, Claim
from notifications.message import Destination, Rejected
from notifications.models import Channel, Delivery, Notification
from notifications.reasons import Code
from people.models import User
from schedules import editing
from schedules.models import Schedule
from work import claim as claiming
from work import runner, settlement
from work.answers import Answer
from work.decision import Decision
from work.reasons import Reason, cause_of
from work.runner import TryAgain

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
_numbers = itertools.count(1)


def make_user(**overrides: Any) -> User:
    fields: dict[str, Any] = {
        "email": f"person{next(_numbers)}@example.org",
        "name": "Ada",
        "time_zone": "Europe/Berlin",
    } | overrides
    return User.objects.create_user(**fields)


def make_channel(
    user: User, provider: str = "inbox", secrets: dict[str, str] | None = None, **overrides: Any
) -> Channel:
    address = {"email": {"address": user.email}, "webhook": {"url": "https://example.org/hook"}}.get(provider, {})
    fields: dict[str, Any] = {
        "user": user,
        "provider": provider,
        "label": provider.title(),
        "verified_at": NOON,
    } | overrides
    channel = Channel(**fields)
    if provider == "webhook" and secrets is None:
        secrets = {"secret": "whsec_" + "c2VjcmV0" * 4}
    channel.hold(Destination(overrides.get("address", address), secrets or {}))
    channel.save()
    return channel


def make_schedule(
    user: User, channels: list[Channel] | None = None, now: datetime = NOON, **overrides: Any
) -> Schedule:
    """A daily schedule at 09:00 UTC, made at `now`; overrides of the draft go in, others are written to the row."""
    draft: dict[str, Any] = {
        "title": "Water the plants",
        "body": "All of them.",
        "kind": "daily",
        "rule": {"time": "09:00"},
        "time_zone": "UTC",
        "channels": [make_channel(user)] if channels is None else channels,
    }
    draft |= {name: overrides.pop(name) for name in list(overrides) if name in editing.Draft.__slots__}
    schedule = editing.create(user, editing.Draft(**draft), now)
    if overrides:
        Schedule.objects.filter(id=schedule.id).update(**overrides)
        schedule.refresh_from_db()
    return schedule


def make_delivery(channel: Channel, **overrides: Any) -> Delivery:
    """A pending, due delivery to `channel`; one of another state has gone there by way of `sending`.

    `reason` is the text of a note.
    """
    if "reason" in overrides:
        note = noted(overrides.pop("reason"))
        overrides |= {"reason_code": note.code, "reason_params": note.params}
    saying: dict[str, Any] = {
        "user_id": channel.user_id,
        "channels": [(channel.id, channel.provider)],
        "subject": "Water the plants",
        "body": "All of them.",
        "origin": Notification.Origin.SCHEDULE,
        "batch_id": uuid7(),
    }
    saying |= {name: overrides.pop(name) for name in list(overrides) if name in outbox.NewNotification.__slots__}
    [new] = outbox.record([outbox.NewNotification(**saying)])
    if overrides.get("state", "pending") not in {"pending", "sending", "cancelled", "expired"}:
        Delivery.objects.filter(id=new.id).update(state="sending", lease_token=uuid7(), lease_until=NOON)
        ended: dict[str, Any] = {"lease_token": None, "lease_until": None, "settled_at": NOON}
        if overrides["state"] in {"dead", "unknown"}:
            ended["cause"] = cause_of(channel.provider, noted(""), overrides["state"])
        overrides = ended | overrides
    if overrides:
        Delivery.objects.filter(id=new.id).update(**overrides)
    return Delivery.objects.get(id=new.id)


def noted(text: str) -> Reason:
    return Reason(Code.NOTE, said=text)


def disabled(text: str) -> dict[str, Any]:
    """The fields of a channel that says why it is disabled."""
    return {"disabled_code": Code.NOTE, "disabled_params": {"said": text}}


def take(delivery_id: UUID, worker: str = "worker") -> Claim | None:
    """Claim a delivery as a worker does."""
    return claiming.claim(DELIVERY, delivery_id, worker)


def send_now(delivery_id: UUID) -> None:
    """Try a delivery once, as a worker does."""
    runner.run(DELIVERY, delivery_id, "worker")


def try_once(delivery: Delivery, random: float = 0.5) -> float | None:
    """Send as the task does; `random` is the jitter. Returns the wait of a next try, if one follows."""
    with patch("random.random", lambda: random):
        try:
            send_now(delivery.id)
            wait = None
        except TryAgain as again:
            wait = again.wait
    delivery.refresh_from_db()
    return wait


def finish(claim: Claim, answer: Answer) -> None:
    """End a claim with the answer of its provider; a next try is due at once."""
    with suppress(TryAgain):
        runner.finish(DELIVERY, claim, answer, jitter=0.0)


def settle(claim: Claim, state: str, reason: str | Rejected = "Said.", **fields: Any) -> bool:
    """Settle a claim as a decision for `state` does; `reason` is a text, or the answer of its provider."""
    outcomes = {"delivered": "delivered", "dead": "rejected", "unknown": "ambiguous", "pending": "retryable"}
    answer = reason if isinstance(reason, Rejected) else None
    said = noted(reason) if isinstance(reason, str) else reason.reason
    return settlement.settle(DELIVERY, claim, Decision(state, outcomes[state], said, **fields), answer)


def drop_check(table: str, name: str) -> None:
    """Drop a CHECK constraint, until the test's transaction ends: for rows that are older than it."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
