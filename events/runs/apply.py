"""Apply an event to the run of a flow, in the transaction that settles the event.

The run's row is locked without waiting: where somebody else has it, the settlement fails, and the event comes back
after a moment. What the code of a flow does wrong stops this run alone.
"""

import json
import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import uuid5

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse
from pydantic import ValidationError

from common import correlation
from common.database.postgres import blames_no_row, columns, execute, instance, is_locked
from common.time_limit import TimeLimitReached, limited
from common.uuid7 import child, uuid7
from events import flows
from events.flows.base import Flow, NewMessage, Turn, UnknownVersion
from events.intake import ledger, usage
from events.intake.handling import EventClaim, size_of
from events.intake.ledger import Happened
from events.models import Event, FlowEffect, FlowSettings, Run
from events.models.flow import LONGEST_KEY
from events.pure import matching, types
from events.pure.envelope import LARGEST_DATA, LONGEST_DELAY, MOST_AT_ONCE, Envelope, copy_of
from events.reasons import EventCode
from events.runs import steps
from notifications import providers
from notifications.deliveries import outbox, withdrawal
from notifications.deliveries.outbox import NewNotification
from notifications.messages import text
from notifications.models import Channel, Notification
from notifications.models.channel import usable
from people import quiet
from work.answers import Busy
from work.broker.wakes import publish_after_commit
from work.engine.manual import cancelled
from work.reasons import NO_REASON, Reason

log = logging.getLogger(__name__)

LARGEST_STATE = 64 * 1024
MOST_STEPS = 1_000
"""Steps of one run, begun in all."""
LONGEST_WAIT = 366 * 86_400  # seconds
SECONDS = 5
"""A handler computes; it may take so long."""
_OUTCOME = FlowEffect.Outcome


class Stopped(Exception):
    """The run cannot go on; nothing of this event is kept."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


def flows_for(event: EventClaim) -> list[Flow]:
    """The flows that may handle an event of this person: with settings also one that is off, for runs that are open."""
    found = [] if event.type in types.TO_RUNS else flows.of_type(event.type)
    return [flow for flow in found if flow.Settings is None or _settings(event.user_id, flow)]


def apply(event: EventClaim, flow: Flow) -> None:
    """Apply it to the run of its key. Raises what `apply_to_run` does."""
    try:
        key = limited(SECONDS, flow.key, event)
        if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY or "\0" in key:
            raise ValueError
        key.encode()  # no half of a surrogate pair
    except Exception as error:
        reason = Reason(EventCode.FLOW_NO_KEY, error=type(error).__name__)
        _record(event, flow.name, None, _OUTCOME.IGNORED, reason)
        return
    run = _lock(_BY_KEY, user=event.user_id, flow=flow.name, key=key)
    if run is None and flow.Settings is not None and _settings(event.user_id, flow, enabled=True) is None:
        return
    if run is None and flow.begins_on and event.type not in flow.begins_on:
        reason = Reason(EventCode.FLOW_NO_RUN, key=key, type=event.type)
        _record(event, flow.name, None, _OUTCOME.IGNORED, reason)
    else:
        _apply(event, flow, run or _begin(event, flow, key))


def apply_to_run(event: EventClaim) -> None:
    """Apply one that names its run. Nothing happens where the run was deleted.

    Raises Busy, or a database error for which `is_locked` is true, where somebody else has the run.
    """
    if (run := _lock(_BY_ID, id=event.data["run_id"], user=event.user_id)) is None:
        return
    if (flow := flows.find(run.flow)) is None:
        _stop(event, run, Reason(EventCode.FLOW_NOT_INSTALLED, flow=run.flow))
    else:
        _apply(event, flow, run)


def _apply(event: EventClaim, flow: Flow, run: Run) -> None:
    if ignored := _why_not(event, run):
        _record(event, run.flow, run, _OUTCOME.IGNORED, ignored)
        return
    try:
        with transaction.atomic():  # what the flow's code breaks is undone alone
            _advance(event, flow, run)
    except Stopped as stopped:
        _stop(event, run, stopped.reason)
    except Exception as error:
        if is_locked(error) or blames_no_row(error):
            raise
        log.error("The flow %s raised %s on %s %s", flow.name, type(error).__name__, event.type, event.id)
        _stop(event, run, Reason(EventCode.FLOW_FAULT, type=event.type, error=type(error).__name__))
    else:
        _record(event, run.flow, run, _OUTCOME.APPLIED, NO_REASON)


_SELECT = f"SELECT {columns(Run, 'r')} FROM events_run r"  # noqa: S608 - names of columns
_BY_KEY = f"""{_SELECT} WHERE r.user_id = %(user)s AND r.flow = %(flow)s AND r.key = %(key)s AND r.ended_at IS NULL
  FOR NO KEY UPDATE NOWAIT"""
_BY_ID = f"{_SELECT} WHERE r.id = %(id)s AND r.user_id = %(user)s FOR NO KEY UPDATE NOWAIT"
# An insert waits for a transaction that has inserted the same key: so only one may try.
_BEGIN = f"""
WITH may AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended(%(user)s || ' ' || %(flow)s || ' ' || %(key)s, 0)) AS begin
), r AS (
    INSERT INTO events_run (id, user_id, flow, key, version, status, state, correlation_id, correlation,
                            waits, applied, begun)
    SELECT %(id)s, %(user)s, %(flow)s, %(key)s, %(version)s, 'open', '{{}}', %(correlation_id)s, %(correlation)s,
           0, 0, 0
      FROM may WHERE may.begin
        ON CONFLICT DO NOTHING
 RETURNING *
)
SELECT {columns(Run, "r")} FROM r
"""  # noqa: S608 - names of columns
_UPDATE = """
UPDATE events_run
   SET version = %(version)s, status = %(status)s::text, state = %(state)s::jsonb, waits_for = %(waits_for)s,
       wait_until = %(until)s::timestamptz, waits = %(waits)s, applied = applied + 1, begun = begun + %(begun)s,
       changed_at = now(), ended_at = CASE WHEN %(status)s::text = 'finished' THEN now() END
 WHERE id = %(id)s
"""
_EFFECT = """
INSERT INTO events_floweffect (id, event_id, flow, run_id, outcome, reason_code, reason_params)
VALUES (%(id)s, %(event)s, %(flow)s, %(run)s, %(outcome)s, %(code)s, %(params)s::jsonb)
"""


def _lock(statement: str, **values: Any) -> Run | None:
    row = execute(statement, values).fetchone()
    return None if row is None else instance(Run, row)


def _begin(event: EventClaim, flow: Flow, key: str) -> Run:
    values = {"id": child(event.id, flow.name), "user": event.user_id, "flow": flow.name, "key": key}
    chain = {"correlation_id": correlation.key(event.chain), "correlation": correlation.text(event.chain)}
    row = execute(_BEGIN, {**values, **chain, "version": flow.version}).fetchone()
    if row is None:
        raise Busy
    return instance(Run, row)


def _record(event: EventClaim, flow: str, run: Run | None, outcome: str, reason: Reason) -> None:
    values = {"event": event.id, "flow": flow, "run": run and run.id, "outcome": outcome}
    execute(_EFFECT, {"id": uuid7(), **values, "code": reason.code, "params": reason.json})


def _why_not(event: EventClaim, run: Run) -> Reason | None:
    if run.status == Run.Status.STOPPED:
        return Reason(EventCode.FLOW_RUN_STOPPED)
    if run.ended_at is not None:
        return Reason(EventCode.FLOW_RUN_ENDED)
    if event.type == types.WAIT_OVER and (event.data["wait"] != run.waits or not run.waits_for):
        return Reason(EventCode.FLOW_WAIT_ENDED)
    return None


def _stop(event: EventClaim, run: Run, reason: Reason) -> None:
    values = {"reason_code": reason.code, "reason_params": reason.params, "changed_at": Now()}
    Run.objects.filter(id=run.id, ended_at=None).update(
        status=Run.Status.STOPPED, waits_for="", wait_until=None, **values
    )
    _record(event, run.flow, run, _OUTCOME.STOPPED, reason)


def _advance(event: EventClaim, flow: Flow, run: Run) -> None:
    """Call the handler, and write what it asks for. Raises what the flow's code raises, or Stopped."""
    is_new = not run.applied and not run.state
    stored = run.state
    if run.version != flow.version:
        try:
            stored = limited(SECONDS, flow.migrate, stored, run.version)
        except UnknownVersion:
            versions = {"stored": run.version, "installed": flow.version}
            raise Stopped(Reason(EventCode.FLOW_VERSION, **versions)) from None
    state = flow.State() if is_new else flow.State.model_validate(stored)
    chosen = _settings(event.user_id, flow)
    if flow.Settings is not None and chosen is None:
        raise Stopped(Reason(EventCode.FLOW_OFF))
    page = settings.BASE_URL + reverse("events:run", args=[run.id])
    turn = Turn(run.key, page, state, chosen, event.claimed_at)
    handler = flow.handlers.get((event.type, str(event.data.get("step", "")) if event.type in types.TO_RUNS else ""))
    if handler:
        try:
            limited(SECONDS, handler, flow, turn, event)
        except TimeLimitReached:
            raise Stopped(Reason(EventCode.FLOW_TOO_LONG, seconds=SECONDS, type=event.type)) from None
    _check(event, flow, run, turn)
    _write(event, flow, run, turn)


def _check(event: EventClaim, flow: Flow, run: Run, turn: Turn) -> None:
    """Raises Stopped where the flow asks for what it may not have."""
    for what, count, most in (
        ("events", len(turn.events), MOST_AT_ONCE),
        ("messages", len(turn.messages), MOST_AT_ONCE),
        ("steps", run.begun + len(turn.steps), MOST_STEPS),
    ):
        if count > most:
            raise Stopped(Reason(EventCode.FLOW_TOO_MANY, what=what, count=count, most=most, type=event.type))
    for emitted in turn.events:
        if not matching.TYPE.fullmatch(emitted.type) or len(emitted.type) > 100 or types.is_reserved(emitted.type):
            raise Stopped(Reason(EventCode.FLOW_BAD_TYPE, type=str(emitted.type)[:100]))
        stored_json("data", emitted.data, LARGEST_DATA)
    for step in turn.steps:
        if step.name not in flow.steps:
            raise Stopped(Reason(EventCode.FLOW_NO_STEP, flow=flow.name, step=step.name))
        stored_json("input", step.input, LARGEST_DATA)


def stored_json(what: str, value: Any, most: int) -> str:
    """JSON that PostgreSQL can keep, of at most so many bytes. Raises Stopped."""
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(written.encode())
        if "\\u0000" in written:
            raise ValueError("NUL")
    except (TypeError, ValueError, RecursionError) as error:
        raise Stopped(Reason(EventCode.FLOW_UNREADABLE, what=what, error=type(error).__name__)) from None
    if size > most:
        raise Stopped(Reason(EventCode.FLOW_TOO_LARGE, what=what, size=size, most=most))
    return written


def _write(event: EventClaim, flow: Flow, run: Run, turn: Turn) -> None:
    state = stored_json("state", turn.state.model_dump(mode="json"), LARGEST_STATE)
    waits_for, until, waits = run.waits_for, run.wait_until, run.waits
    if waits_for and (turn.waiting or turn.is_finished or event.type in (waits_for, types.WAIT_OVER)):
        _end_wait(event.user_id, run)
        waits_for, until = "", None
    new = [_event(event, flow, number, emitted) for number, emitted in enumerate(turn.events)]
    if turn.waiting and not turn.is_finished:
        waits_for, waits = turn.waiting.type[:100], waits + 1
        if turn.waiting.seconds is not None:
            seconds = min(max(turn.waiting.seconds, 1), LONGEST_WAIT)
            until = event.claimed_at + timedelta(seconds=seconds)
            new.append(_timer(event, run, waits, seconds))
    status = Run.Status.FINISHED if turn.is_finished else Run.Status.WAITING if waits_for else Run.Status.OPEN
    values = {"id": run.id, "version": flow.version, "status": str(status), "state": state, "begun": len(turn.steps)}
    execute(_UPDATE, {**values, "waits_for": waits_for, "until": until, "waits": waits})
    ledger.record_all([Happened(event.user_id, one) for one in new])
    if turn.withdraws:
        withdrawal.cancel(Notification.objects.filter(user=event.user_id, origin_id=run.id))
    own = Channel.objects.filter(user=event.user_id).for_messages().filter(usable()) if turn.messages else []
    messages = [_message(event, run, number, one, own) for number, one in enumerate(turn.messages)]
    steps_due = steps.begin(event, run, flow, turn.steps)
    publish_after_commit([*outbox.record(messages), *steps_due])
    if turn.is_finished:
        steps.cancel_open(run, Reason(EventCode.FLOW_RUN_ENDED))
    elif event.type in (types.STEP_DONE, types.STEP_FAILED):
        publish_after_commit(steps.release(run, event.data["step"]))
    stored = sum(map(size_of, messages)) + sum(len(one.data_text) for one in new) + len(state)
    usage.count(event.user_id, len(turn.events), stored)


def _event(event: EventClaim, flow: Flow, number: int, emitted: Any) -> Envelope:
    """Its key follows from the event, so that a repeat emits the same ones."""
    return Envelope(
        type=emitted.type,
        data=dict(emitted.data),
        source=f"flow.{flow.name}",
        key=str(uuid5(event.id, f"{flow.name} {number}")),
        correlation_id=event.correlation_id,
        hops=event.hops + 1,
        delay=min(max(int(emitted.delay), 0), LONGEST_DELAY),
    )


def _timer(event: EventClaim, run: Run, number: int, seconds: int) -> Envelope:
    data = {"wait": number}
    return steps.to_run(run.flow, run.id, types.WAIT_OVER, _timer_key(run, number), event, data, seconds)


def _timer_key(run: Run, number: int) -> str:
    return str(uuid5(run.id, f"wait {number}"))


def _end_wait(user_id: int, run: Run) -> None:
    if run.wait_until is not None:
        timer = Event.objects.filter(user=user_id, key=_timer_key(run, run.waits), state="pending")
        timer.update(**cancelled(Reason(EventCode.FLOW_WAIT_ENDED)))


def _message(event: EventClaim, run: Run, number: int, message: NewMessage, own: Iterable[Channel]) -> NewNotification:
    chosen = [one for one in own if one.id in message.channels]
    chosen = chosen or [one for one in own if one.provider not in providers.pulled()]
    subject = text.fit(" ".join(message.subject.split()), text.MAX_SUBJECT).text or run.flow
    return NewNotification(
        user_id=event.user_id,
        channels=[(one.id, one.provider) for one in chosen],
        subject=subject,
        body=text.fit(message.body, text.MAX_BODY).text,
        origin=Notification.Origin.EVENT,
        origin_id=run.id,
        batch_id=uuid5(event.id, f"{run.id} {number}"),
        id=child(event.id, f"{run.id} {number}"),
        correlation_id=event.correlation_id,
        hops=event.hops + 1,
        urgent=message.urgent,
        quiet_hours=None if message.urgent else quiet.wait(event.claimed_at, event.quiet),
        data=copy_of(event),
    )


def _settings(user_id: int, flow: Flow, **which: Any) -> Any:
    """The person's settings of the flow; None where it has none, or they cannot be read."""
    if flow.Settings is None:
        return None
    row = FlowSettings.objects.filter(user=user_id, flow=flow.name, **which).first()
    try:
        return row and flow.Settings.model_validate(row.settings)
    except ValidationError:
        return None
