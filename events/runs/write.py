"""Write what became of runs and of events, in the transaction that settles the events."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from common.database import fault_points
from common.database.postgres import execute
from common.database.rows import Json, Rows
from common.uuid7 import child, uuid7
from events.flows.base import NewMessage
from events.intake import ledger, usage
from events.intake.handling import EventClaim, size_of
from events.intake.ledger import Happened
from events.models import Event, FlowEffect, Run
from events.pure import types
from events.pure.envelope import copy_of
from events.reasons import EventCode
from events.runs import steps
from events.runs.advance import Advanced
from notifications import providers
from notifications.deliveries import outbox, withdrawal
from notifications.deliveries.outbox import NewNotification
from notifications.messages import text
from notifications.models import Channel, Notification
from notifications.models.channel import usable
from people import quiet
from work.broker.wakes import Wake, publish_after_commit
from work.engine.manual import cancelled
from work.reasons import NO_REASON, Reason

_TYPES = {"version": int, "status": str, "waits_for": str, "wait_until": datetime}
_TYPES |= {"waits": int, "applied": int, "begun": int}
_WRITTEN: dict[str, Any] = {name: (type, attrgetter(f"run.{name}")) for name, type in _TYPES.items()}
_RUNS = Rows("new", id=(UUID, attrgetter("run.id")), state=(Json, attrgetter("state")), **_WRITTEN)
_UPDATE = f"""
UPDATE events_run d
   SET state = new.state, {", ".join(f"{name} = new.{name}" for name in _WRITTEN)},
       changed_at = now(), ended_at = CASE WHEN new.status = 'finished' THEN now() END
  FROM {_RUNS.sql} WHERE d.id = new.id
"""  # noqa: S608 - names of columns


class NewEffect(NamedTuple):
    """An effect of an event in a flow; `run_id` is None where it has none."""

    event_id: UUID
    flow: str
    run_id: UUID | None
    outcome: FlowEffect.Outcome
    reason: Reason = NO_REASON


_EFFECTS = Rows(
    "e",
    NewEffect,
    without=("reason",),
    id=(UUID, lambda _: uuid7()),
    reason_code=(str, attrgetter("reason.code")),
    reason_params=(Json, attrgetter("reason.json")),
)
_RECORD_EFFECTS = _EFFECTS.insert("events_floweffect")


def record_effects(effects: Iterable[NewEffect]) -> None:
    execute(_RECORD_EFFECTS, _EFFECTS.values(effects))


def write(advanced: Sequence[Advanced]) -> None:
    """Write the runs, and what their handlers asked for; those of one run in the order in which it was advanced."""
    execute(_UPDATE, _RUNS.values({one.run.id: one for one in advanced}.values()))
    ledger.record_all([Happened(one.event.user_id, new) for one in advanced for new in one.events])
    messages: list[NewNotification] = []
    due: list[Wake] = []
    events, stored = Counter[int](), Counter[int]()
    for one in advanced:
        event, run, turn = one.event, one.run, one.turn
        _withdraw(one)
        new = _messages(event, run, turn.messages)
        messages += new
        due += steps.begin(event, run, one.flow, turn.steps)
        if turn.is_finished:
            steps.cancel_open(run, Reason(EventCode.FLOW_RUN_ENDED))
        elif event.type in (types.STEP_DONE, types.STEP_FAILED):
            due += steps.release(run, event.data["step"])
        events[event.user_id] += len(turn.events)
        stored[event.user_id] += sum(map(size_of, new)) + sum(len(new.data_text) for new in one.events) + len(one.state)
    publish_after_commit([*outbox.record(messages), *due])
    record_effects(NewEffect(one.event.id, one.run.flow, one.run.id, FlowEffect.Outcome.APPLIED) for one in advanced)
    usage.count(*((person, events[person], stored[person]) for person in stored))
    fault_points.reach("recorded")


def _withdraw(advanced: Advanced) -> None:
    """The timer of a wait that has ended, and the messages that the handler takes back."""
    own = {"user": advanced.event.user_id}
    if advanced.ended_timer:
        timer = Event.objects.filter(**own, key=advanced.ended_timer, state="pending")
        timer.update(**cancelled(Reason(EventCode.FLOW_WAIT_ENDED)))
    if advanced.turn.withdraws:
        withdrawal.cancel(Notification.objects.filter(**own, origin_id=advanced.run.id))


def _messages(event: EventClaim, run: Run, given: Sequence[NewMessage]) -> list[NewNotification]:
    if not given:
        return []
    own = list(Channel.objects.filter(user=event.user_id).for_messages().filter(usable()))
    return [_message(event, run, number, one, own) for number, one in enumerate(given)]


def _message(event: EventClaim, run: Run, number: int, message: NewMessage, own: Sequence[Channel]) -> NewNotification:
    chosen = [one for one in own if one.id in message.channels]
    chosen = chosen or [one for one in own if one.provider not in providers.pulled()]
    written = text.cut(message.subject, text.literal(message.body), run.flow)
    return NewNotification(
        user_id=event.user_id,
        channels=[(one.id, one.provider) for one in chosen],
        subject=written.subject,
        body=written.body,
        origin=Notification.Origin.EVENT,
        origin_id=run.id,
        batch_id=uuid5(event.id, f"{run.id} {number}"),
        id=child(event.id, f"{run.id} {number}"),
        correlation_id=event.chain,
        hops=event.hops + 1,
        urgent=message.urgent,
        quiet_hours=None if message.urgent else quiet.wait(event.claimed_at, event.quiet),
        data=copy_of(event),
    )
