"""Turn due slots into occurrences and what they send, and set each schedule's next slot.

A batch of schedules is one transaction, of statements that take arrays: their number does not grow with the batch.
After a crash before the commit, the slots are still due; after one behind it, recovery publishes the deliveries.
"""

import json
import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter, itemgetter
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from common import zones
from common.database import fault_points
from common.database.postgres import blames_no_row, change, query
from common.database.rows import Rows
from common.uuid7 import of_slot
from notifications.channels.owner_notices import Notice
from schedules.firing import due, holidays, quarantine, sending
from schedules.firing.due import Due
from schedules.firing.holidays import Holidays
from schedules.firing.misfire import MOST_SENT, Decision, decide
from schedules.models import Occurrence, Schedule, speaks
from schedules.parts import mirror, slots
from schedules.rules import civil, early
from work.broker.wakes import Wake, publish_after_commit
from work.models.hold import OFF

log = logging.getLogger(__name__)

BATCH = 500
# A schedule with many missed slots is handled in steps of this many, so that it cannot hold up the others.
SLOTS_PER_STEP = 1_000
# A batch ends after the schedule with which it decides so many slots: beat must show heartbeats while it catches up.
SLOTS_PER_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Clock:
    """The database's time, when the next schedule fires or sends an early message (None: nothing is scheduled, or on
    hold), and when a periodic task was changed last (None: never); aware UTC."""

    now: datetime
    next_due: datetime | None
    entries_changed: datetime | None = None

    @property
    def seconds_to_next(self) -> float | None:
        return None if self.next_due is None else (self.next_due - self.now).total_seconds()


@dataclass(frozen=True, slots=True)
class Plan:
    """The writes of firing for one schedule: a decision for each due slot, and the next slot (None: no more, or none
    before it is done)."""

    schedule: Due
    decisions: Sequence[Decision]
    next_fire_at: datetime | None = None
    error: str = ""
    waits: bool = False

    @property
    def fired(self) -> int:
        return sum(decision.fire for decision in self.decisions)

    @property
    def next_early_at(self) -> datetime | None:
        """After the last slot that was due: the next one never fires before or with it."""
        last = self.decisions[-1].slot if self.decisions else self.schedule.next_fire_at
        return early.next_at(self.next_fire_at, self.schedule.early, self.schedule.time_zone, last)

    @property
    def state(self) -> Schedule.State:
        if self.error:
            return Schedule.State.BROKEN
        if self.waits:
            return Schedule.State.AWAITING
        return Schedule.State.FINISHED if self.next_fire_at is None else Schedule.State.ACTIVE


# No instant that Python cannot read: every beat would stop.
_CLOCK = f"""
SELECT clock_timestamp() AS now,
       least(
           (SELECT greatest(next_fire_at, '1970-01-01Z') FROM schedules_schedule
             WHERE next_fire_at < '9999-01-01Z' AND {OFF} ORDER BY next_fire_at LIMIT 1),
           (SELECT next_early_at FROM schedules_schedule
             WHERE next_early_at < next_fire_at AND {OFF} ORDER BY next_early_at LIMIT 1)) AS next_due,
       (SELECT last_update FROM django_celery_beat_periodictasks WHERE isfinite(last_update) LIMIT 1) AS entries_changed
"""  # noqa: S608 - constants only


def read_clock() -> Clock:
    [clock] = query(_CLOCK, [], Clock)
    return clock


def fire_due(
    now: datetime, only: Collection[UUID] | None = None, limit: int = BATCH, policy: Schedule.Misfire | None = None
) -> int:
    """Fire up to `limit` schedules whose next slot is at or before `now`, oldest first; returns how many.

    Any number of beats may call this at once: each takes rows that no other one has locked. `only` restricts it to
    these schedules. `policy`, which an operator chose, replaces the schedules' own misfire policies, and fires while
    the hold is on, too. A schedule that is unreadable, or that the database refuses, is quarantined alone.
    """
    try:
        with transaction.atomic():
            fired, wakes = _fire(due.take(now, only, limit, even_on_hold=policy is not None), now, policy)
            publish_after_commit(wakes)
            fault_points.reach("recorded")
            return fired
    except Exception as error:
        if blames_no_row(error):
            raise
        if only is not None and len(only) == 1:
            return sum(quarantine.quarantine(schedule_id, now, error) for schedule_id in only)
        log.warning("A batch of schedules failed (%s): firing them one by one", type(error).__name__)
    return due.one_by_one(
        due.ids(now, only, limit),
        lambda schedule_id: fire_due(now, only=[schedule_id], policy=policy),
        partial(log.error, "Schedule %s can be neither fired nor quarantined: %s"),
    )


def _fire(locked: Sequence[Due], now: datetime, policy: Schedule.Misfire | None) -> tuple[int, list[Wake]]:
    """Fire the due slots of `locked` schedules, or of the first of them.

    Returns of how many, and the deliveries to publish after the caller's commit.
    """
    if not locked:
        return 0, []
    channels = due.channels_of(locked)
    people = {(schedule.user_id, schedule.persons_zone) for schedule in locked}
    silent = holidays.of_people(people, min(schedule.next_fire_at for schedule in locked), now)
    plans: list[Plan] = []
    decided = 0
    for schedule in locked:
        plan = _plan(schedule, now, sending.has_channels(schedule, channels), policy, silent[schedule.user_id])
        plans.append(plan)
        decided += len(plan.decisions)
        if decided >= SLOTS_PER_BATCH:
            break
    fired = _record(plans)
    # In the order of their slots, whatever schedules they are of: a queue hands them out as they are recorded.
    sent = sorted(((batch_id, plan.schedule, decision.slot) for batch_id, plan, decision in fired), key=itemgetter(2))
    wakes = sending.record(sent, channels, now)
    quarantine.notify([notice for plan in plans for notice in _notices(plan)])
    return len(plans), wakes


def _notices(plan: Plan) -> Iterator[Notice]:
    schedule = plan.schedule
    if plan.error:
        yield quarantine.broken(schedule, plan.error)
    if any(decision.reason == Occurrence.Reason.NO_CHANNEL for decision in plan.decisions):
        yield quarantine.without_channel(schedule)
    if zones.is_damaged(schedule.persons_zone):
        yield quarantine.damaged_zone(schedule.user_id, schedule.persons_zone, schedule.language)


def fire_now(schedule_id: UUID, now: datetime, batch_id: UUID) -> list[Wake]:
    """Fire a locked schedule at `now`, outside of its timetable; nothing if `now` has an occurrence.

    `batch_id` is the id of the new occurrence. Returns the deliveries to publish after the commit.
    """
    schedule = due.as_if_due(schedule_id, now)
    channels = due.channels_of([schedule])
    sends = sending.has_channels(schedule, channels)
    decision = Decision(now, sends, Occurrence.Reason.MANUAL if sends else Occurrence.Reason.NO_CHANNEL)
    if not _insert_occurrences([(batch_id, Plan(schedule, [decision]), decision)]) or not decision.fire:
        return []
    Schedule.objects.filter(id=schedule_id).update(manual_count=F("manual_count") + 1, last_fired_at=Now())
    payload = json.loads(schedule.job_payload or "{}")
    if isinstance(payload, dict) and payload.get("fresh_for"):  # who asks now wants no answer of before
        schedule = schedule._replace(job_payload=json.dumps(payload | {"fresh_for": 0}))
    # Now for all, whatever their clocks show.
    return sending.record([(batch_id, schedule._replace(local_time=False), now)], channels, now)


def _plan(
    schedule: Due, now: datetime, has_channels: bool, policy: Schedule.Misfire | None, holidays: Holidays
) -> Plan:
    """Decide, without writing. An unreadable rule makes its schedule broken, and no other."""
    grace = timedelta(seconds=schedule.grace)
    try:
        # What is due fires even if a search for the slot after it fails.
        due_slots, next_slot, unreadable = schedule.slots().due(
            schedule.next_fire_at, now, 2 * SLOTS_PER_STEP, now - grace, MOST_SENT
        )
        if next_slot is not None and next_slot <= now and now - due_slots[-1] > grace:
            # More are missed than one step handles. No policy sends any of this step: they are too old.
            missed = [Decision(slot, False, Occurrence.Reason.MISFIRE) for slot in due_slots[:SLOTS_PER_STEP]]
            return Plan(schedule, missed, due_slots[SLOTS_PER_STEP])
        decisions = _decide(schedule, due_slots, now, has_channels, policy, holidays)
    except Exception as error:
        if blames_no_row(error):
            raise
        log.error("Schedule %s is broken: %s", schedule.id, type(error).__name__)
        broken = Decision(schedule.next_fire_at, False, Occurrence.Reason.BROKEN)
        return Plan(schedule, [broken], error=quarantine.describe(error))
    if (left := slots.left(schedule.max_count, schedule.fired_count, schedule.after_done)) is not None:
        decisions = _up_to(left, decisions)
        if sum(decision.fire for decision in decisions) >= left:
            goes_on = next_slot is not None and slots.left(schedule.max_count, schedule.fired_count + left) != 0
            return Plan(schedule, decisions, waits=schedule.after_done and goes_on)
    return Plan(schedule, decisions, next_slot, quarantine.describe(unreadable))


def _decide(
    schedule: Due,
    due_slots: Sequence[datetime],
    now: datetime,
    has_channels: bool,
    policy: Schedule.Misfire | None,
    holidays: Holidays,
) -> list[Decision]:
    silent = _silent(schedule, due_slots, now, holidays)
    decisions = decide(
        [slot for slot in due_slots if slot not in silent],
        now,
        policy or Schedule.Misfire(schedule.misfire),
        timedelta(seconds=schedule.grace),
        one_off=schedule.kind == "once" and policy is None,
    )
    if not has_channels:
        decisions = [replace(decision, fire=False, reason=Occurrence.Reason.NO_CHANNEL) for decision in decisions]
    decisions += [Decision(slot, False, Occurrence.Reason.HOLIDAY) for slot in silent]
    return sorted(decisions, key=attrgetter("slot"))


def _silent(schedule: Due, due_slots: Sequence[datetime], now: datetime, holidays: Holidays) -> Collection[datetime]:
    """The slots that a holiday of the owner keeps silent: those within it, and late ones that would be sent in it."""
    if not holidays.spans or schedule.audience or not speaks(schedule.job_kind):
        return ()
    late = now - timedelta(seconds=schedule.grace)
    if holidays.at(now, schedule.tags, schedule.urgent) is None:
        late = civil.FIRST_INSTANT
    return {slot for slot in due_slots if slot < late or holidays.at(slot, schedule.tags, schedule.urgent) is not None}


def _up_to(count: int, decisions: Sequence[Decision]) -> list[Decision]:
    """The decisions up to the one that fires as the last of `count`; there are no slots after it."""
    for number, decision in enumerate(decisions):
        if count <= 0:
            return list(decisions[:number])
        count -= decision.fire
    return list(decisions)


def _record(plans: Sequence[Plan]) -> list[tuple[UUID, Plan, Decision]]:
    """Write the occurrences and the next slots. Returns what fired; a slot that was recorded before does not."""
    occurrences = [
        (of_slot(decision.slot, plan.schedule.id), plan, decision) for plan in plans for decision in plan.decisions
    ]
    new = _insert_occurrences(occurrences)
    change(_ADVANCE, _NEXT.values(plans))
    mirror.disable([task for plan in plans if plan.next_fire_at is None and (task := plan.schedule.periodic_task_id)])
    return [occurrence for occurrence in occurrences if occurrence[2].fire and occurrence[0] in new]


# Of (id, plan, decision).
_OCCURRENCES = Rows(
    "o",
    id=(UUID, itemgetter(0)),
    schedule_id=(UUID, lambda one: one[1].schedule.id),
    scheduled_for=(datetime, lambda one: one[2].slot),
    outcome=(str, lambda one: "fired" if one[2].fire else "skipped"),
    reason=(str, lambda one: one[2].reason),
    version=(int, lambda one: one[1].schedule.version),
)
_INSERT_OCCURRENCES = f"""
{_OCCURRENCES.insert("schedules_occurrence")}
ON CONFLICT (schedule_id, scheduled_for) DO NOTHING
RETURNING id
"""


def _insert_occurrences(occurrences: Sequence[tuple[UUID, Plan, Decision]]) -> set[UUID]:
    return {row.id for row in query(_INSERT_OCCURRENCES, _OCCURRENCES.values(occurrences))}


# Of plans.
_NEXT = Rows(
    "next",
    id=(UUID, attrgetter("schedule.id")),
    next_fire_at=(datetime, attrgetter("next_fire_at")),
    next_early_at=(datetime, attrgetter("next_early_at")),
    state=(str, attrgetter("state")),
    error=(str, attrgetter("error")),
    fired=(int, attrgetter("fired")),
)
_ADVANCE = f"""
UPDATE schedules_schedule s
   SET next_fire_at = next.next_fire_at, next_early_at = next.next_early_at, state = next.state, error = next.error,
       fired_count = least(2147483647, s.fired_count::bigint + next.fired),
       last_fired_at = CASE WHEN next.fired > 0 THEN now() ELSE s.last_fired_at END
  FROM {_NEXT.sql}
 WHERE s.id = next.id
"""  # noqa: S608 - constants only
