"""Why each slot of a schedule went the way it did, and what is to come: values, for the page and the command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from schedules.beat import heartbeat
from schedules.beat.heartbeat import Outage
from schedules.explain import clock_notes, excluded_dates
from schedules.explain.gaps import silences
from schedules.models import Occurrence, Schedule, ScheduleEvent
from schedules.rules import InvalidRule, Timetable, civil
from schedules.rules.last_slots import last_slots

PAGE = 100
# What fires later than this has its lateness explained.
PUNCTUAL = timedelta(seconds=2)
# For so long after an outage, what is late is late because of it: a beat fires thousands of slots a second.
_CATCHING_UP = timedelta(minutes=10)

_Reason = Occurrence.Reason
_BY_HAND = {_Reason.ASKED: "Skipped", _Reason.MANUAL: "Run outside of the timetable"}


@dataclass(frozen=True, slots=True)
class Because:
    """One cause: what, from when, until when (None with `began`: it lasts), by whom. Instants are aware."""

    what: str
    began: datetime | None = None
    ended: datetime | None = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class SlotStory:
    """What became of a slot: `outcome` is "fired", "skipped" or "coming".

    `late` is set for what fired, `note` where the clock was changed. `batch_id` is the occurrence's; None without one.
    """

    slot: datetime
    outcome: str
    because: Sequence[Because] = ()
    late: timedelta | None = None
    note: str = ""
    batch_id: UUID | None = None


@dataclass(slots=True)
class _Witness:
    """What is known beside the occurrences."""

    schedule: Schedule
    outages: list[Outage]
    by_hand: dict[str, str] = field(default_factory=dict)


def past(schedule: Schedule, since: datetime, until: datetime, now: datetime, limit: int = PAGE) -> list[SlotStory]:
    """The last `limit` slots in [since, until), newest first, and none after `now`."""
    until = min(until, now + civil.TICK)
    if since >= until:
        return []
    rows = list(
        schedule.occurrences.filter(scheduled_for__gte=since, scheduled_for__lt=until).order_by("-scheduled_for")[
            :limit
        ]
    )
    told = {row.scheduled_for: row for row in rows}
    oldest = rows[-1].scheduled_for if len(rows) == limit else since
    stories = {story.slot: story for story in _silent(schedule, oldest, until, now, limit) if story.slot not in told}
    witness = _witness(schedule, rows, now)
    stories |= {row.scheduled_for: _story(row, witness) for row in rows}
    return [stories[slot] for slot in sorted(stories, reverse=True)[:limit]]


def coming(schedule: Schedule, now: datetime, limit: int = 10) -> list[SlotStory]:
    """Up to `limit` next slots, with what clock changes do to them; those that a person skips among them, and beside
    them each date that is left out, with its first slot."""
    if schedule.deleted_at is not None or schedule.state not in {Schedule.State.ACTIVE, Schedule.State.FINISHED}:
        return []
    try:
        timetable = schedule.timetable()
        upcoming = _upcoming(schedule, timetable, limit)
    except InvalidRule:
        return []
    ahead = schedule.occurrences.filter(scheduled_for__gt=now).order_by("scheduled_for")[:limit]
    skipped = {row.scheduled_for: row for row in ahead}
    witness = _witness(schedule, list(skipped.values()), now)
    stories = {slot: _story(row, witness) for slot, row in skipped.items()}
    for slot in upcoming:
        stories.setdefault(slot, SlotStory(slot, "coming", note=clock_notes.note(timetable, slot)))
    shown = sorted(stories)[:limit]
    since = max(now, schedule.snoozed_until or now)
    with suppress(InvalidRule):
        for slot in excluded_dates.between(timetable, since, shown[-1]) if shown else []:
            stories[slot] = SlotStory(slot, "skipped", [Because(excluded_dates.WHY)])
    return [stories[slot] for slot in sorted(stories) if slot <= shown[-1]]


def _upcoming(schedule: Schedule, timetable: Timetable, limit: int) -> list[datetime]:
    if schedule.next_fire_at is None:
        return []
    left = limit if schedule.max_count is None else min(limit, schedule.max_count - schedule.fired_count)
    return timetable.upcoming(schedule.next_fire_at - civil.TICK, left)


def _silent(schedule: Schedule, since: datetime, until: datetime, now: datetime, limit: int) -> Iterator[SlotStory]:
    found: list[datetime] = []
    for silence in silences(schedule, now):
        first, last = max(silence.first, since), min(silence.last, until)
        if len(found) >= limit and last <= sorted(found)[-limit]:
            return
        if first >= last:
            continue
        try:
            slots = last_slots(silence.timetable, first, last, limit)
        except InvalidRule:
            continue
        found += slots
        because = [Because(silence.what, silence.began, silence.ended, silence.by)]
        for slot in slots:
            yield SlotStory(slot, "skipped", because, note=clock_notes.note(silence.timetable, slot))


def _witness(schedule: Schedule, rows: Sequence[Occurrence], now: datetime) -> _Witness:
    if not rows:
        return _Witness(schedule, [])
    oldest = min(row.scheduled_for for row in rows)
    witness = _Witness(schedule, list(heartbeat.outages(oldest - _CATCHING_UP, now)))
    if any(row.reason in _BY_HAND for row in rows):
        events = schedule.events.filter(what__in=[ScheduleEvent.What.SKIPPED, ScheduleEvent.What.RUN])
        for event in events.select_related("by").order_by("-id")[: 10 * PAGE]:
            at = event.detail.get("slot", event.at.isoformat())
            witness.by_hand[at] = "" if event.by is None else event.by.get_short_name()
    return witness


def _story(row: Occurrence, witness: _Witness) -> SlotStory:
    fired = row.outcome == Occurrence.Outcome.FIRED
    late = max(row.fired_at - row.scheduled_for, timedelta(0))
    reason = _Reason(row.reason)
    because: list[Because] = []
    if reason in _BY_HAND:
        by = witness.by_hand.get(row.scheduled_for.isoformat()) or "a person"
        because.append(Because(_BY_HAND[reason], by=by))
    elif reason not in {_Reason.NONE, _Reason.LATE}:
        because.append(Because(reason.label.capitalize()))
    if reason == _Reason.MISFIRE or (fired and late >= PUNCTUAL):
        because.append(why_late(row.scheduled_for, row.fired_at, witness.outages))
    note = "" if reason == _Reason.MANUAL else _note(witness.schedule, row)
    return SlotStory(row.scheduled_for, row.outcome, because, late if fired else None, note, row.id)


def _note(schedule: Schedule, row: Occurrence) -> str:
    """Only for slots of the present rule: of those before it, nobody knows what a clock change did to them."""
    try:
        timetable = schedule.timetable()
        return clock_notes.note(timetable, row.scheduled_for) if _is_slot(timetable, row.scheduled_for) else ""
    except InvalidRule:
        return ""


def _is_slot(timetable: Timetable, instant: datetime) -> bool:
    return timetable.next_after(instant - civil.TICK) == instant


def why_late(slot: datetime, recorded: datetime, outages: Sequence[Outage]) -> Because:
    """Why a slot was recorded as late as it was, as far as anybody can tell."""
    for outage in outages:
        if outage.began <= slot and (outage.ended is None or slot < outage.ended):
            return Because("No beat was seen (none ran, or the database was away)", outage.began, outage.ended)
    for outage in outages:
        if outage.ended is not None and outage.ended <= slot and recorded - outage.ended <= _CATCHING_UP:
            return Because("Beats were catching up: none had been seen", outage.began, outage.ended)
    return Because("No cause is on record: beats were seen all the time, so they or the database may have been busy")
