"""Plain functions that make rows for tests; every field can be overridden."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import connection
from django.test import Client

from common.uuid7 import uuid7
from events.intake import ledger
from events.kinds.event import EVENT
from events.models import Event, Rule, Run, Step
from events.pure.envelope import Envelope
from jobs.checks.kind import JOB
from jobs.models import Connection, Job
from notifications.deliveries import outbox
from notifications.deliveries.kind import DELIVERY, DeliveryClaim
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.models import Channel, Delivery, Notification
from notifications.providers import inbox
from notifications.reasons import DeliveryCode
from people.models import User
from people.sign_in.sessions import SessionStore
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from watches.models import Watch
from work.answers import Answer
from work.engine import claim as claiming, runner, settlement
from work.engine.decision import Decision
from work.engine.runner import TryAgain
from work.reasons import Reason, cause_of

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
NINE = NOON.replace(hour=9) + timedelta(days=1)
_numbers = itertools.count(1)


def make_user(**overrides: Any) -> User:
    fields: dict[str, Any] = {
        "email": f"person{next(_numbers)}@example.org",
        "name": "Ada",
        "time_zone": "Europe/Berlin",
    } | overrides
    return User.objects.create_user(**fields)


def signed_in(user: User | None = None, **overrides: Any) -> Client:
    """A client of `user`, or of a new one with these fields."""
    user, client = user or make_user(**overrides), Client()
    session = SessionStore()  # at once: `force_login` makes two, and tells all who wait for a sign-in
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    return client


def make_channel(
    user: User, provider: str = "inbox", secrets: dict[str, str] | None = None, **overrides: Any
) -> Channel:
    address = {"email": {"address": user.email}, "webhook": {"url": "https://example.org/hook"}}.get(provider, {})
    fields: dict[str, Any] = {
        "user": user,
        "provider": provider,
        "label": provider.title(),
        "verified_at": NOON,
        "use_for_new": True,
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
    """A daily schedule at 09:00 UTC, made at `now`. Overrides that an edit may change go in, others are written to the
    row."""
    fields: dict[str, Any] = {
        "title": "Water the plants",
        "body": "All of them.",
        "kind": "daily",
        "rule": {"time": "09:00"},
        "time_zone": "UTC",
    }
    channels = [make_channel(user)] if channels is None else channels
    if overrides.pop("in_order", False):
        fields["channel_order"] = [channel.id for channel in channels]
    fields |= {name: overrides.pop(name) for name in list(overrides) if name in editing.EDITABLE}
    schedule = editing.create(Schedule(user=user, **fields), channels, now)
    if overrides:
        Schedule.objects.filter(id=schedule.id).update(**overrides)
        schedule.refresh_from_db()
    return schedule


def edit_schedule(
    schedule: Schedule,
    now: datetime = NOON,
    channels: list[Channel] | None = None,
    by: User | None = None,
    **changes: Any,
) -> Schedule:
    """Edit it as one who has read it as `schedule` has it; `version` is the one that they have read."""
    wanted = copy(schedule)
    for name, value in changes.items():
        setattr(wanted, name, value)
    return editing.reschedule(wanted, now, channels, by)


def make_watch(user: User, channels: list[Channel] | None = None, **overrides: Any) -> Watch:
    """One that expects a ping every hour since the last, with a grace of five minutes; new."""
    fields: dict[str, Any] = {"name": "Backup", "kind": "since", "period": 3600, "grace": 300, "time_zone": "UTC"}
    watch = Watch.objects.create(user=user, **(fields | overrides))
    watch.channels.set([make_channel(user)] if channels is None else channels)
    return watch


_SAID = {field.name for field in dataclasses.fields(outbox.NewNotification)}


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
    saying |= {name: overrides.pop(name) for name in list(overrides) if name in _SAID}
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
    return Reason(DeliveryCode.NOTE, said=text)


def disabled(text: str) -> dict[str, Any]:
    """The fields of a channel that says why it is disabled."""
    return {"disabled_code": DeliveryCode.NOTE, "disabled_params": {"said": text}}


def take(delivery_id: UUID, worker: str = "worker") -> DeliveryClaim | None:
    """Claim a delivery as a worker does."""
    return claiming.claim(DELIVERY, delivery_id, worker)


def taken(delivery_id: UUID, worker: str = "worker") -> DeliveryClaim:
    """Claim a delivery that is due."""
    claim = take(delivery_id, worker)
    assert claim is not None
    return claim


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


def finish(claim: DeliveryClaim, answer: Answer) -> None:
    """End a claim with the answer of its provider; a next try is due at once."""
    with suppress(TryAgain):
        runner.finish(DELIVERY, claim, answer, jitter=0.0)


def settle(claim: DeliveryClaim, state: str, reason: str | Rejected = "Said.", **fields: Any) -> bool:
    """Settle a claim as a decision for `state` does; `reason` is a text, or the answer of its provider."""
    outcomes = {"delivered": "delivered", "dead": "rejected", "unknown": "ambiguous", "pending": "retryable"}
    answer = reason if isinstance(reason, Rejected) else None
    said = noted(reason) if isinstance(reason, str) else reason.reason
    return settlement.settle(DELIVERY, claim, Decision(state, outcomes[state], said, **fields), answer)


def make_rule(user: User, **overrides: Any) -> Rule:
    """A rule for orders above 100, to a new channel unless `channels` are given."""
    channels = overrides.pop("channels", None)
    fields: dict[str, Any] = {
        "user": user,
        "name": "Big orders",
        "type_pattern": "order.*",
        "conditions": [{"field": "data.amount", "operator": "above", "value": 100}],
        "title": "Order {data.order_id}",
        "body": "{data.amount} EUR from {source}",
    } | overrides
    rule = Rule.objects.create(**fields)
    rule.channels.set([make_channel(user, "email")] if channels is None else channels)
    return rule


def happen(user: User, **overrides: Any) -> Event:
    """Record an event and handle it, as a worker does."""
    fields: dict[str, Any] = {"type": "order.paid", "source": "shop", "data": {"order_id": 7, "amount": 120}}
    if "correlation_id" in overrides:
        overrides["correlation_id"] = str(overrides["correlation_id"])
    envelope = Envelope(**fields | overrides)
    ledger.record(user.pk, [envelope])
    event = Event.objects.get(user=user, key=envelope.key)
    runner.run(EVENT, event.id, "worker")
    event.refresh_from_db()
    return event


def make_failed_step(run: Run, **fields: Any) -> Step:
    """A dead letter of a step that no flow has."""
    made = {"handler": "brand.fetch", "key": "1", "correlation_id": run.correlation_id} | fields
    step = Step.objects.create(user_id=run.user_id, run=run, **made)
    rows = Step.objects.filter(id=step.id)
    rows.update(state="working", lease_token=uuid7(), lease_until=NOON)
    rows.update(state="dead", lease_token=None, lease_until=None, settled_at=NOON, cause="flow-no-step")
    return rows.get()


def drop_check(table: str, name: str) -> None:
    """Drop a CHECK constraint, until the test's transaction ends: for rows that are older than it."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")


@contextmanager
def without_triggers() -> Iterator[None]:
    """For rows that are older than the trigger that refuses them."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield
        cursor.execute("SET LOCAL session_replication_role = origin")


# A reminder whose channels are tried one after the other, fired, and a worker for what it recorded.


def make_fired(**overrides: Any) -> tuple[Notification, list[Channel]]:
    """What a reminder with three channels in order has said: inbox, mail, webhook."""
    user = make_user()
    channels = [make_channel(user, provider, label=provider.title()) for provider in ("inbox", "email", "webhook")]
    make_schedule(user, **({"channels": channels, "in_order": True} | overrides))
    fire.fire_due(NINE)
    return Notification.objects.get(user=user), channels


def answers(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[Message]:
    """Have the inbox provider give this answer; returns the messages that it was asked to send."""
    sent: list[Message] = []

    def send(self: object, message: Message, destination: Destination) -> Answer:
        sent.append(message)
        return answer

    monkeypatch.setattr(inbox.Inbox, "send", send)
    return sent


def first_of(notification: Notification) -> Delivery:
    return notification.deliveries.earliest("created_at", "id")


def deliver_first(notification: Notification, monkeypatch: pytest.MonkeyPatch, answer: Answer | None = None) -> None:
    """Send the first delivery; the inbox answers with `answer`."""
    answers(monkeypatch, answer or Delivered())
    send_now(first_of(notification).id)


def tried(notification: Notification) -> list[tuple[str, str]]:
    """(channel's label, state) of each delivery, in the order of their being recorded."""
    return list(notification.deliveries.order_by("created_at", "id").values_list("channel__label", "state"))


def minutes_pass(notification: Notification, minutes: float) -> None:
    """Move all that the notification waits for so much nearer."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE notifications_notification SET advance_at = advance_at - %s * interval '1 minute' WHERE id = %s",
            [minutes, notification.id],
        )


def make_connection(user: User, kind: str = "github", **overrides: Any) -> Connection:
    """A connection that works; `secrets` are sealed."""
    address, secrets = {
        "github": ({"login": "ada"}, {"token": "ghp_" + "ada".ljust(36, "0")}),
        "address": ({"url": "https://example.org/prices.json"}, {"Authorization": "Bearer planted"}),
        "calendar": ({"host": "example.org"}, {"url": "https://example.org/planted.ics"}),
    }.get(kind, ({}, {}))
    stored = Destination(overrides.pop("address", address), overrides.pop("secrets", secrets))
    fields: dict[str, Any] = {"label": kind.title(), "verified_at": NOON, "working_since": NOON} | overrides
    connection = Connection(user=user, kind=kind, **fields)
    connection.hold(stored)
    connection.save()
    return connection


def make_job_schedule(
    user: User, kind: str = "sample", payload: dict[str, Any] | None = None, **overrides: Any
) -> Schedule:
    """A daily schedule at 09:00 UTC that checks before it speaks."""
    fields = {"job_kind": kind, "job_payload": payload or {}, "title": "It is {value}"} | overrides
    return make_schedule(user, fields.pop("channels", None) or [make_channel(user)], **fields)


def check(job: Job) -> Job:
    """Run the job once, as a worker does, whatever its wait."""
    Job.objects.filter(id=job.id, state="pending").update(available_at=NOON, wake_at=NOON)
    with suppress(TryAgain):
        runner.run(JOB, job.id, "worker")
    job.refresh_from_db()
    return job
