"""The job as a kind of work: what is loaded with a claim, the check, and what its decision writes."""

import logging
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from common import correlation
from common.database import postgres
from common.parsing.pool import ParsingUnavailable
from jobs import kinds
from jobs.checks import deciding, failures, limits, steps
from jobs.checks.claim import JobClaim
from jobs.checks.recording import CHECK
from jobs.kinds.base import Found, JobKind, Source
from jobs.models import Connection, Job, JobAttempt
from jobs.reading.fetch import Later, Refused
from jobs.reasons import JobCode
from work.answers import Answer, Cancel, Defer
from work.kinds import Kind
from work.reasons import Reason, WorkCode
from work.retry import Policy

log = logging.getLogger(__name__)

# It also counts releases for other reasons; but a page that the kernel ends for want of memory comes to an end.
_MOST_RELEASED = 30
# So often it waits for the answer of another check, which may fail. Then it asks, as one that shares no answer.
_MOST_WAITS = 10
CHECK_NOW = 10.0
"""Seconds for a check that a person waits for."""


class CheckKind(Kind[JobClaim]):
    task = CHECK
    queue = "jobs"
    model, attempts = Job, JobAttempt
    handler = "kind"
    source = "CASE WHEN d.connection_id IS NULL THEN '' ELSE 'connection' END"
    caused_by = "coalesce(d.origin_id::text, '')"
    chain = correlation.sql("d", "d.batch_id")
    queue_of = "nullif(d.queue, 'jobs')"
    most_tries = "CASE WHEN d.preview IS NOT NULL THEN 1 END"
    repeats = True  # a check changes nothing, and what it decides commits with the settlement, or not at all
    rescues = failures.MISSED
    claim = JobClaim
    columns = f"d.connection_id, {postgres.columns(Connection, 'c')}"
    joins = f"""{Kind.joins}
  LEFT JOIN jobs_connection c ON c.id = d.connection_id
  LEFT JOIN jobs_memory m
         ON m.origin_id = coalesce(d.origin_id, (d.preview->>'of')::uuid) AND m.user_id = d.user_id"""

    def keeps_receipt(self, receipt: Reason) -> bool:
        return True

    def from_row(self, row: Any) -> dict[str, Any]:
        source, unusable = _source(row)
        return {"source": source, "unusable": unusable}

    def prepare(self, claim: JobClaim) -> Defer | Cancel | Answer | Callable[[], Answer | Defer]:
        if not claim.is_active:
            return Cancel(Reason(JobCode.SWITCHED_OFF))
        if (kind := kinds.find(claim.handler)) is None:
            return deciding.failed(claim, Reason(JobCode.NO_KIND, kind=claim.handler))
        if claim.unusable:
            return deciding.failed(claim, claim.unusable)
        if kind.connection and kind.needs_connection and claim.source is None:
            return deciding.failed(claim, Reason(JobCode.NO_CONNECTION))
        return limits.limited(claim) or partial(self._check if claim.preview is None else self._preview, claim, kind)

    def _preview(self, claim: JobClaim, kind: JobKind) -> Answer | Defer:
        """Somebody waits for it: it is tried once, and a bug of the kind is told like any other failure."""
        try:
            return self._check(claim, kind, tries=1, deadline=CHECK_NOW, keep=False)
        except Exception as error:
            if postgres.blames_no_row(error):
                raise
            # Its text may hold a secret.
            log.error("%s raised %s in a check of a person", kind.name, type(error).__name__)
            return deciding.failed(claim, Reason(WorkCode.FAULT, kind=kind.name, error=type(error).__name__))

    def _check(self, claim: JobClaim, kind: JobKind, tries: int | None = None, **how: Any) -> Answer | Defer:
        try:
            with limits.counted(claim):
                ask = claim.ask()
                result = steps.check(kind, ask, may_wait=claim.released < _MOST_WAITS, **how)
        except ParsingUnavailable:
            busy = Reason(JobCode.PARSERS_BUSY)
            if claim.released >= _MOST_RELEASED:
                return deciding.failed(claim, busy)
            return Defer(min(60.0, 2.0 ** min(claim.released, 6)) * (0.5 + random.random()), busy)  # noqa: S311
        if isinstance(result, Defer):
            return result
        if isinstance(result, Later):
            return result if claim.tries < (tries or kind.policy.tries) else deciding.failed(claim, result.reason)
        follows = steps.decide(kind, ask, result) if isinstance(result, Found) else result
        if isinstance(follows, Refused):
            return deciding.failed(claim, follows.reason, disconnect=follows.disconnect)
        if isinstance(result, Found) and (at := result.answered_at):
            age = (claim.claimed_at - at).total_seconds()
            kept = Reason(JobCode.KEPT_ANSWER, age=max(0.0, age), answered_at=at.isoformat())
            follows = replace(follows, reason=follows.reason.then(kept))
        return deciding.decided(claim, follows)

    def policy(self, handler: str) -> Policy:
        kind = kinds.find(handler)
        return Policy(tries=1) if kind is None else kind.policy

    def rescue(self) -> int:
        return failures.note_missed(self)


def _source(row: Any) -> tuple[Source | None, Reason | None]:
    """The connection that a job uses, or why it cannot be used."""
    if row.connection_id is None:
        return None, None
    if row.c_id is None:
        return None, Reason(JobCode.NO_CONNECTION)
    connection = postgres.instance(Connection, row[row._fields.index("c_id") :])
    opened = steps.open_connection(connection)
    return (None, opened) if isinstance(opened, Reason) else (opened, None)


JOB = CheckKind()
