"""Tell people ahead of a slot that it comes, where their reminder asks for that.

Only the newest of those that are due is sent, while the slot is still ahead. Their ids follow from slot and minutes.
They have no occurrence. Done of one answers that message only: the reminder still fires at its slot.
"""

import logging
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from common import zones
from common.database import fault_points
from common.database.postgres import blames_no_row, change
from common.database.rows import Rows
from common.texts import languages
from common.times import dates
from common.times.civil_time import local
from common.uuid7 import child, first_of, of_slot
from notifications.deliveries import outbox, withdrawal
from notifications.deliveries.outbox import NewNotification
from notifications.messages import text
from notifications.models import Notification
from notifications.reasons import DeliveryCode
from schedules.firing import due, holidays
from schedules.firing.due import Due
from schedules.models import Schedule
from schedules.rules import early
from schedules.rules.early import EarlyTime
from work.broker.wakes import publish_after_commit

log = logging.getLogger(__name__)

BATCH = 500
# A message that is not later than this still names its own length of time; a later one, what is left.
_LATE = timedelta(minutes=1)


_NEXT = Rows("next", id=UUID, next_early_at=datetime)
_ADVANCE = f"""
UPDATE schedules_schedule s SET next_early_at = next.next_early_at FROM {_NEXT.sql} WHERE s.id = next.id
"""  # noqa: S608 - constants only


def send_due(now: datetime) -> int:
    """Send the early messages that are due at `now`, of up to `BATCH` schedules; returns how many.

    Any number of processes may call it at once. One that the database refuses is left out alone.
    """
    try:
        return _send(now, None)
    except Exception as error:
        if blames_no_row(error):
            raise
        log.warning("A batch of early messages failed (%s): sending them one by one", type(error).__name__)
    waiting = Schedule.objects.filter(next_early_at__lte=now, next_fire_at__gt=now).order_by("next_early_at")
    return due.one_by_one(waiting.values_list("id", flat=True)[:BATCH], lambda one: _send(now, [one]), _leave_out)


def _leave_out(schedule_id: UUID, error: str) -> None:
    log.error("Schedule %s cannot send an early message: %s", schedule_id, error)
    Schedule.objects.filter(id=schedule_id).update(next_early_at=None)


@transaction.atomic
def _send(now: datetime, only: Collection[UUID] | None) -> int:
    if not (taken := due.take_early(now, only, BATCH)):
        return 0
    channels = due.channels_of(taken)
    people = {(schedule.user_id, schedule.persons_zone) for schedule in taken}
    silent = holidays.of_people(people, now, max(schedule.next_fire_at for schedule in taken))
    new, following = [], []
    for schedule in taken:
        times = early.times(schedule.next_fire_at, schedule.early, zones.read(schedule.time_zone))
        following.append((schedule.id, next((one.at for one in times if one.at > now), None)))
        is_due = [one for one in times if schedule.next_early_at and schedule.next_early_at <= one.at <= now]
        instants = (now, schedule.next_fire_at)
        is_silent = any(silent[schedule.user_id].at(one, schedule.tags, schedule.urgent) for one in instants)
        if is_due and channels[schedule.id] and not is_silent:
            new.append(_notification(schedule, is_due[-1], now, channels[schedule.id]))
    change(_ADVANCE, _NEXT.values(following))
    wakes = outbox.record(new)
    fault_points.reach("recorded")
    publish_after_commit(wakes)
    return len(new)


def _notification(
    schedule: Due, early_time: EarlyTime, now: datetime, channels: Sequence[tuple[UUID, str]]
) -> NewNotification:
    slot, wait = schedule.next_fire_at, schedule.quiet_hours(now)
    arrives = now if wait is None or wait.until >= slot else wait.until
    is_late = arrives - early_time.at >= _LATE
    minutes = max(1, round((slot - arrives) / timedelta(minutes=1))) if is_late else early_time.minutes
    with languages.override(schedule.language):
        composed = text.compose(
            schedule.title, schedule.body, name=schedule.name, slot=slot, time_zone=schedule.time_zone
        )
        subject = _("In %(time)s: %(title)s") % {"time": early.length(minutes), "title": composed.subject}
        when = dates.short(local(zones.read(schedule.persons_zone or schedule.time_zone), slot))
    return NewNotification(
        user_id=schedule.user_id,
        channels=channels,
        subject=text.fit(subject, text.MAX_SUBJECT).text,
        body=text.fit(f"{when}\n\n{composed.body}".strip(), text.MAX_BODY).text,
        origin=Notification.Origin.SCHEDULE,
        batch_id=child(of_slot(early_time.at, schedule.id), f"{slot.isoformat()}/{early_time.minutes}"),
        origin_id=schedule.id,
        slot=slot,
        early=early_time.minutes,
        expires_at=slot,
        quiet_hours=wait,
        urgent=schedule.urgent,
        category=schedule.category,
        data=schedule.data,
        in_order=bool(schedule.channel_order),
    )


def withdraw_outdated(schedule: Schedule, now: datetime) -> None:
    """Cancel early messages that are not sent yet, of a slot that is not the next one any more."""
    recent = first_of(now - timedelta(minutes=early.LONGEST + early.DAY))
    own = Notification.objects.filter(origin_id=schedule.id, id__gte=recent, early__isnull=False)
    withdrawal.cancel(own.exclude(slot=schedule.next_fire_at), DeliveryCode.OTHER_TIME)
