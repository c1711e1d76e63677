"""Steps of a run: started, put on hold and released, and given to the run as events when they end."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction
from django.db.models import Count, F

from common.database import correlation
from common.database.postgres import query
from common.uuid7 import child
from events.flows.base import Flow, NewStep
from events.intake import ledger
from events.intake.ledger import Happened
from events.models import Run, Step
from events.pure import types
from events.pure.envelope import Envelope
from work.broker import wakes
from work.broker.wakes import Wake
from work.engine import manual
from work.models import DEAD_LETTERS
from work.reasons import Reason

RUN_STEP = "events.run_step"

MISSED = """SELECT id FROM events_step
 WHERE state IN ('dead', 'unknown') AND failures_noted <= replays AND settled_at IS NOT NULL"""
_MOST = 100
_RELEASE = """
UPDATE events_step d SET wake_at = now() + interval '10 seconds', available_at = now()
 WHERE id = (SELECT id FROM events_step
              WHERE run_id = %s AND handler = %s AND state = 'pending' AND wake_at IS NULL ORDER BY id LIMIT 1)
RETURNING id, user_id
"""


def begin(event: Any, run: Run, flow: Flow, new: Sequence[NewStep]) -> list[Wake]:
    """Insert steps, with ids that follow from the event. Returns what to publish after the commit."""
    given = [one.key for one in new if one.key]
    existing = set(Step.objects.filter(run=run, key__in=given).values_list("handler", "key"))
    working = _working(run, new)
    made: list[Step] = []
    for number, one in enumerate(new):
        handler, key = f"{flow.name}.{one.name}", one.key or f"{event.id} {number}"
        if (handler, key) in existing:
            continue
        existing.add((handler, key))
        on_hold = one.most_open is not None and working[handler] >= one.most_open
        working[handler] += not on_hold
        made.append(
            Step(
                id=child(event.id, f"{run.id} {handler} {key}"),
                user_id=event.user_id,
                run=run,
                handler=handler,
                key=key,
                input=dict(one.input),
                correlation_id=correlation.key_of(event.chain),
                correlation=correlation.text(event.chain),
                hops=event.hops,
                wake_at=None if on_hold else event.claimed_at + timedelta(seconds=wakes.wake_in(0.0)),
            )
        )
    Step.objects.bulk_create(made)
    return [Wake(RUN_STEP, one.id, 0.0, one.user_id) for one in made if one.wake_at is not None]


def _working(run: Run, new: Sequence[NewStep]) -> Counter[str]:
    """How many, by name, work now or soon; held ones do not count, dead letters do. Empty where no new one asks."""
    if all(one.most_open is None for one in new):
        return Counter()
    states = ("pending", "working", *DEAD_LETTERS)
    stored = Step.objects.filter(run=run, state__in=states).exclude(state="pending", wake_at=None)
    return Counter(dict(stored.values_list("handler").annotate(count=Count("id"))))


def release(run: Run, name: str) -> list[Wake]:
    """Have the oldest held step of this name run."""
    return [Wake(RUN_STEP, row.id, 0.0, row.user_id) for row in query(_RELEASE, [run.id, f"{run.flow}.{name}"])]


def cancel_open(run: Run, reason: Reason) -> None:
    """Those that are not being worked on."""
    manual.cancel(Step, Step.objects.filter(run=run, state="pending").values_list("id", flat=True), reason)


def to_run(
    flow: str, run_id: UUID, type: str, key: str, cause: Any, data: Mapping[str, Any], delay: int = 0
) -> Envelope:
    """An event to one run. `cause` has the correlation id and the hops, which such an event does not raise."""
    return Envelope(
        type=type,
        data={"flow": flow, "run_id": str(run_id), **data},
        source=types.SOURCE,
        key=key,
        correlation_id=cause.chain,
        hops=cause.hops,
        delay=delay,
    )


def tell_run(step: Any, type: str, key: str, **data: Any) -> None:
    """Record the event to the run of a step (or its claim), in the caller's transaction. The same key is one event."""
    flow, _, name = step.handler.partition(".")
    about = {"step": name, "key": step.key, "input": step.input, **data}
    envelope = to_run(flow, step.run_id, type, str(uuid5(step.id, key)), step, about)
    ledger.record_all([Happened(step.user_id, envelope)])


def tell_skipped(ids: Iterable[UUID]) -> None:
    """Have the runs of these steps go on as if they were done, with an empty result: nobody will do them."""
    for step in Step.objects.filter(id__in=list(ids)):
        tell_run(step, types.STEP_DONE, f"skipped {step.replays}", result={}, skipped=True)


def note_failure(step_id: UUID) -> bool:
    """Tell the run of a step that is a dead letter, once for each time that it became one."""
    with transaction.atomic():
        dead = Step.objects.filter(id=step_id, state__in=DEAD_LETTERS, failures_noted__lte=F("replays"))
        for step in dead.select_for_update(skip_locked=True, no_key=True):
            tell_run(step, types.STEP_FAILED, f"failed {step.replays}", reason=step.reason_code)
            return bool(Step.objects.filter(id=step_id).update(failures_noted=step.replays + 1))
    return False


def note_failures() -> int:
    """Tell the runs of steps that ended without their worker. Returns how many."""
    return sum(note_failure(row.id) for row in query(f"{MISSED} ORDER BY settled_at LIMIT %s", [_MOST]))
