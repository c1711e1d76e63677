"""Turn slots that are due into occurrences, notifications and deliveries, and move each schedule on to its next slot.

All of it happens in one transaction for a batch of schedules, by statements that take arrays: their number does not
depend on how many schedules there are. Whatever dies before the commit leaves every slot to be found again; after it,
the rows are there, and `rescue.py` publishes those that nobody has claimed.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from common import fault_points, zones
from common.postgres import change, column, is_outage, query
from common.uuid7 import uuid7
from notifications import text
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification, Wake
from notifications.models import Notification
from notifications.owner_notices import Notice
from schedules import mirror
from schedules.firing import due, quarantine
from schedules.firing.due import Due
from schedules.firing.misfire import Decision, decide
from schedules.models import Occurrence, Schedule

log = logging.getLogger(__name__)

BATCH = 500
# A schedule that slept for long is caught up in steps of this many slots, so that it cannot hold up the others.
SLOTS_A_STEP = 1_000


@dataclass(frozen=True, slots=True)
class Clock:
    """The database's time, and the next slot of any schedule, both aware UTC; None when nothing is scheduled."""

    now: datetime
    next_slot: datetime | None

    @property
    def seconds_to_next(self) -> float | None:
        return None if self.next_slot is None else (self.next_slot - self.now).total_seconds()


@dataclass(frozen=True, slots=True)
class Move:
    """What firing makes of one schedule: a decision for each slot that is due, and its next slot (None: no more)."""

    schedule: Due
    decisions: Sequence[Decision]
    next_fire_at: datetime | None = None
    error: str = ""

    @property
    def fired(self) -> int:
        return sum(decision.fire for decision in self.decisions)

    @property
    def state(self) -> Schedule.State:
        if self.error:
            return Schedule.State.BROKEN
        return Schedule.State.FINISHED if self.next_fire_at is None else Schedule.State.ACTIVE


def read_clock() -> Clock:
    statement = (
        "SELECT clock_timestamp() AS now,"
        " (SELECT greatest(next_fire_at, '1970-01-01Z') FROM schedules_schedule WHERE next_fire_at < '9999-01-01Z'"
        "   ORDER BY next_fire_at LIMIT 1) AS next_slot"  # no instant that Python cannot read: every beat would stop
    )
    [clock] = query(statement, [], Clock)
    return clock


def fire_due(
    now: datetime, only: UUID | None = None, limit: int = BATCH, policy: Schedule.Misfire | None = None
) -> int:
    """Fire up to `limit` schedules whose next slot is at or before `now`, oldest first; returns how many were moved on.

    Any number of beats may call this at once: each takes rows that no other one holds. `only` restricts it to one
    schedule; `policy` stands in for the schedules' own misfire policies. A schedule that cannot be read, or that the
    database refuses, is quarantined alone, whatever is wrong with it.
    """
    try:
        with transaction.atomic():
            taken = due.take(now, only, limit)
            outbox.publish_after_commit(_fire(taken, now, policy))
            fault_points.reach("recorded")
            return len(taken)
    except Exception as error:
        if is_outage(error):
            raise
        if only is not None:
            return int(quarantine.quarantine(only, now, error))
        log.warning("A batch of schedules was refused (%s): firing them one by one", type(error).__name__)
    return sum(_fire_alone(schedule_id, now, policy) for schedule_id in due.ids(now, limit))


def _fire_alone(schedule_id: UUID, now: datetime, policy: Schedule.Misfire | None) -> int:
    try:
        return fire_due(now, only=schedule_id, policy=policy)
    except Exception as error:
        if is_outage(error):
            raise
        log.error("Schedule %s can be neither fired nor quarantined: %s", schedule_id, type(error).__name__)
        return 0


def _fire(locked: Sequence[Due], now: datetime, policy: Schedule.Misfire | None) -> list[Wake]:
    """Fire the slots of `locked` schedules that are due at `now`, within the caller's transaction.

    Returns the deliveries to publish after the commit.
    """
    if not locked:
        return []
    channels = due.channels_of(locked)
    moves = [_move(schedule, now, bool(channels[schedule.id]), policy) for schedule in locked]
    fired = _record(moves)
    due_now = outbox.record(
        _saying(batch_id, move.schedule, decision.slot, channels[move.schedule.id], now)
        for batch_id, move, decision in fired
    )
    quarantine.tell([notice for move in moves for notice in _notices(move)])
    return due_now


def _notices(move: Move) -> Iterator[Notice]:
    """What the owner of a schedule is told beside its own text."""
    schedule = move.schedule
    if move.error:
        yield quarantine.broken(schedule.id, schedule.user_id, schedule.title, move.error, schedule.version)
    if any(decision.reason == Occurrence.Reason.NO_CHANNEL for decision in move.decisions):
        yield quarantine.without_channel(schedule.id, schedule.user_id, schedule.title, schedule.version)
    if zones.is_damaged(schedule.persons_zone):
        yield quarantine.damaged_zone(schedule.user_id, schedule.persons_zone)


def fire_by_hand(schedule_id: UUID, now: datetime, batch_id: UUID) -> list[Wake]:
    """Fire a locked schedule at `now`, beside its timetable, as the batch of that id, which is new. At an instant that
    has an occurrence, nothing more."""
    schedule = due.as_if_due(schedule_id, now)
    channels = due.channels_of([schedule])[schedule.id]
    reason = Occurrence.Reason.MANUAL if channels else Occurrence.Reason.NO_CHANNEL
    decision = Decision(now, bool(channels), reason)
    if not _insert_occurrences([(batch_id, Move(schedule, [decision]), decision)]) or not decision.fire:
        return []
    return outbox.record([_saying(batch_id, schedule, now, channels, now)])


def _move(schedule: Due, now: datetime, has_channels: bool, policy: Schedule.Misfire | None) -> Move:
    """Decide, without writing. A rule that raises quarantines its schedule and nothing else."""
    try:
        timetable = schedule.timetable()
        slots: list[datetime] = []
        slot: datetime | None = schedule.next_fire_at
        while slot is not None and slot <= now and len(slots) < 2 * SLOTS_A_STEP:
            slots.append(slot)
            slot = timetable.next_after(slot)
        if slot is not None and slot <= now:
            # More wait than one step takes. Those of this step are older than any that a policy would still send.
            missed = [Decision(slot, False, Occurrence.Reason.MISFIRE) for slot in slots[:SLOTS_A_STEP]]
            return Move(schedule, missed, slots[SLOTS_A_STEP])
        decisions = decide(
            slots,
            now,
            policy or Schedule.Misfire(schedule.misfire),
            timedelta(seconds=schedule.grace),
            one_off=schedule.kind == "once" and policy is None,
        )
    except Exception as error:
        if is_outage(error):
            raise
        return _quarantined(schedule, error)
    if not has_channels:
        decisions = [replace(decision, fire=False, reason=Occurrence.Reason.NO_CHANNEL) for decision in decisions]
    if schedule.max_count is not None:
        decisions = _up_to(schedule.max_count - schedule.fired_count, decisions)
        if schedule.fired_count + sum(decision.fire for decision in decisions) >= schedule.max_count:
            slot = None
    return Move(schedule, decisions, slot)


def _up_to(count: int, decisions: Sequence[Decision]) -> list[Decision]:
    """The decisions until `count` of them have fired: what comes after the last one is no slot any more."""
    kept: list[Decision] = []
    for decision in decisions:
        if count <= 0:
            break
        kept.append(decision)
        count -= decision.fire
    return kept


def _quarantined(schedule: Due, error: Exception) -> Move:
    log.error("Schedule %s is broken: %s", schedule.id, type(error).__name__)
    return Move(
        schedule,
        [Decision(schedule.next_fire_at, False, Occurrence.Reason.BROKEN)],
        error=quarantine.described(error),
    )


def _record(moves: Sequence[Move]) -> list[tuple[UUID, Move, Decision]]:
    """Write the occurrences and move the schedules on. Returns what fired (a slot recorded before does not)."""
    occurrences = [(uuid7(), move, decision) for move in moves for decision in move.decisions]
    new = _insert_occurrences(occurrences)
    _advance(moves)
    mirror.disable([task for move in moves if move.next_fire_at is None and (task := move.schedule.periodic_task_id)])
    return [occurrence for occurrence in occurrences if occurrence[2].fire and occurrence[0] in new]


_INSERT_OCCURRENCES = """
INSERT INTO schedules_occurrence (id, schedule_id, scheduled_for, outcome, reason, version)
SELECT * FROM unnest(%s::uuid[], %s::uuid[], %s::timestamptz[], %s::text[], %s::text[], %s::int[])
ON CONFLICT (schedule_id, scheduled_for) DO NOTHING
RETURNING id
"""


def _insert_occurrences(occurrences: Sequence[tuple[UUID, Move, Decision]]) -> set[UUID]:
    rows = query(
        _INSERT_OCCURRENCES,
        [
            column(batch_id for batch_id, _, _ in occurrences),
            column(move.schedule.id for _, move, _ in occurrences),
            column(decision.slot for _, _, decision in occurrences),
            column("fired" if decision.fire else "skipped" for _, _, decision in occurrences),
            column(str(decision.reason) for _, _, decision in occurrences),
            column(move.schedule.version for _, move, _ in occurrences),
        ],
    )
    return {row.id for row in rows}


_ADVANCE = """
UPDATE schedules_schedule s
   SET next_fire_at = m.next_fire_at, state = m.state, error = m.error,
       fired_count = least(2147483647, s.fired_count::bigint + m.fired),
       last_fired_at = CASE WHEN m.fired > 0 THEN now() ELSE s.last_fired_at END
  FROM unnest(%s::uuid[], %s::timestamptz[], %s::text[], %s::text[], %s::int[])
       AS m(id, next_fire_at, state, error, fired)
 WHERE s.id = m.id
"""


def _advance(moves: Sequence[Move]) -> None:
    change(
        _ADVANCE,
        [
            column(move.schedule.id for move in moves),
            column(move.next_fire_at for move in moves),
            column(str(move.state) for move in moves),
            column(move.error for move in moves),
            column(move.fired for move in moves),
        ],
    )


def _saying(
    batch_id: UUID, schedule: Due, slot: datetime, channels: Sequence[tuple[UUID, str]], now: datetime
) -> NewNotification:
    available_at = slot + spread_of(schedule.id, slot, schedule.spread)
    said = text.compose(
        schedule.title,
        schedule.body,
        name=schedule.name,
        slot=slot,
        time_zone=schedule.time_zone,
    )
    return NewNotification(
        user_id=schedule.user_id,
        channels=sorted(channels, key=schedule.place) if schedule.channel_order else channels,
        subject=said.subject,
        body=said.body,
        origin=Notification.Origin.SCHEDULE,
        batch_id=batch_id,
        origin_id=schedule.id,
        slot=slot,
        available_at=available_at,
        expires_at=None if schedule.stale_after is None else slot + timedelta(seconds=schedule.stale_after),
        urgent=schedule.urgent,
        quiet_hours=schedule.quiet_hours(max(available_at, now)),
        in_order=bool(schedule.channel_order),
        escalate_after=schedule.escalate_after if schedule.channel_order else None,
    )


def spread_of(schedule_id: UUID, slot: datetime, window: int) -> timedelta:
    """The jitter of one slot, within `window` seconds: the same at every computation, on every machine."""
    if window == 0:
        return timedelta(0)
    digest = hashlib.blake2b(schedule_id.bytes + slot.isoformat().encode(), digest_size=8).digest()
    return timedelta(seconds=int.from_bytes(digest, "big") % window)
