"""Look now: what a reminder would find and say at this moment. It sends nothing and stores nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone

from common import rate_limiter
from common.postgres import blames_no_row
from common.rate_limiter import Window
from jobs import deciding, kinds, looking, words
from jobs.fetch import Later, Refused
from jobs.kinds.base import Ask, JobKind, Nothing, Source
from jobs.models import Connection, Memory
from jobs.reasons import Code
from jobs.recording import SendAs
from notifications.text import Text
from people.models import User
from work.reasons import Code as Engine
from work.reasons import Reason

log = logging.getLogger(__name__)

DEADLINE = 10.0
"""Seconds for one look: somebody waits for it."""
A_MINUTE = 10
"""How often one person may look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a look found. `text`: what the reminder would say, None where it stays silent or `failed`."""

    reason: Reason
    text: Text | None = None
    failed: bool = False

    @property
    def said(self) -> str:
        """What it found, or why it could not look, and what follows."""
        return words.looked(self.outcome, str(self.reason))

    @property
    def outcome(self) -> str:
        """ "failed", "spoke" or "silent"."""
        return "failed" if self.failed else "silent" if self.text is None else "spoke"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to look at: `payload` as the kind's form made it. `memory` is what the last look of this reminder left."""

    kind: str
    payload: Mapping[str, Any]
    connection: Connection | None
    send_as: SendAs
    origin_id: UUID | None = None
    memory: Any = None


def memory_of(origin_id: UUID, user_id: int) -> Any:
    """What the last look of this reminder left; None without one."""
    return Memory.objects.filter(origin_id=origin_id, user_id=user_id).values_list("state", flat=True).first()


def look_now(user: User, question: Question) -> Looked:
    """Look as a worker does, and decide, but write nothing."""
    if not rate_limiter.allows(Window(f"look-now:{user.pk}", A_MINUTE, 60.0)):
        return Looked(reason=Reason(Code.TOO_OFTEN, most=A_MINUTE), failed=True)
    kind = kinds.find(question.kind)
    if kind is None:
        return Looked(reason=Reason(Code.NO_KIND, kind=question.kind), failed=True)
    source = None if question.connection is None else looking.open_connection(question.connection)
    if source is None and kind.connection and kind.needs_connection:
        source = Reason(Code.NO_CONNECTION)
    if isinstance(source, Reason):
        return Looked(reason=source, failed=True)
    try:
        return _look(kind, user, question, source)
    except Exception as error:
        if blames_no_row(error):
            raise
        # Its text may hold a secret.
        log.error("%s raised %s in a look of a person", kind.name, type(error).__name__)
        return Looked(reason=Reason(Engine.FAULT, kind=kind.name, error=type(error).__name__), failed=True)


def _look(kind: JobKind, user: User, question: Question, source: Source | None) -> Looked:
    now = timezone.now()
    ask = Ask(
        user_id=user.pk,
        origin_id=question.origin_id,
        zone=user.zone,
        slot=now,
        now=now,
        payload=question.payload,
        memory=question.memory,
        source=source,
    )
    found = looking.look(kind, ask, deadline=DEADLINE, keep=False)
    if isinstance(found, Later | Refused):
        return Looked(reason=found.reason, failed=True)
    decision = kind.decide(ask, found.value)
    if isinstance(decision, Nothing):
        return Looked(reason=decision.reason)
    return Looked(reason=decision.reason, text=deciding.compose(question.send_as, now, decision))
