"""Check: ask the source, or use what it answered to the same question a while ago. Writes nothing but kept answers.

Where an answer may serve others, one check asks and the others wait for it.
"""

import hashlib
import json
import logging
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from django.core.cache import cache
from django.db.models.functions import Now

from common.database import encryption
from common.database.postgres import lend_connection, persist
from common.parsing.budget import Budget, OverBudget
from jobs.kinds.base import Ask, Found, JobKind, Nothing, Say, Source
from jobs.models import Connection, Result
from jobs.reading.fetch import Fetch, Later, NotModified, Refused, outcome, over_budget
from jobs.reasons import JobCode
from work.answers import Defer
from work.reasons import Reason
from work.retry import wait_when_busy

log = logging.getLogger(__name__)

DECISION = 5
"""Seconds of CPU time."""
# Seconds: until a check comes again that waits for the answer of another one; for what follows an answer.
_WAIT, _MARGIN = 2.0, 5.0


def check(
    kind: JobKind, ask: Ask, *, deadline: float = math.inf, keep: bool = True, may_wait: bool = False
) -> Found | Later | Refused | Defer:
    """Return what the source says, or why it says nothing. Raises what is a bug of the kind.

    `deadline`: seconds, if fewer than the kind allows; without `keep`, the answer is not kept for other checks, and a
    kept one is used only where the kind wants that. `Defer`, with `may_wait`, while another check asks the same.
    """
    key, fresh = _key(kind, ask), kind.fresh(ask.payload) if keep else kind.fresh_for
    if (result := _stored(key, fresh)) is not None:
        return result
    if not fresh or not may_wait:
        return _ask(kind, ask, key, deadline, keep)
    asking = f"asking:{key}"
    if not cache.add(asking, True, kind.deadline + _MARGIN):
        return Defer(wait_when_busy(_WAIT, _WAIT, 0), Reason(JobCode.ASKED_ALREADY))
    try:
        # One that has just ended may have kept its answer.
        return _stored(key, fresh) or _ask(kind, ask, key, deadline, keep)
    finally:
        cache.delete(asking)


def _stored(key: str, fresh: float) -> Found | None:
    stored = persist(Result.objects.filter(key=key).first) if fresh else None
    if stored and datetime.now(UTC) - stored.fetched_at < timedelta(seconds=fresh):
        return Found(stored.value, stored.fetched_at)
    return None


def _ask(kind: JobKind, ask: Ask, key: str, deadline: float, keep: bool) -> Found | Later | Refused:
    stored = persist(Result.objects.filter(key=key).first) if kind.conditional else None
    lend_connection()
    seconds = min(kind.deadline, deadline)
    fetch = Fetch(seconds) if stored is None else Fetch(seconds, stored.etag, stored.modified)
    try:
        result = outcome(partial(kind.check, ask, fetch))
    except NotModified:
        assert stored is not None  # noqa: S101 - nothing else has an ETag to send
        result = Found(stored.value)
    if keep and isinstance(result, Found) and (kind.fresh(ask.payload) or fetch.etag or fetch.modified):
        values = {"value": result.value, "etag": fetch.etag, "modified": fetch.modified, "fetched_at": Now()}
        persist(partial(Result.objects.update_or_create, key=key, defaults=values))
    return result


def decide(kind: JobKind, ask: Ask, result: Found) -> Say | Nothing | Refused:
    """Return what follows, or that it costs too much to say. Raises what is a bug of the kind."""
    ask = replace(ask, budget=Budget(seconds=DECISION))
    try:
        decision = kind.decide(ask, result.value)
        ask.budget.clock()
    except OverBudget as limit:
        return over_budget(limit)
    return decision


def open_connection(connection: Connection) -> Source | Reason:
    """The connection with its secrets, or why it cannot be used."""
    if connection.removed_at is not None:
        return Reason(JobCode.NO_CONNECTION)
    if connection.disabled_at is not None:
        why = Reason(connection.failing_code, **connection.failing_params)
        return Reason(JobCode.CONNECTION_DISABLED, label=connection.label, why=why)
    try:
        destination = connection.destination()
    except encryption.Unreadable:
        return Reason(JobCode.CONNECTION_UNREADABLE)
    return Source(
        id=connection.id,
        label=connection.label,
        address=destination.address,
        secrets=destination.secrets,
        version=connection.version,
    )


def _key(kind: JobKind, ask: Ask) -> str:
    """Another connection, or one with another secret, may see another answer to the same question."""
    through = f"{ask.source.id} {ask.source.version}" if ask.source else ""
    parts = [kind.name, through, kind.question(ask)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
