"""Check now: what a reminder would find and say at this moment. It sends nothing.

A worker runs it, like any job, and the caller waits for its row. The web process fetches and parses nothing.
"""

import time
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from common.database.postgres import lend_connection
from common.redis import rate_limiter
from common.uuid7 import uuid7
from jobs import words
from jobs.checks import recording
from jobs.checks.recording import NewJob, SendAs
from jobs.models import Job
from jobs.reasons import JobCode
from notifications.messages.text import Text
from people.models import User
from work.broker.wakes import publish_after_commit
from work.reasons import NO_REASON, Reason

A_MINUTE = 10
"""Checks of one person a minute, at most."""
WAIT = 1.0
"""Seconds that the request waits that asked for it: of those, a person has two at a time. Later ones do not wait."""
_STEP = 0.05
_STALE = timedelta(minutes=1)


class Checked(NamedTuple):
    """The result of a check. `outcome` is "checking" while it is under way (`id`: to ask again), "spoke", "silent" or
    "failed"; `text` what the reminder would say, None where it stays silent.
    """

    outcome: str
    reason: Reason
    id: UUID | None = None
    text: Text | None = None

    @property
    def is_open(self) -> bool:
        return self.outcome == "checking"

    @property
    def outcome_text(self) -> str:
        """The result or the reason of the failure, and what follows."""
        return words.checked(self.outcome, str(self.reason))


def check_now(user: User, reminder: Any, origin_id: UUID | None = None) -> Checked:
    """Record a job, and wait a moment for it. Do not call it in a transaction: no worker would see the job.

    The reminder need not be saved. The check knows what the last one of `origin_id` left.
    """
    if not rate_limiter.allows(f"check-now:{user.pk}", A_MINUTE, 60.0):
        return Checked(outcome="failed", reason=Reason(JobCode.TOO_OFTEN, most=A_MINUTE))
    now = timezone.now()
    new = NewJob(
        user_id=user.pk,
        kind=reminder.job_kind,
        payload=reminder.job_payload or {},
        connection_id=reminder.connection_id,
        batch_id=uuid7(),
        slot=now,
        send_as=SendAs(
            title=reminder.title,
            body=reminder.body,
            channels=(),
            name=user.get_short_name(),
            time_zone=reminder.time_zone,
        ),
        expires_at=now + _STALE,
        preview={"of": origin_id and str(origin_id)},
    )
    with transaction.atomic():
        wakes = recording.record([new])
        publish_after_commit(wakes)
    ends = time.monotonic() + WAIT
    while (checked := find(user, wakes[0].id)).is_open and time.monotonic() < ends:
        lend_connection()
        time.sleep(_STEP)
    return checked


def find(user: User, check_id: UUID) -> Checked:
    """Return what has become of a person's check. Raises Job.DoesNotExist."""
    job = Job.objects.get(id=check_id, user=user, preview__isnull=False)
    if job.state in ("pending", job.words.working):
        return Checked(outcome="checking", reason=NO_REASON, id=job.id)
    reason = Reason(job.reason_code, **job.reason_params)
    if job.state != job.words.done:
        return Checked(outcome="failed", reason=reason, id=job.id)
    result: dict[str, Any] = job.preview or {}
    text = Text(result["subject"], result["body"]) if result["outcome"] == "spoke" else None
    return Checked(outcome=result["outcome"], reason=reason, id=job.id, text=text)
