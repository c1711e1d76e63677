"""The work of a fired slot: a notification, the job that decides on one, or a batch for an audience."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from django.conf import settings

from common.texts import languages
from jobs.batches import progress
from jobs.batches.progress import NewBatch
from jobs.checks import recording
from jobs.checks.recording import NewJob, SendAs
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification
from notifications.messages import text
from notifications.models import Notification
from schedules.firing.due import Due
from schedules.models import speaks
from work.broker.wakes import Wake

Channels = Mapping[UUID, Sequence[tuple[UUID, str]]]
"""Those (id, provider) of each schedule."""


def has_channels(schedule: Due, channels: Channels) -> bool:
    """Whether it can send; one whose kind of job never speaks needs none."""
    return bool(channels[schedule.id] or schedule.audience) or not speaks(schedule.job_kind)


def record(fired: Sequence[tuple[UUID, Due, datetime]], channels: Channels, now: datetime) -> list[Wake]:
    """Record what follows from each (batch, schedule, slot): a notification, the job that decides on it, or a batch."""
    messages, jobs, batches = [], [], []
    for batch_id, schedule, slot in fired:
        if schedule.audience:
            batches.append(_batch(batch_id, schedule, slot))
        elif schedule.job_kind:
            jobs.append(_job(batch_id, schedule, slot, channels[schedule.id]))
        else:
            messages.append((batch_id, schedule, slot))
    return outbox.record(_notifications(messages, channels, now)) + recording.record(jobs) + progress.record(batches)


def _notifications(
    messages: Sequence[tuple[UUID, Due, datetime]], channels: Channels, now: datetime
) -> Iterator[NewNotification]:
    for language, alike in groupby(messages, key=lambda one: one[1].language):
        with languages.override(language):
            new = [_notification(batch_id, due, slot, channels[due.id], now) for batch_id, due, slot in alike]
        yield from new


def _notification(
    batch_id: UUID, schedule: Due, slot: datetime, channels: Sequence[tuple[UUID, str]], now: datetime
) -> NewNotification:
    available_at = slot + _spread(schedule, slot)
    composed = text.compose(schedule.title, schedule.body, name=schedule.name, slot=slot, time_zone=schedule.time_zone)
    return NewNotification(
        user_id=schedule.user_id,
        channels=channels,
        subject=composed.subject,
        body=composed.body,
        origin=Notification.Origin.SCHEDULE,
        batch_id=batch_id,
        origin_id=schedule.id,
        slot=slot,
        available_at=available_at,
        expires_at=schedule.expires_at(slot),
        quiet_hours=schedule.quiet_hours(max(available_at, now)),
        **schedule.options(),
    )


def _job(batch_id: UUID, schedule: Due, slot: datetime, channels: Sequence[tuple[UUID, str]]) -> NewJob:
    return NewJob(
        user_id=schedule.user_id,
        kind=schedule.job_kind,
        payload=json.loads(schedule.job_payload or "{}"),
        connection_id=schedule.connection_id,
        batch_id=batch_id,
        origin_id=schedule.id,
        slot=slot,
        available_at=slot + _spread(schedule, slot),
        expires_at=schedule.expires_at(slot),
        on_error=schedule.on_error,
        errors_allowed=schedule.errors_allowed,
        send_as=_send_as(schedule, channels=channels),
    )


def _batch(batch_id: UUID, schedule: Due, slot: datetime) -> NewBatch:
    """For an audience: each of its people gets it on all channels that they can use."""
    origin = Notification.Origin.ANNOUNCEMENT
    return NewBatch(
        id=batch_id,
        user_id=schedule.user_id,
        audience=schedule.audience,
        audience_key=schedule.audience_key,
        origin=origin,
        origin_id=schedule.id,
        slot=slot,
        local_time=schedule.local_time,
        stale_after=schedule.stale_after,
        message=asdict(_send_as(schedule, channels=None, origin=str(origin))),
        job_kind=schedule.job_kind,
        job_payload=json.loads(schedule.job_payload or "{}"),
        on_error=schedule.on_error,
        errors_allowed=schedule.errors_allowed,
    )


def _send_as(schedule: Due, **how: Any) -> SendAs:
    return SendAs(
        title=schedule.title,
        body=schedule.body,
        name=schedule.name,
        time_zone=schedule.time_zone,
        **schedule.options(),
        **how,
    )


def _spread(schedule: Due, slot: datetime) -> timedelta:
    """The jitter of a slot: by the schedule's own window, else the installation's. What is urgent has only its own."""
    if schedule.spread or schedule.urgent:
        return spread_of(schedule.id, slot, schedule.spread)
    least, most = settings.DEFAULT_SPREAD
    return timedelta(seconds=least) + spread_of(schedule.id, slot, most - least + 1) if most else timedelta(0)


def spread_of(schedule_id: UUID, slot: datetime, window: int) -> timedelta:
    """The jitter of one slot, within `window` seconds; the same at every computation."""
    if window == 0:
        return timedelta(0)
    digest = hashlib.blake2b(schedule_id.bytes + slot.isoformat().encode(), digest_size=8).digest()
    return timedelta(seconds=int.from_bytes(digest, "big") % window)
