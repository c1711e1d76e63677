"""Replay and discard for an operator, recorded as an intervention and in the log of each delivery."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from notifications import dead_letters
from notifications.dead_letters import Done, Which, Who
from notifications.models import Delivery
from people.models import User


@transaction.atomic
def replay(request: HttpRequest, rows: QuerySet[Any], which: str, even_stale: bool) -> Done:
    """Send again the `rows` that are still dead letters."""
    done = dead_letters.replay(rows, which, _who(request), skip=None if even_stale else dead_letters.stale())
    return _log(request, done, "Replayed.")


@transaction.atomic
def replay_cause(request: HttpRequest, which: Which, per_minute: int, max_age: timedelta | None) -> Done:
    """Send all of a cause again, at most `per_minute`, except stale ones and those older than `max_age`."""
    skip = dead_letters.stale(max_age)
    done = dead_letters.replay(
        which.rows(), str(which), _who(request), cause=which.cause, per_minute=per_minute, skip=skip
    )
    return _log(request, done, f"Replayed, {per_minute} a minute.")


@transaction.atomic
def try_one(request: HttpRequest, which: Which) -> Done:
    """Send the newest of a cause again."""
    return _log(request, dead_letters.try_one(which, _who(request)), "Replayed to test.")


@transaction.atomic
def discard(request: HttpRequest, rows: QuerySet[Any], which: str, reason: str, cause: str = "") -> Done:
    """Discard the `rows` that are still dead letters."""
    return _log(request, dead_letters.discard(rows, which, _who(request), reason, cause=cause), f"Discarded: {reason}")


def _who(request: HttpRequest) -> Who:
    operator = cast(User, request.user)
    return Who(operator.pk, operator.email)


def _log(request: HttpRequest, done: Done, message: str) -> Done:
    operator = cast(User, request.user)
    LogEntry.objects.log_actions(operator.pk, [Delivery(pk=key) for key in done.changed], CHANGE, message)
    return done
