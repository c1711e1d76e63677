"""Effects of a reminder's change on its jobs and their memory, in the transaction of the change."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import F, QuerySet
from django.db.models.functions import Now

from jobs import kinds
from jobs.kinds.base import Ask
from jobs.models import Job, Memory
from jobs.reasons import JobCode
from work.engine import manual
from work.reasons import Reason

_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def question(name: str, payload: Mapping[str, Any] | None, connection_id: UUID | None) -> tuple[Any, ...]:
    """Return the values that decide a reminder's answer; () where it checks nothing."""
    if not name:
        return ()
    kind, decisive = kinds.find(name), payload or {}
    if kind is not None:
        zone = ZoneInfo("UTC")
        ask = Ask(user_id=0, origin_id=None, zone=zone, slot=_ANY_TIME, now=_ANY_TIME, payload=decisive)
        try:
            decisive = kind.question(ask)
        except Exception:  # a damaged row: all of it is the question
            return name, connection_id, payload
    return name, connection_id, decisive


def cancel(jobs: QuerySet[Job], reason: Reason) -> None:
    """pending -> cancelled. One that is running may speak; if it fails, it is not retried."""
    jobs.filter(state=Job.words.working).update(expires_at=Now(), failures_noted=F("replays") + 1)
    manual.cancel(Job, jobs.filter(state="pending").values_list("id", flat=True), reason)


def forget(*origin_ids: UUID) -> None:
    """Forget what the checks of reminders have found, and those that wait: they ask another question now."""
    cancel(Job.objects.filter(origin_id__in=origin_ids), Reason(JobCode.OTHER_QUESTION))
    Memory.objects.filter(origin_id__in=origin_ids).update(
        state=None, version=F("version") + 1, failures=0, failing_since=None, told_at=None
    )
