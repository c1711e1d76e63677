"""Apply events that are settled at the same moment, of any people and runs, in one transaction.

It is for the usual case: what a flow does wrong, what withdraws or ends, and what takes long is left to be applied
alone (`apply`).
"""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from common.database.group_commit import Alone
from common.texts import languages
from events import flows
from events.flows.base import Flow
from events.intake.handling import EventClaim
from events.models import FlowEffect, Run
from events.pure.envelope import MOST_AT_ONCE
from events.runs import rows
from events.runs.advance import Advanced, advance, key_of, why_not
from events.runs.apply import may_begin, settings_of
from events.runs.rows import SKIP, NewEffect, NewRun, Target, record_effects, write
from work.answers import Busy
from work.kinds import Settle

SECONDS = 0.2
"""So long others wait for the handlers of one transaction, and as much again for the last."""


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
    settings, until, room = cache(settings_of), time.monotonic() + SECONDS, MOST_AT_ONCE
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
            room -= made.asked_for
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
        made = advance(event, flow, run, settings(event.user_id, flow), SECONDS)
        if made.asked_for <= room and not made.turn.withdraws and not made.turn.is_finished:
            return made
    return None


def _targets(given: Sequence[ForRun], until: float) -> dict[int, Target | UUID]:
    """The target that names the run of each event, oldest event first; events without one are left out."""
    targets: dict[int, Target | UUID] = {}
    for place in sorted(range(len(given)), key=lambda place: given[place].event.id):
        event, flow = given[place]
        if time.monotonic() < until:
            with suppress(Exception):
                key = key_of(event, flow, SECONDS) if flow else ""
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
