"""Series: texts that follow each other with delays, until something ends them. Each step is a job of its own.

The decision on a step records the next one in its own transaction, so that a step is neither lost nor doubled: the
batch of a step follows from the series and its number.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from django.utils import timezone
from django.utils.translation import gettext_noop as _

from common.times import dates
from jobs.checks import recording
from jobs.checks.recording import NewJob, SendAs
from jobs.kinds.base import Ask, Nothing, Say
from jobs.models import Job
from work.broker.wakes import publish_after_commit
from work.reasons import FORMATS, Codes, Reason

MOST_STEPS = 20
LONGEST = timedelta(days=365)


def _at(written: str) -> str:
    """On the clock of the reader, with its zone."""
    at = timezone.localtime(datetime.fromisoformat(written))
    return f"{dates.short(at)} {at:%Z}"


FORMATS["at"] = _at


class StepCode(Codes):
    BEGUN = "series-begun", _("began the series: step 1 of {of} follows at {at:at}")
    SAID = "series-said", _("said step {step} of {of}")
    SKIPPED = "series-skipped", _("left out step {step} of {of}, which is done")
    ENDED = "series-ended", _("ended the series at step {step} of {of}: {why}")


@dataclass(frozen=True, slots=True)
class Step:
    """`after`: since the series began. `words`: values of placeholders in its texts."""

    after: timedelta
    title: str
    body: str = ""
    is_done: bool = False
    words: Mapping[str, str] = field(default_factory=dict)


def is_step(payload: Mapping[str, Any], of: int) -> bool:
    """Whether the payload is that of one of the steps, or of the beginning."""
    step = payload.get("step", 0)
    return type(step) is int and 0 <= step < of


def decide(ask: Ask, steps: Sequence[Step], ended: Reason | None = None) -> Say | Nothing:
    """Say the step that `ask` is of, unless the series has ended or the step is done, and record the next."""
    number, of = ask.payload.get("step"), len(steps)
    if number is None and not ended and steps[0].after:
        at = (ask.slot + steps[0].after).isoformat()
        return Nothing(Reason(StepCode.BEGUN, of=of, at=at), effect=partial(_record, ask, 0, steps[0].after))
    number = number or 0
    if ended:
        return Nothing(Reason(StepCode.ENDED, step=number + 1, of=of, why=ended))
    step = steps[number]
    following = next((later for later in range(number + 1, of) if not steps[later].is_done), None)
    effect = None if following is None else partial(_record, ask, following, steps[following].after)
    if step.is_done:
        return Nothing(Reason(StepCode.SKIPPED, step=number + 1, of=of), effect=effect)
    evidence = Reason(StepCode.SAID, step=number + 1, of=of)
    return Say(evidence, step.words, title=step.title, body=step.body, effect=effect)


def _record(ask: Ask, number: int, after: timedelta) -> None:
    """Record a step, sent as the one before it; none once its reminder was paused or deleted during the check."""
    assert ask.job_id is not None  # noqa: S101 - effects are those of jobs
    job = Job.objects.get(id=ask.job_id)
    if job.expires_at is not None and job.expires_at <= timezone.now():
        return
    first = UUID(job.payload["series"]) if "series" in job.payload else job.batch_id
    started = datetime.fromisoformat(job.payload["begun"]) if "begun" in job.payload else job.slot
    at = started + after
    step = NewJob(
        user_id=job.user_id,
        kind=job.kind,
        payload={**job.payload, "series": str(first), "begun": started.isoformat(), "step": number},
        connection_id=job.connection_id,
        batch_id=uuid5(first, str(number)),
        correlation_id=job.chain or str(first),
        origin_id=job.origin_id,
        slot=at,
        available_at=at,
        expires_at=None if job.expires_at is None else job.expires_at + (at - job.slot),
        send_as=SendAs.read(json.dumps(job.message)),
        on_error=job.on_error,
        errors_allowed=job.errors_allowed,
    )
    publish_after_commit(recording.record([step]))
