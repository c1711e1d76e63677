"""Move a reminder to another day or time; of one that repeats, one of its times or all."""

from dataclasses import replace
from datetime import date, datetime, time
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from common.forms.not_possible import NotPossible
from people.models import User
from schedules import rules
from schedules.changes import editing
from schedules.models import Schedule, ScheduleEvent
from schedules.parts import slots
from schedules.rules import InvalidRule, Rule, civil, fields
from schedules.rules.interval import Interval
from schedules.rules.once import Once

_SHIFTED = ("once", "interval", "daily", "weekly", "monthly")


def is_movable(schedule: Schedule) -> bool:
    """Whether it comes on the clock of its owner, and follows no calendar."""
    is_own = schedule.made_by_id is None and not schedule.local_time
    return schedule.next_fire_at is not None and is_own and (moves_all(schedule) or moves_one(schedule))


def moves_all(schedule: Schedule) -> bool:
    """Whether its rule can be moved."""
    return schedule.kind in _SHIFTED


def moves_one(schedule: Schedule) -> bool:
    """Whether it has times of which one can be moved alone. With a maximum, or from Done, that one would not count."""
    return schedule.kind != "once" and schedule.max_count is None and not schedule.after_done


def move(
    schedule: Schedule, day: date, version: int, now: datetime, by: User, at: time | None = None,
    slot: datetime | None = None,
) -> Schedule:  # fmt: skip
    """Move its rule, so that `slot`, or else its next time, comes on `day`, at the same time or `at`, as `by` sees it.

    Raises NotPossible, and `editing.ScheduleConflict`.
    """
    slot = slot or schedule.next_fire_at
    if slot is None or not is_movable(schedule) or not moves_all(schedule):
        raise NotPossible(_("“%(title)s” cannot be moved. Edit it instead.") % {"title": schedule.title})
    try:
        rule = _shifted(schedule, *_civil(schedule, slot, day, at, by))
        moved = replace(slots.of(schedule, now), timetable=replace(schedule.timetable(), rule=rule))
    except (InvalidRule, OverflowError) as error:
        raise NotPossible(str(error)) from None
    _refuse_past(schedule, rule, now)
    if moved.next_after(now) is None:
        text = _("“%(title)s” was not moved: it is snoozed, or limited to other days. Edit it instead.")
        raise NotPossible(text % {"title": schedule.title})
    schedule.rule, schedule.version = rule.data(), version
    return editing.reschedule(schedule, now, by=by)


def move_one(
    schedule: Schedule, day: date, version: int, now: datetime, by: User, at: time | None, slot: datetime
) -> Schedule:
    """Skip `slot` of one that repeats, and create one that comes once instead. Raises as `move`.

    The caller's transaction holds the owner's lock.
    """
    if not is_movable(schedule) or not moves_one(schedule):
        text = _("One time of “%(title)s” cannot be moved alone. Edit it instead.")
        raise NotPossible(text % {"title": schedule.title})
    try:
        rule = rules.parse("once", {"at": _civil(schedule, slot, day, at, by)[1]}, schedule.time_zone)
    except (InvalidRule, OverflowError) as error:
        raise NotPossible(str(error)) from None
    _refuse_past(schedule, rule, now)
    return editing.replace_slot(schedule.id, slot, rule, version, now, by)


@transaction.atomic
def undo(schedule: Schedule, version: int, now: datetime, by: User) -> datetime | None:
    """Take back the move that has made this version, of one of its times or of all. Returns the time that it has again.

    Raises NotPossible, and `editing.ScheduleConflict` if it has changed or rung since.
    """
    events = schedule.events.filter(
        version=version, what__in=(ScheduleEvent.Change.CREATED, ScheduleEvent.Change.EDITED)
    )
    made = None if schedule.next_fire_at is None or schedule.version != version else events.first()
    if made is None or not made.detail.keys() & {"was", "replaces"}:
        raise editing.ScheduleConflict(schedule)
    if "replaces" in made.detail:
        slot = datetime.fromisoformat(made.detail["slot"])
        editing.unskip(UUID(made.detail["replaces"]), slot, now, by)
        editing.delete(schedule.id, now, by)
        return slot
    was = made.detail["was"]
    if was | {"rule": schedule.rule} != editing.timing(schedule):  # an edit of more than its time
        raise editing.ScheduleConflict(schedule)
    schedule.rule = was["rule"]
    _refuse_past(schedule, schedule.timetable().rule, now)
    return editing.reschedule(schedule, now, by=by).next_fire_at


def _civil(schedule: Schedule, slot: datetime, day: date, at: time | None, by: User) -> tuple[datetime, datetime]:
    """The civil times of the slot and of its new place, in the zone of the schedule."""
    zone, shown = schedule.timetable().rule.zone, civil.local(by.zone, slot)
    was = civil.local(zone, slot)
    if at is None or at == shown.time().replace(second=0, microsecond=0):
        return was, was + (day - shown.date())
    return was, civil.local(zone, civil.first_instant(by.zone, datetime.combine(day, at)))


def _shifted(schedule: Schedule, was: datetime, to: datetime) -> Rule:
    """Its rule, with the time that was at one civil time at the other."""
    rule, data = schedule.timetable().rule, dict(schedule.rule)
    if isinstance(rule, Once):
        data["at"] = rule.at + (to - was)
    elif isinstance(rule, Interval):
        data["anchor"] = rule.anchor + (civil.first_instant(rule.zone, to) - civil.first_instant(rule.zone, was))
    else:
        at = datetime.combine(was, fields.time_of_day(data)) + (to - was)
        data |= {"time": at.time()} | _days(schedule, was.date(), to.date())
    return rules.parse(schedule.kind, data, schedule.time_zone)


def _days(schedule: Schedule, was: date, to: date) -> dict[str, object]:
    if was == to:
        return {}
    if schedule.kind == "daily":
        raise NotPossible(_("“%(title)s” comes every day: only its time can be moved.") % {"title": schedule.title})
    if schedule.kind == "monthly":
        return {"day": to.day}
    if was.weekday() not in schedule.rule["days"]:  # it has come on the next working day
        raise NotPossible(_("“%(title)s” cannot be moved. Edit it instead.") % {"title": schedule.title})
    return {"days": [to.weekday() if day == was.weekday() else day for day in schedule.rule["days"]]}


def _refuse_past(schedule: Schedule, rule: Rule, now: datetime) -> None:
    if rule.next_after(now) is None:
        text = _("“%(title)s” was not moved: this day or time has passed. Choose a later day.")
        raise NotPossible(text % {"title": schedule.title})
