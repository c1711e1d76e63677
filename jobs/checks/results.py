"""Outcomes of checks: of the jobs of a reminder, for its pages and for Explain; and of one that a person asks for now.

A worker runs that one, like any job, and the caller waits for its row: it sends nothing, and the web process fetches
and parses nothing.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from common.database.postgres import column, lend_connection
from common.redis import rate_limiter
from common.uuid7 import first_of, uuid7
from jobs import words
from jobs.checks import recording
from jobs.checks.recording import NewJob, SendAs
from jobs.models import Job
from jobs.reasons import JobCode
from notifications.messages.text import Text
from people.models import User
from work.broker.wakes import publish_after_commit
from work.models import DEAD_LETTERS
from work.reasons import NO_REASON, Reason

_AT_ONCE = timedelta(seconds=1)
_LISTED = ("cause", "count", "example")


class Check(NamedTuple):
    """What became of a job. The job's reason is its evidence, or why it failed."""

    job: Job

    @property
    def outcome(self) -> str:
        """A key of `words.check`."""
        job = self.job
        if job.state == job.words.done:
            return "silent" if job.notification_id is None else "spoke"
        if job.state in DEAD_LETTERS:
            return "failed"
        if job.state == job.words.working:
            return "checking"
        if job.state != "pending":
            return "dropped"
        if job.reason_code:
            return "retrying"
        # Recorded late, it is due at once.
        return "spread" if job.id < first_of(job.available_at - _AT_ONCE) else "waiting"

    @property
    def at(self) -> datetime | None:
        """When it runs, for one that waits."""
        return self.job.available_at if self.outcome in ("waiting", "spread", "retrying") else None

    @property
    def text(self) -> str:
        """A sentence; "at" and an instant follow if `at` is set."""
        return words.check(self.outcome, self.job.reason)

    @property
    def not_taken(self) -> list[dict[str, Any]]:
        return not_taken(self.job.reason_params)


def of_batches(user_id: int, batches: Collection[UUID]) -> dict[UUID, Check]:
    """The checks of a person, by the batch that caused each. One statement; none without batches."""
    return {job.batch_id: Check(job) for job in Job.objects.filter(user_id=user_id, batch_id__in=batches)}


_LAST = """
SELECT last.* FROM unnest(%s::uuid[]) AS given(origin_id),
       LATERAL (SELECT * FROM jobs_job WHERE origin_id = given.origin_id AND user_id = %s ORDER BY id DESC LIMIT 1) last
"""


def last(user_id: int, origins: Sequence[UUID]) -> dict[UUID, Check]:
    """The newest check of each of these reminders, by its id. One statement; none without reminders."""
    if not origins:
        return {}
    return {job.origin_id: Check(job) for job in Job.objects.raw(_LAST, [column(origins), user_id]) if job.origin_id}


def not_taken(params: Any) -> list[dict[str, Any]]:
    """Return the items that a check did not take: of each cause its text, how many, and one of them as an example."""
    lists = [listed for one in _chain(params) if isinstance(listed := one.get("listed"), list)]
    return [{name: one.get(name) for name in _LISTED} for some in lists for one in some if isinstance(one, Mapping)]


def silent_since(params: Any) -> datetime | None:
    """Since when a source has brought nothing, where that is long."""
    return _instant(params, "silent_since")


def answered_at(params: Any) -> datetime | None:
    """When the source gave the answer, where a check used one that was kept."""
    return _instant(params, "answered_at")


def _instant(params: Any, name: str) -> datetime | None:
    instants = [one[name] for one in _chain(params) if one.get(name)]
    return datetime.fromisoformat(instants[0]) if instants else None


def _chain(params: Any) -> Iterator[Mapping[str, Any]]:
    """The parameters of a reason, and of those that follow it."""
    while isinstance(params, Mapping):
        yield params
        following = params.get("then")
        params = following.get("params") if isinstance(following, Mapping) else None


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


def check_now(
    user: User,
    kind: str,
    payload: Mapping[str, Any],
    connection_id: UUID | None,
    send_as: SendAs,
    origin_id: UUID | None = None,
) -> Checked:
    """Record a job, and wait a moment for it. Do not call it in a transaction: no worker would see the job.

    `payload` is as the kind's form made it. It knows what the last check of `origin_id` left.
    """
    if not rate_limiter.allows(f"check-now:{user.pk}", A_MINUTE, 60.0):
        return Checked(outcome="failed", reason=Reason(JobCode.TOO_OFTEN, most=A_MINUTE))
    now = timezone.now()
    new = NewJob(
        user_id=user.pk,
        kind=kind,
        payload=payload,
        connection_id=connection_id,
        batch_id=uuid7(),
        slot=now,
        send_as=send_as,
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
