"""Done, of a reminder instead of a message; and what follows for a reminder that counts from Done of its message."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from notifications.deliveries import acknowledge
from notifications.models import Notification
from people.models import User
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule, ScheduleEvent

_Source = Notification.AnsweredFrom


@transaction.atomic
def done(schedule: Schedule, now: datetime, by: User, source: _Source) -> bool:
    """Done of the newest message, and of the slot where the schedule waits for that. False if nothing was open."""
    newest = _newest(schedule)
    if newest is not None and acknowledge.acknowledge(newest.id, source, by.actor if by.is_team else None):
        return True
    # Not of a slot that is due at this moment, which this would fire first.
    waits = schedule.state in {Schedule.State.AWAITING, Schedule.State.PAUSED}
    return waits and editing.done(schedule.id, now, by).version > schedule.version


@transaction.atomic
def undo_done(schedule: Schedule, now: datetime, by: User) -> bool:
    """Take `done` back. False if nothing was done, or the reminder has changed or rung since."""
    last = schedule.events.order_by("-id").first()
    if last is not None and last.what == ScheduleEvent.Change.DONE and last.detail["message"] is None:
        return editing.undo_done(schedule.id, now, by).version > last.version
    newest = _newest(schedule)
    return newest is not None and acknowledge.undo(newest.id) is not None


def _newest(schedule: Schedule) -> Notification | None:
    own = Notification.objects.filter(origin=Notification.Origin.SCHEDULE, origin_id=schedule.id)
    return own.filter(nag_of=None, early=None).order_by("-id").first()


def lock_cause(notification_id: UUID) -> None:
    """Lock it before its message, as all changes of it do."""
    own = Notification.objects.filter(id=notification_id, origin=Notification.Origin.SCHEDULE, early=None)
    counting = Schedule.objects.filter(id__in=own.values("origin_id"), after_done=True)
    list(counting.select_for_update(no_key=True).values_list("id"))


def message_done(notification: Notification) -> None:
    if notification.snoozed_until is None and (schedule_id := _counting(notification)) is not None:
        editing.done(schedule_id, fire.read_clock().now, message=notification.nag_of or notification.id)


def message_undone(notification: Notification) -> None:
    if (schedule_id := _counting(notification)) is not None:
        editing.undo_done(schedule_id, fire.read_clock().now, message=notification.nag_of or notification.id)


def _counting(notification: Notification) -> UUID | None:
    """The id of its reminder, if that counts from Done. Done of an early message answers that alone."""
    is_of_slot = notification.origin == Notification.Origin.SCHEDULE and notification.early is None
    if not is_of_slot or notification.origin_id is None:
        return None
    return Schedule.objects.filter(id=notification.origin_id, after_done=True).values_list("id", flat=True).first()
