"""Pause and resume schedules for an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.http import HttpRequest

from people.models import User
from schedules import editing, rules
from schedules.firing import fire
from schedules.models import Schedule


@dataclass(frozen=True, slots=True)
class Switched:
    """How many schedules changed and how many did not."""

    changed: int
    left: int

    def message(self, verb: str) -> str:
        words = f"{self.changed} {verb}."
        if self.left:
            words += f" {self.left} skipped: already {verb}, finished, deleted, or with an invalid rule."
        return words


def pause(request: HttpRequest, ids: Iterable[UUID]) -> Switched:
    return _switch(request, ids, editing.pause, {Schedule.State.ACTIVE}, Schedule.State.PAUSED)


def resume(request: HttpRequest, ids: Iterable[UUID]) -> Switched:
    """Resume schedules, also broken ones, whose rule is read again."""
    others = set(Schedule.State) - {Schedule.State.ACTIVE}
    return _switch(request, ids, editing.resume, others, Schedule.State.ACTIVE)


def _switch(
    request: HttpRequest,
    ids: Iterable[UUID],
    verb: Callable[[UUID, datetime, User], Schedule],
    leaving: set[Schedule.State],
    entering: Schedule.State,
) -> Switched:
    keys, operator = list(ids), cast(User, request.user)
    changed = 0
    for key in Schedule.objects.filter(id__in=keys, state__in=leaving, deleted_at=None).values_list("id", flat=True):
        try:
            with transaction.atomic():
                schedule = verb(key, fire.read_clock().now, operator)
                if schedule.state == entering:
                    word = "Paused." if entering == Schedule.State.PAUSED else "Resumed."
                    LogEntry.objects.log_actions(operator.pk, [schedule], CHANGE, word)
                    changed += 1
        except rules.InvalidRule:
            continue  # stays broken, with the error that its row shows
    return Switched(changed, len(keys) - changed)
