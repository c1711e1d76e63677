"""Replay and discard many deliveries for an operator, and keep with each of them who did it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.http import HttpRequest

from notifications import deliveries, outbox
from notifications.models import Delivery
from people.models import User

# Rows a transaction: none holds its locks for long, and what is done stays done if a later one fails.
STEP = 1_000


def replay(request: HttpRequest, keys: Sequence[UUID]) -> int:
    """Send again those that still are dead letters. Returns how many.

    The first step is rung for at once; of more than that, rescue rings as fast as the workers take it.
    """
    again = 0
    for step in _steps(keys):
        with transaction.atomic():
            changed = deliveries.replay(_locked(step))
            _keep(request, changed, "Replayed.")
            if again == 0:
                outbox.ring_after_commit(outbox.Ring(key) for key in changed)
        again += len(changed)
    return again


def discard(request: HttpRequest, keys: Sequence[UUID], reason: str) -> int:
    """Give up those that still are dead letters. Returns how many."""
    gone = 0
    for step in _steps(keys):
        with transaction.atomic():
            changed = _locked(step)
            gone += deliveries.discard(changed, f"Discarded: {reason}")
            _keep(request, changed, f"Discarded: {reason}")
    return gone


def _steps(keys: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    return (keys[start : start + STEP] for start in range(0, len(keys), STEP))


def _locked(keys: Sequence[UUID]) -> list[UUID]:
    """Those of `keys` that are dead letters now, and stay so until the commit; in order, so that two never deadlock."""
    held = Delivery.objects.filter(pk__in=keys).dead_letters().order_by("pk").select_for_update()
    return list(held.values_list("pk", flat=True))


def _keep(request: HttpRequest, keys: Sequence[UUID], message: str) -> None:
    operator = cast(User, request.user)
    LogEntry.objects.log_actions(operator.pk, [Delivery(pk=key) for key in keys], CHANGE, message)
