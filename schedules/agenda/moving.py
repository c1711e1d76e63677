"""Move a reminder that comes once to another day."""

from dataclasses import replace
from datetime import date, datetime

from django.utils.translation import gettext as _

from people.models import User
from schedules import rules
from schedules.changes import editing
from schedules.models import Schedule
from schedules.parts import slots
from schedules.rules import InvalidRule, civil


class MoveRefused(Exception):
    """It cannot be moved to this day. The message is for its owner."""


def is_movable(schedule: Schedule) -> bool:
    """Whether it comes once, on the clock of its owner, and follows no calendar."""
    is_own = schedule.made_by_id is None and not schedule.local_time
    return schedule.kind == "once" and schedule.next_fire_at is not None and is_own


def move(schedule: Schedule, day: date, version: int, now: datetime, by: User) -> Schedule:
    """Move it to `day` at the same civil time. Raises MoveRefused, and `editing.ScheduleConflict`."""
    title = {"title": schedule.title}
    if not is_movable(schedule) or schedule.next_fire_at is None:
        raise MoveRefused(_("“%(title)s” cannot be moved to another day. Edit it instead.") % title)
    shown = civil.local(by.zone, schedule.next_fire_at).date()
    try:
        timetable = schedule.timetable()
        at = datetime.fromisoformat(schedule.rule["at"]) + (day - shown)
        rule = rules.parse("once", {"at": at.isoformat()}, schedule.time_zone)
    except (InvalidRule, OverflowError) as error:
        raise MoveRefused(str(error)) from None
    if rule.next_after(now) is None:
        raise MoveRefused(_("“%(title)s” was not moved: this day or time has passed. Choose a later day.") % title)
    moved = replace(slots.of(schedule, now), timetable=replace(timetable, rule=rule))
    if moved.next_after(now) is None:
        raise MoveRefused(
            _("“%(title)s” was not moved: it is snoozed, or limited to other days. Edit it instead.") % title
        )
    schedule.rule, schedule.version = rule.data(), version
    return editing.reschedule(schedule, now, by=by)
