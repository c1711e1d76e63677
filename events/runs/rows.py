"""Lock runs, begin those that do not exist, and write what became of them and of events.

Nobody is waited for. What is written is written in the transaction that settles the events.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from common.database import correlation, fault_points
from common.database.postgres import column, columns, execute, instance
from common.database.rows import Json, Rows
from common.uuid7 import child, uuid7
from events.flows.base import Flow, NewMessage
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

NOWAIT, SKIP = "NOWAIT", "SKIP LOCKED"
"""If somebody else has locked a run: raise an error for which `is_locked` is true, or leave the run out."""


class Target(NamedTuple):
    user_id: int
    flow: str
    key: str


class NewRun(NamedTuple):
    event: EventClaim
    flow: Flow
    key: str


_TARGETS = Rows("given", Target)
_SELECT = f"SELECT {columns(Run, 'r')} FROM events_run r"  # noqa: S608 - names of columns
_BY_TARGET = f"""{_SELECT} JOIN {_TARGETS.sql} USING (user_id, flow, key) WHERE r.ended_at IS NULL
  FOR NO KEY UPDATE OF r"""
_BY_ID = f"{_SELECT} WHERE r.id = ANY(%(ids)s::uuid[]) FOR NO KEY UPDATE"
_NEW = Rows(
    "new",
    id=(UUID, lambda new: child(new.event.id, new.flow.name)),
    user_id=(int, lambda new: new.event.user_id),
    flow=(str, lambda new: new.flow.name),
    key=(str, lambda new: new.key),
    version=(int, lambda new: new.flow.version),
    correlation_id=(UUID, lambda new: correlation.key(new.event.chain)),
    correlation=(str, lambda new: correlation.text(new.event.chain)),
)
# An insert waits for a transaction that has inserted the same key: so only one may try.
_INSERT = _NEW.insert("events_run AS r", status="'open'", state="'{}'", waits="0", applied="0", begun="0")
_BEGIN = f"""
{_INSERT} WHERE pg_try_advisory_xact_lock(hashtextextended(user_id || ' ' || flow || ' ' || key, 0))
     ON CONFLICT DO NOTHING
RETURNING {columns(Run, "r")}
"""


def by_key(targets: Iterable[Target], otherwise: str) -> dict[Target, Run]:
    """The open runs of these keys. `otherwise`: see `NOWAIT` and `SKIP`."""
    return _by_target(execute(f"{_BY_TARGET} {otherwise}", _TARGETS.values(targets)))


def by_id(ids: Iterable[UUID], otherwise: str) -> dict[UUID, Run]:
    rows = execute(f"{_BY_ID} {otherwise}", {"ids": column(ids)}).fetchall()
    return {run.id: run for run in (instance(Run, row) for row in rows)}


def begin(new: Iterable[NewRun]) -> dict[Target, Run]:
    """Begin a run of each key, but for those of which somebody else has one, or begins it now."""
    return _by_target(execute(_BEGIN, _NEW.values(new)))


def _by_target(rows: Iterable[Any]) -> dict[Target, Run]:
    return {Target(run.user_id, run.flow, run.key): run for run in (instance(Run, row) for row in rows)}


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
    own = list(Channel.objects.filter(usable(), user=event.user_id))
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
