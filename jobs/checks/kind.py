"""The job as a kind of work: what is loaded with a claim, the check, and what its decision writes.

A worker notes the failure of a check as it settles it, see `deciding`; rescue notes those that ended without a worker.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from common.database import correlation, postgres
from common.parsing.pool import ParsingUnavailable
from common.texts import languages
from jobs import kinds, words
from jobs.checks import deciding, limits, steps
from jobs.checks.recording import CHECK, JobClaim
from jobs.kinds.base import Found, JobKind, Source
from jobs.models import Connection, Job, JobAttempt
from jobs.reading.fetch import Later, Refused
from jobs.reasons import JobCode
from notifications.channels import owner_notices
from work.answers import Answer, Cancel, Defer, Overtaken
from work.broker.wakes import publish_after_commit
from work.kinds import Kind
from work.reasons import Reason, WorkCode
from work.retry import Policy, wait_when_busy

log = logging.getLogger(__name__)

# It also counts releases for other reasons; but a page that the kernel ends for want of memory comes to an end.
_MOST_RELEASED = 30
# So often it waits for the answer of another check, which may fail. Then it asks, as one that shares no answer.
_MOST_WAITS = 10
CHECK_NOW = 10.0
"""Seconds for a check that a person waits for."""
MOST = 100
"""Failures that are noted at once; the others follow."""
# Dead because the worker was lost, a kind has a bug or their row is damaged; or stale while they waited for another
# try. Nothing older is news. What was never tried has not failed.
MISSED = """SELECT id FROM jobs_job
 WHERE (state IN ('dead', 'unknown') OR (state = 'expired' AND tries > 0)) AND failures_noted <= replays
   AND settled_at > now() - interval '1 day' AND preview IS NULL"""
_UNNOTED = """
SELECT $claim, d.state, coalesce(a.reason_code, d.reason_code) AS reason_code,
       coalesce(a.reason_params, d.reason_params)::text AS reason_params
  FROM jobs_job d $joins
  LEFT JOIN LATERAL (
       SELECT reason_code, reason_params FROM jobs_jobattempt
        WHERE job_id = d.id AND replay = d.replays AND outcome <> 'released' AND d.state = 'expired'
        ORDER BY number DESC LIMIT 1) a ON true
 WHERE d.id = %(id)s AND d.state IN ('dead', 'unknown', 'expired') AND d.failures_noted <= d.replays
   FOR NO KEY UPDATE OF d SKIP LOCKED
"""


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
    rescues = MISSED
    claim = JobClaim
    columns = {"connection_id": "d.connection_id"} | {
        f"c_{field.column}": f"c.{field.column}" for field in Connection._meta.concrete_fields
    }
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

    def _check(self, claim: JobClaim, kind: JobKind, tries: float = math.inf, **how: Any) -> Answer | Defer:
        try:
            with limits.counted(claim):
                ask = claim.ask()
                result = steps.check(kind, ask, may_wait=claim.released < _MOST_WAITS, **how)
        except ParsingUnavailable:
            busy = Reason(JobCode.PARSERS_BUSY)
            if claim.released >= _MOST_RELEASED:
                return deciding.failed(claim, busy)
            return Defer(wait_when_busy(1.0, 60.0, claim.released), busy)
        if isinstance(result, Defer):
            return result
        if isinstance(result, Later):
            return result if claim.tries < min(tries, kind.policy.tries) else deciding.failed(claim, result.reason)
        follows = steps.decide(kind, ask, result) if isinstance(result, Found) else result
        if isinstance(follows, Refused):
            return deciding.failed(claim, follows.reason, disconnect=follows.disconnect)
        if isinstance(result, Found) and (at := result.answered_at):
            age = (claim.claimed_at - at).total_seconds()
            note = Reason(JobCode.KEPT_ANSWER, age=max(0.0, age), answered_at=at.isoformat())
            follows = replace(follows, reason=follows.reason.then(note))
        return deciding.decided(claim, follows)

    def policy(self, handler: str) -> Policy:
        kind = kinds.find(handler)
        return Policy(tries=1) if kind is None else kind.policy

    def rescue(self) -> int:
        """Note the failures that no worker has noted. Returns how many."""
        return sum(self._note(row.id) for row in postgres.query(f"{MISSED} ORDER BY settled_at LIMIT %s", [MOST]))

    def _note(self, job_id: UUID) -> bool:
        try:
            with transaction.atomic():
                rows = postgres.query(self.sql(_UNNOTED), {"id": job_id})
                for row in rows:
                    claim = self.read(row)
                    reason = Reason.read(row.reason_code, row.reason_params)
                    with languages.override(claim.language):
                        deciding.fail(claim, reason, sends=row.state != "expired")
                return bool(rows)
        except Overtaken:
            return False  # rescue comes again
        except Exception as error:
            if postgres.blames_no_row(error):
                raise
            log.error("The failure of job %s cannot be noted: %s", job_id, type(error).__name__)
            return _note_damaged(job_id)


def _source(row: Any) -> tuple[Source | None, Reason | None]:
    """The connection that a job uses, or why it cannot be used."""
    if row.connection_id is None:
        return None, None
    connection = postgres.instance(Connection, row[row._fields.index("c_id") :])
    opened = steps.open_connection(connection)
    return (None, opened) if isinstance(opened, Reason) else (opened, None)


JOB = CheckKind()


@transaction.atomic
def _note_damaged(job_id: UUID) -> bool:
    """Its texts cannot be read."""
    job = Job.objects.get(id=job_id)
    with languages.override(job.user.language):
        texts = words.failed(str(job), Reason(job.reason_code, **job.reason_params), 1, words.page_of(job.origin_id))
    notice = owner_notices.Notice(job.user_id, job.id, *texts)
    publish_after_commit(owner_notices.record([notice], job.settled_at or job.created_at))
    return bool(Job.objects.filter(id=job_id).update(failures_noted=F("replays") + 1))
