"""Why each slot of a schedule fired or did not, and which are to come: values, for the page and the command."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from django.utils.translation import gettext as _

from jobs.checks import results
from jobs.checks.results import Check
from schedules.beat import heartbeat
from schedules.explain import causes
from schedules.explain.causes import Cause, CauseCode
from schedules.explain.gaps import gaps
from schedules.explain.quiet_hours import QuietHours
from schedules.firing import forecast, holidays
from schedules.firing.forecast import Coming
from schedules.firing.holidays import Holidays
from schedules.models import Occurrence, Schedule, ScheduleEvent
from schedules.parts import words
from schedules.rules import InvalidRule, Timetable, Work, civil
from schedules.rules.invalid import BUDGET

PAGE = 100
# For all that one page asks of its rules, old ones included; what costs more is left out.
_WORK = 10 * BUDGET
# A slot that fires later than this has its lateness explained.
PUNCTUAL = timedelta(seconds=2)
# How far before the oldest slot outages are read: what is late may be late because of one that has ended.
_OUTAGES_BEFORE = timedelta(minutes=10)

_Reason = Occurrence.Reason
_BY_HAND = {_Reason.BY_PERSON, _Reason.MANUAL}


@dataclass(frozen=True, slots=True)
class ExplainedSlot:
    """A slot and what became of it: `outcome` is "fired", "skipped" or "coming".

    `late` is set for what fired, `note` where the clock was changed or quiet hours will hold it. `batch_id` is the
    occurrence's; None without one. `check` is what its job checked, if it had one.
    """

    slot: datetime
    outcome: str
    causes: Sequence[Cause] = ()
    late: timedelta | None = None
    note: str = ""
    batch_id: UUID | None = None
    check: Check | None = None

    @property
    def is_manual(self) -> bool:
        """Whether somebody ran it: its slot is that instant, on nobody's clock."""
        return any(cause.code == _Reason.MANUAL for cause in self.causes)


def past(schedule: Schedule, since: datetime, until: datetime, now: datetime, limit: int = PAGE) -> list[ExplainedSlot]:
    """The last `limit` slots in [since, until), newest first, and none after `now`."""
    until = min(until, now + civil.TICK)
    recorded = schedule.occurrences.filter(scheduled_for__gte=since, scheduled_for__lt=until)
    rows = list(recorded.order_by("-scheduled_for")[:limit])
    oldest = rows[-1].scheduled_for if len(rows) == limit else since
    work = Work(_WORK)
    stories = {one.slot: one for one in _in_gaps(schedule, oldest, until, now, limit, work)}
    stories |= _explain(schedule, rows, now, work)
    return [stories[slot] for slot in sorted(stories, reverse=True)[:limit]]


def coming(schedule: Schedule, now: datetime, limit: int = 10) -> list[ExplainedSlot]:
    """Up to `limit` next slots, those skipped ahead of time included; of an excluded date or a holiday the first."""
    if schedule.deleted_at is not None or schedule.state not in {Schedule.State.ACTIVE, Schedule.State.FINISHED}:
        return []
    skipped = list(schedule.occurrences.filter(scheduled_for__gt=now).order_by("scheduled_for")[:limit])
    work = Work(_WORK)
    stories = _explain(schedule, skipped, now, work)
    try:
        timetable = schedule.timetable()
        ahead = forecast.of(schedule, now, Holidays.of(schedule.user, now), stories.keys())
        upcoming = list(islice(ahead.after(work=work, leap=civil.LAST_INSTANT), limit)) if schedule.next_fire_at else []
    except InvalidRule:
        return []
    stories |= _upcoming(schedule, upcoming, timetable, work)
    if not (shown := sorted(stories)[:limit]):
        return []
    since = max(now, schedule.snoozed_until or now)
    with suppress(InvalidRule):
        for slot in _on_excluded_dates(timetable, since, shown[-1], work):
            stories[slot] = ExplainedSlot(slot, "skipped", [Cause(CauseCode.EXCLUDED)])
    return [stories[slot] for slot in sorted(stories) if slot <= shown[-1]]


def _upcoming(
    schedule: Schedule, upcoming: Sequence[Coming], timetable: Timetable, work: Work
) -> dict[datetime, ExplainedSlot]:
    stories = {}
    quiet = QuietHours.of(schedule).notes(slot for slot, holiday in upcoming if holiday is None)
    for one in upcoming:
        slot, holiday = one
        if holiday is None:
            stories[slot] = ExplainedSlot(slot, "coming", note=one.note(timetable, work, quiet.get(slot, "")))
        else:
            cause = Cause(_Reason.HOLIDAY, days=(holiday.first, holiday.last), is_coming=True)
            stories[slot] = ExplainedSlot(slot, "skipped", [cause])
    return stories


def _on_excluded_dates(timetable: Timetable, since: datetime, until: datetime, work: Work) -> Iterator[datetime]:
    """The first slot of each excluded date, between `since` and `until`. Raises InvalidRule if it costs too much."""
    everything = timetable.without_exclusions()
    for first, end in timetable.excluded_days(since, until):
        slot = everything.next_after(max(first - civil.TICK, since), work)
        if slot is not None and slot < min(end, until):
            yield slot


def _in_gaps(
    schedule: Schedule, since: datetime, until: datetime, now: datetime, limit: int, work: Work
) -> Iterator[ExplainedSlot]:
    slots: list[datetime] = []
    for gap in gaps(schedule, now):
        first, last = max(gap.first, since), min(gap.last, until)
        if len(slots) >= limit and last <= sorted(slots)[-limit]:
            return
        if first >= last:
            continue
        try:
            silent = gap.timetable.last_slots(first, last, limit, work)
        except InvalidRule:
            continue
        slots += silent
        for slot in silent:
            yield ExplainedSlot(slot, "skipped", [gap.cause], note=words.clock_note(gap.timetable, slot, work))


def _explain(
    schedule: Schedule, rows: Sequence[Occurrence], now: datetime, work: Work
) -> dict[datetime, ExplainedSlot]:
    if not rows:
        return {}
    outages = heartbeat.outages(min(row.scheduled_for for row in rows) - _OUTAGES_BEFORE, now)
    checked = results.of_batches(schedule.user_id, [row.id for row in rows if row.outcome == Occurrence.Outcome.FIRED])
    silent = _silent(schedule, rows)
    by_hand = _by_hand(schedule, rows)
    stories = {}
    for row in rows:
        slot, is_fired = row.scheduled_for, row.outcome == Occurrence.Outcome.FIRED
        late = max(row.fired_at - slot, timedelta(0)) if is_fired else None
        why = _causes(schedule, row, silent, by_hand)
        if row.reason == _Reason.MISFIRE or (late is not None and late >= PUNCTUAL):
            why.append(causes.of_lateness(slot, row.fired_at, outages))
        note = _note(schedule, row, work)
        stories[slot] = ExplainedSlot(slot, row.outcome, why, late, note, row.id, checked.get(row.id))
    return stories


def _causes(schedule: Schedule, row: Occurrence, silent: Holidays, by_hand: Mapping[str, str]) -> list[Cause]:
    if row.reason in _BY_HAND:
        return [Cause(row.reason, by=by_hand.get(row.scheduled_for.isoformat()) or _("a person"))]
    if row.reason == _Reason.HOLIDAY:
        # A late slot from before the holiday was found within it.
        span = silent.of_slot(schedule, row.scheduled_for) or silent.of_slot(schedule, row.fired_at)
        return [Cause(row.reason, days=None if span is None else (span.first, span.last))]
    return [] if row.reason in {_Reason.NONE, _Reason.LATE} else [Cause(row.reason)]


def _silent(schedule: Schedule, rows: Sequence[Occurrence]) -> Holidays:
    silenced = [row.scheduled_for for row in rows if row.reason == _Reason.HOLIDAY]
    return Holidays.of(schedule.user, min(silenced)) if silenced else holidays.NONE


def _by_hand(schedule: Schedule, rows: Sequence[Occurrence]) -> dict[str, str]:
    """Return who skipped or ran each slot (ISO 8601)."""
    if not any(row.reason in _BY_HAND for row in rows):
        return {}
    events = schedule.events.filter(what__in=[ScheduleEvent.Change.SKIPPED, ScheduleEvent.Change.RUN])
    return {
        event.detail.get("slot", event.at.isoformat()): "" if event.by is None else event.by.get_short_name()
        for event in events.select_related("by").order_by("-id")[: 10 * PAGE]
    }


def _note(schedule: Schedule, row: Occurrence, work: Work) -> str:
    """Only for slots of the present rule: earlier rules may have treated the clock change differently."""
    if row.reason == _Reason.MANUAL:
        return ""
    slot = row.scheduled_for
    try:
        timetable = schedule.timetable()
        is_slot = timetable.next_after(slot - civil.TICK, work) == slot
    except InvalidRule:
        return ""
    return words.clock_note(timetable, slot, work) if is_slot else ""
