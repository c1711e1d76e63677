"""Apply an event to the run of a flow, in the transaction that settles the event: alone, or with others.

Alone, a run's row is locked without waiting: where somebody else has it, the settlement fails, and the event comes back
after a moment. What the code of a flow does wrong stops its run alone.

Events that are settled at the same moment, of any people and runs, share a transaction in the usual case: what a flow
does wrong, what withdraws or ends, and what takes long is left to be applied alone.
"""

import logging
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from pydantic import ValidationError

from common.database.group_commit import Alone
from common.database.postgres import blames_no_row, column, execute, is_locked
from common.texts import languages
from common.uuid7 import first_of
from events import flows
from events.flows.base import Flow
from events.intake.handling import EventClaim
from events.models import FlowEffect, FlowSettings, Run
from events.pure import types
from events.pure.envelope import MOST_AT_ONCE
from events.pure.time_limit import TimeLimitReached
from events.reasons import EventCode
from events.runs import rows
from events.runs.advance import SECONDS, Advanced, Stopped, advance, key_of, why_not
from events.runs.rows import NOWAIT, SKIP, NewEffect, NewRun, Target, record_effects, write
from work.answers import Busy
from work.kinds import Settle
from work.reasons import Reason

log = logging.getLogger(__name__)

_OUTCOME = FlowEffect.Outcome
SECONDS_TOGETHER = 0.2
"""So long others wait for the handlers of one transaction, and as much again for the last."""


def flows_for(event: EventClaim) -> list[Flow]:
    """The flows that may handle an event of this person: with settings also one that is off, for runs that are open."""
    result = [] if event.type in types.TO_RUNS else flows.of_type(event.type)
    return [flow for flow in result if flow.Settings is None or settings_of(event.user_id, flow)]


def apply(event: EventClaim, flow: Flow) -> None:
    """Apply it to the run of its key. Raises what `apply_to_run` does, and Busy before an event that begins the run."""
    try:
        key = key_of(event, flow, SECONDS)
    except Exception as error:
        reason = Reason(EventCode.FLOW_NO_KEY, error=type(error).__name__)
        record_effects([NewEffect(event.id, flow.name, None, _OUTCOME.IGNORED, reason)])
        return
    target = Target(event.user_id, flow.name, key)
    run = rows.by_key([target], NOWAIT).get(target)
    if run is None and flow.Settings is not None and settings_of(event.user_id, flow, enabled=True) is None:
        return
    if run is None and not may_begin(event, flow):
        if _is_early(event, flow):
            raise Busy
        reason = Reason(EventCode.FLOW_NO_RUN, key=key, type=event.type)
        record_effects([NewEffect(event.id, flow.name, None, _OUTCOME.IGNORED, reason)])
        return
    run = run or rows.begin([NewRun(event, flow, key)]).get(target)
    if run is None:
        raise Busy
    _apply(event, flow, run)


# By `event_of_type`. A person publishes a bounded number of events a day.
_EARLIER = """
SELECT FROM events_event
 WHERE user_id = %(user)s AND type = ANY(%(types)s::text[]) AND id < %(id)s AND id > %(since)s
   AND settled_at IS NULL AND available_at <= now() LIMIT 1
"""


def _is_early(event: EventClaim, flow: Flow) -> bool:
    """Whether an event that was recorded before, within a day, is still to be handled and may begin the run."""
    since = first_of(event.created_at - timedelta(days=1))
    values = {"user": event.user_id, "types": column(flow.begins_on), "id": event.id, "since": since}
    return bool(execute(_EARLIER, values).fetchall())


def may_begin(event: EventClaim, flow: Flow) -> bool:
    return not flow.begins_on or event.type in flow.begins_on


def apply_to_run(event: EventClaim) -> None:
    """Apply one that names its run. Nothing happens where the run was deleted.

    Raises Busy, or a database error for which `is_locked` is true, where somebody else has the run.
    """
    run_id = UUID(event.data["run_id"])
    run = rows.by_id([run_id], NOWAIT).get(run_id)
    if run is None or run.user_id != event.user_id:
        return
    if (flow := flows.find(run.flow)) is None:
        _stop(event, run, Reason(EventCode.FLOW_NOT_INSTALLED, flow=run.flow))
    else:
        _apply(event, flow, run)


def _apply(event: EventClaim, flow: Flow, run: Run) -> None:
    if ignored := why_not(event, run):
        record_effects([NewEffect(event.id, run.flow, run.id, _OUTCOME.IGNORED, ignored)])
        return
    try:
        with transaction.atomic():  # what the flow's code breaks is undone alone
            write([advance(event, flow, run, settings_of(event.user_id, flow), SECONDS)])
    except Stopped as stopped:
        _stop(event, run, stopped.reason)
    except TimeLimitReached:
        _stop(event, run, Reason(EventCode.FLOW_TOO_LONG, seconds=SECONDS, type=event.type))
    except Exception as error:
        if is_locked(error) or blames_no_row(error):
            raise
        log.error("The flow %s raised %s on %s %s", flow.name, type(error).__name__, event.type, event.id)
        _stop(event, run, Reason(EventCode.FLOW_FAULT, type=event.type, error=type(error).__name__))


def _stop(event: EventClaim, run: Run, reason: Reason) -> None:
    values = {"reason_code": reason.code, "reason_params": reason.params, "changed_at": Now()}
    Run.objects.filter(id=run.id, ended_at=None).update(
        status=Run.Status.STOPPED, waits_for="", wait_until=None, **values
    )
    record_effects([NewEffect(event.id, run.flow, run.id, _OUTCOME.STOPPED, reason)])


def settings_of(user_id: int, flow: Flow, **which: Any) -> Any:
    """The person's settings of the flow; None where it has none, or they cannot be read."""
    if flow.Settings is None:
        return None
    row = FlowSettings.objects.filter(user=user_id, flow=flow.name, **which).first()
    try:
        return row and flow.Settings.model_validate(row.settings)
    except ValidationError:
        return None


class ForRun(NamedTuple):
    """An event for one run: that of its key in the flow, or with None that which it names."""

    event: EventClaim
    flow: Flow | None


def apply_together(given: Sequence[ForRun], settle: Settle) -> list[bool | Exception]:
    """Apply them in the order in which they were recorded, in the caller's transaction.

    `settle` and the results: see `Kind.apply_together`. Busy is an event whose run another worker has locked, or whose
    run first needs an earlier event to be applied alone.
    """
    results: list[bool | Exception] = [Alone() for _ in given]
    settings, until, room = cache(settings_of), time.monotonic() + SECONDS_TOGETHER, MOST_AT_ONCE
    advanced: list[Advanced] = []
    ignored: list[NewEffect] = []
    by_place = _lock(given, settings, until)
    runs = {run.id: run for run in by_place.values() if run}
    left: set[UUID] = set()
    for place, locked in by_place.items():
        event = given[place].event
        if locked is None or locked.id in left:
            results[place] = Busy()
            continue
        run = runs[locked.id]
        if reason := why_not(event, run):
            ignored.append(NewEffect(event.id, run.flow, run.id, FlowEffect.Outcome.IGNORED, reason))
        elif time.monotonic() < until and (made := _advance(event, run, settings, room)):
            room -= made.row_count
            advanced.append(made)
            runs[run.id] = made.run
        else:
            left.add(run.id)
            continue
        results[place] = True
    if places := [place for place, result in enumerate(results) if result is True]:
        settle(places)
        if advanced:
            write(advanced)
        if ignored:
            record_effects(ignored)
    return results


_Settings = Callable[..., Any]


def _lock(given: Sequence[ForRun], settings: _Settings, until: float) -> dict[int, Run | None]:
    """The runs at the places of their events, oldest event first; None where somebody else has it.

    Places without one are left to be applied alone: what has no key or run is noted there.
    """
    targets = _targets(given, until)
    runs = _locked(targets.values())
    new: dict[Any, NewRun | None] = {}
    for place, target in targets.items():
        if isinstance(target, Target) and target not in runs and target not in new:
            new[target] = _new_run(given[place], target, settings)
    if started := [*filter(None, new.values())]:
        runs |= rows.begin(started)
    return {place: runs.get(target) for place, target in targets.items() if target in runs or new.get(target)}


def _advance(event: EventClaim, run: Run, settings: _Settings, room: int) -> Advanced | None:
    """Call the handler. Returns None if the event must be applied alone."""
    if (flow := flows.find(run.flow)) is None or run.user_id != event.user_id:
        return None
    with suppress(Exception), languages.override(event.language):
        made = advance(event, flow, run, settings(event.user_id, flow), SECONDS_TOGETHER)
        if made.row_count <= room and not made.turn.withdraws and not made.turn.is_finished:
            return made
    return None


def _targets(given: Sequence[ForRun], until: float) -> dict[int, Target | UUID]:
    """The target that names the run of each event, oldest event first; events without one are left out."""
    targets: dict[int, Target | UUID] = {}
    for place in sorted(range(len(given)), key=lambda place: given[place].event.id):
        event, flow = given[place]
        if time.monotonic() < until:
            with suppress(Exception):
                key = key_of(event, flow, SECONDS_TOGETHER) if flow else ""
                targets[place] = Target(event.user_id, flow.name, key) if flow else UUID(event.data["run_id"])
    return targets


def _locked(targets: Collection[Target | UUID]) -> dict[Any, Run]:
    """Those that exist, less those that somebody else has."""
    runs: dict[Any, Run] = {}
    if by_key := {one for one in targets if isinstance(one, Target)}:
        runs |= rows.by_key(by_key, SKIP)
    if by_id := {one for one in targets if isinstance(one, UUID)}:
        runs |= rows.by_id(by_id, SKIP)
    return runs


def _new_run(one: ForRun, target: Target, settings: _Settings) -> NewRun | None:
    event, flow = one
    begins = flow and may_begin(event, flow) and (not flow.Settings or settings(event.user_id, flow, enabled=True))
    return NewRun(event, flow, target.key) if flow and begins else None
