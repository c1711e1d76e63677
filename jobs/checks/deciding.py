"""Writes of a job that is decided or has failed: its notification, its memory, and what its person is told.

All of it commits with the settlement of the job, or not at all.
"""

import json
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from django.db.models import F

from common.database import fault_points
from common.database.postgres import change
from jobs import kinds, words
from jobs.checks.recording import JobClaim, SendAs
from jobs.kinds.base import KEEP, Nothing, Say
from jobs.models import Batch, Connection, Job
from jobs.models.connection import ConnectionQuerySet
from jobs.models.job import OnError
from jobs.reasons import JobCode
from notifications.channels import owner_notices
from notifications.channels.owner_notices import Notice
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification
from notifications.messages import text
from notifications.models import Channel, Notification
from people import quiet
from work.answers import Done, Failed, Overtaken
from work.broker.wakes import publish_after_commit
from work.reasons import Reason

# Names the batches of notices (RFC 9562, section 5.5).
_NOTICES = UUID("8a0c9b62-4f3e-4c26-9a55-0b6f9d1c7e43")
_AGAIN_AFTER = timedelta(days=1)


def decided(claim: JobClaim, decision: Say | Nothing) -> Done:
    """The answer for a decision. Without an effect, jobs that are settled at the same moment share a commit."""
    if claim.preview is not None:
        return _previewed(claim, decision.reason, decision)
    works_again = claim.failures > 0
    changes = decision.memory is not KEEP and decision.memory != claim.memory
    recovers = claim.source is not None and not claim.connection_works
    if isinstance(decision, Nothing) and not (works_again or changes or recovers or decision.effect):
        return Done(decision.reason)
    decide = partial(_decide, claim, decision, changes)
    return Done(decision.reason, before=decide) if decision.changes_reminders else Done(decision.reason, decide)


def _decide(claim: JobClaim, decision: Say | Nothing, changes: bool) -> None:
    wakes, memory = [], decision.memory if changes else KEEP
    if decision.effect is not None and (remembered := decision.effect()) is not None:
        memory = remembered
    if isinstance(decision, Say):
        wakes += _say(claim, decision)
    if memory is not KEEP or claim.failures:
        _remember(claim, memory, failures=0, since=None, told_at=None)
    wakes += owner_notices.record(_notices(claim, decision), claim.claimed_at)
    if not claim.connection_works:
        _connection(claim).note_success()
    publish_after_commit(wakes)
    fault_points.reach("recorded")


def _notices(claim: JobClaim, decision: Say | Nothing) -> list[Notice]:
    """Notices of the source to its owner: that it works again, and that it has long brought nothing."""
    notices = []
    if claim.told_at is not None:
        texts = words.works_again(claim.send_as.title, _page(claim))
        notices.append(_notice(claim, f"works again {claim.failing_since}", texts))
    if (since := getattr(decision, "silent_since", None)) and _hears(claim):
        notices.append(_notice(claim, f"silent {since}", words.silent(claim.send_as.title, since, _page(claim))))
    return notices


def failed(claim: JobClaim, reason: Reason, *, disconnect: bool = False) -> Done | Failed:
    """The answer for a check that failed and has no try left, as its person wants it.

    `disconnect`: its connection is disabled, until its person enters another secret.
    """
    if claim.preview is not None:
        return _previewed(claim, reason, None)
    effect = partial(fail, claim, reason, disconnect=disconnect)
    if claim.on_error == OnError.SEND:
        return Done(Reason(JobCode.SENT_ANYWAY, why=reason), effect)
    return Failed(reason, effect)


def _previewed(claim: JobClaim, reason: Reason, decision: Say | Nothing | None) -> Done:
    """Write what it would have said, and nothing else. `decision`: None where the check failed."""
    result: dict[str, Any] = {"outcome": "failed" if decision is None else "silent"}
    if isinstance(decision, Say):
        composed = compose(claim.send_as, claim.slot, decision)
        result = {"outcome": "spoke", "subject": composed.subject, "body": composed.body}
    return Done(reason, partial(Job.objects.filter(id=claim.id).update, preview=result))


def fail(claim: JobClaim, reason: Reason, *, disconnect: bool = False, sends: bool = True) -> None:
    """Write that no try is left: the failure, and what its person wants then. Without `sends`, it is stale."""
    is_sent = sends and claim.on_error == OnError.SEND
    wakes = _say(claim, _anyway(claim, reason)) if is_sent else []
    told_at = claim.told_at
    if not is_sent and _is_to_tell(claim):
        told_at = claim.claimed_at
        text_ = words.failed(claim.send_as.title, reason, claim.failures + 1, _page(claim))
        wakes += owner_notices.record([_notice(claim, f"failed {told_at:%Y-%m-%d}", text_)], claim.claimed_at)
    since = claim.failing_since or claim.claimed_at
    _remember(claim, KEEP, failures=claim.failures + 1, since=since, told_at=told_at)
    _connection(claim).note_failure(reason, disconnect)
    Job.objects.filter(id=claim.id).update(failures_noted=F("replays") + 1)
    publish_after_commit(wakes)
    fault_points.reach("recorded")


def _anyway(claim: JobClaim, reason: Reason) -> Say:
    """The reminder's own texts, without what a check would have found, and why."""
    kind = kinds.find(claim.handler)
    unknown = dict.fromkeys(kind.placeholders if kind else (), str(words.UNKNOWN))
    body = f"{claim.send_as.body}\n\n{{problem}}"
    evidence = Reason(JobCode.SENT_ANYWAY, why=reason)
    return Say(evidence, unknown | {"problem": words.sent_anyway(reason)}, body=body)


def _connection(claim: JobClaim) -> ConnectionQuerySet:
    """Its connection; none where its person has entered other secrets meanwhile, of which this check says nothing."""
    if claim.source is None:
        return Connection.objects.none()
    return Connection.objects.filter(id=claim.source.id, version=claim.source.version)


def _is_to_tell(claim: JobClaim) -> bool:
    """Whether the person hears of this failure now."""
    if not _hears(claim) or (claim.on_error == OnError.AFTER and claim.failures + 1 < claim.errors_allowed):
        return False
    return claim.told_at is None or claim.claimed_at - claim.told_at >= _AGAIN_AFTER


_REMEMBER = """
INSERT INTO jobs_memory AS m (origin_id, user_id, state, version, failures, failing_since, told_at)
VALUES (%(origin)s, %(user)s, %(state)s::jsonb, 1, %(failures)s, %(since)s, %(told_at)s)
ON CONFLICT (origin_id, user_id) DO UPDATE
   SET state = CASE WHEN %(changes)s THEN excluded.state ELSE m.state END, version = m.version + 1,
       failures = excluded.failures, failing_since = excluded.failing_since, told_at = excluded.told_at,
       changed_at = now()
 WHERE m.version = %(version)s
"""


def _remember(claim: JobClaim, state: Any, *, failures: int, since: datetime | None, told_at: datetime | None) -> None:
    """Raises `Overtaken` where another job of the reminder has decided since the claim, from the same memory."""
    if claim.origin_id is None:
        return
    values = {
        "origin": claim.origin_id,
        "user": claim.user_id,
        "state": None if state is KEEP else json.dumps(state),
        "changes": state is not KEEP,
        "failures": failures,
        "since": since,
        "told_at": told_at,
        "version": claim.memory_version,
    }
    if not change(_REMEMBER, values):
        raise Overtaken


def compose(send_as: SendAs, slot: datetime, decision: Say) -> text.Text:
    return text.compose(
        send_as.title if decision.title is None else decision.title,
        send_as.body if decision.body is None else decision.body,
        name=send_as.name,
        slot=slot,
        time_zone=send_as.time_zone,
        more=decision.words,
    )


def _say(claim: JobClaim, decision: Say) -> list[Any]:
    as_, composed = claim.send_as, compose(claim.send_as, claim.slot, decision)
    own = Channel.objects.read_by_people().filter(user=claim.user_id)
    new = NewNotification(
        user_id=claim.user_id,
        channels=list(own.values_list("id", "provider")) if as_.channels is None else as_.channels,
        subject=composed.subject,
        body=composed.body,
        origin=Notification.Origin(as_.origin),
        batch_id=claim.batch_id,
        correlation_id=claim.correlation_id,
        origin_id=claim.origin_id,
        slot=claim.slot,
        expires_at=claim.expires_at,
        quiet_hours=quiet.wait(claim.claimed_at, claim.quiet),
        **as_.options(),
    )
    wakes = outbox.record([new])
    Job.objects.filter(id=claim.id).update(notification_id=new.id)
    return wakes


def _notice(claim: JobClaim, cause: str, texts: tuple[str, str]) -> Notice:
    return Notice(claim.user_id, uuid5(_NOTICES, f"{claim.origin_id} {claim.user_id} {cause}"), *texts)


def _page(claim: JobClaim) -> str:
    return words.page_of(None if _is_for_audience(claim) else claim.origin_id)


def _hears(claim: JobClaim) -> bool:
    """Whether the person hears how the check goes. Those of an audience hear of their own connections only."""
    return claim.source is not None or not _is_for_audience(claim)


def _is_for_audience(claim: JobClaim) -> bool:
    """Whether its reminder is somebody else's, so that its person cannot open it."""
    return Batch.objects.filter(id=claim.batch_id).exists()
