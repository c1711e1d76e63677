"""Outcomes of checks: of the jobs of a reminder, for its pages and for Explain."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from common.database.postgres import column
from common.uuid7 import first_of
from jobs import words
from jobs.models import Job
from work.models import DEAD_LETTERS

_AT_ONCE = timedelta(seconds=1)
_LISTED = ("cause", "count", "example")


class Check(NamedTuple):
    """The outcome of a job, whose reason is its evidence, or why it failed."""

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


def instant(params: Any, name: str) -> datetime | None:
    """`name`: "silent_since", if a source brought nothing for long; "answered_at", if a check used a stored answer."""
    instants = [one[name] for one in _chain(params) if one.get(name)]
    return datetime.fromisoformat(instants[0]) if instants else None


def _chain(params: Any) -> Iterator[Mapping[str, Any]]:
    """The parameters of a reason, and of those that follow it."""
    while isinstance(params, Mapping):
        yield params
        following = params.get("then")
        params = following.get("params") if isinstance(following, Mapping) else None
