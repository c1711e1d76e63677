"""Note the failures of jobs that ended without their worker, so that their people hear of them too.

A worker notes the failure of a check as it settles it, see `deciding`. Others end as dead because the worker was lost,
a kind has a bug or their row is damaged, or become stale while they wait for another try.
"""

import logging
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from common.database.postgres import blames_no_row, query
from common.texts import languages
from jobs import words
from jobs.checks import deciding
from jobs.models import Job
from notifications.channels import owner_notices
from work.answers import Overtaken
from work.broker.wakes import publish_after_commit
from work.kinds import Kind
from work.reasons import Reason

log = logging.getLogger(__name__)

MOST = 100
"""So many at once; the others follow."""

# Nothing older is news. What was never tried has not failed.
MISSED = """SELECT id FROM jobs_job
 WHERE (state IN ('dead', 'unknown') OR (state = 'expired' AND tries > 0)) AND failures_noted <= replays
   AND settled_at > now() - interval '1 day' AND preview IS NULL"""
_READ = """
SELECT $claim, d.state, coalesce(a.reason_code, d.reason_code) AS reason_code,
       coalesce(a.reason_params, d.reason_params)::text AS reason_params
  FROM jobs_job d $joins
  LEFT JOIN LATERAL (
       SELECT reason_code, reason_params FROM jobs_jobattempt
        WHERE job_id = d.id AND replay = d.replays AND outcome NOT IN ('', 'released') AND d.state = 'expired'
        ORDER BY number DESC LIMIT 1) a ON true
 WHERE d.id = %(id)s AND d.state IN ('dead', 'unknown', 'expired') AND d.failures_noted <= d.replays
   FOR NO KEY UPDATE OF d SKIP LOCKED
"""


def note_missed(kind: Kind[Any]) -> int:
    """Note what no worker has noted. Returns how many."""
    return sum(_note(kind, row.id) for row in query(f"{MISSED} ORDER BY settled_at LIMIT %s", [MOST]))


def _note(kind: Kind[Any], job_id: UUID) -> bool:
    try:
        with transaction.atomic():
            rows = query(kind.sql(_READ), {"id": job_id})
            for row in rows:
                claim = kind.read(row)
                reason = Reason.read(row.reason_code, row.reason_params)
                with languages.override(claim.language):
                    deciding.fail(claim, reason, sends=row.state != "expired")
            return bool(rows)
    except Overtaken:
        return False  # rescue comes again
    except Exception as error:
        if blames_no_row(error):
            raise
        log.error("The failure of job %s cannot be noted: %s", job_id, type(error).__name__)
        return _note_damaged(job_id)


@transaction.atomic
def _note_damaged(job_id: UUID) -> bool:
    """Its texts cannot be read."""
    job = Job.objects.get(id=job_id)
    with languages.override(job.user.language):
        texts = words.failed(str(job), Reason(job.reason_code, **job.reason_params), 1, words.page_of(job.origin_id))
    notice = owner_notices.Notice(job.user_id, job.id, *texts)
    publish_after_commit(owner_notices.record([notice], job.settled_at or job.created_at))
    return bool(Job.objects.filter(id=job_id).update(failures_noted=F("replays") + 1))
