"""Mark a schedule that cannot be fired as broken, and notify its owner.

The batch id of a notice is derived from its cause, so that it is sent once, however often the cause is found.
"""

import logging
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.urls import reverse

from common.database.checks import READABLE
from common.database.postgres import query
from common.texts import languages
from common.uuid7 import uuid7
from notifications.channels import owner_notices
from notifications.channels.owner_notices import Notice
from notifications.deliveries import withdrawal
from notifications.models import Notification
from notifications.reasons import DeliveryCode
from schedules.models import Schedule
from schedules.parts import mirror, words
from work.broker.wakes import publish_after_commit

log = logging.getLogger(__name__)

# The namespace of their batch ids (RFC 9562, section 5.5).
_NOTICES = UUID("0b4a7f0e-6a5c-4a0e-9a5e-3c4d8c7f9d52")

# Reads no other column into Python: one of them is damaged.
_QUARANTINE = """
WITH found AS (
    SELECT id, next_fire_at, version FROM schedules_schedule
     WHERE id = %(id)s AND next_fire_at <= %(now)s FOR NO KEY UPDATE SKIP LOCKED
), broken AS (
    UPDATE schedules_schedule s SET state = 'broken', next_fire_at = NULL, next_early_at = NULL, error = %(error)s
      FROM found WHERE s.id = found.id
 RETURNING s.periodic_task_id
), recorded AS (
    INSERT INTO schedules_occurrence (id, schedule_id, scheduled_for, outcome, reason, version)
    SELECT %(batch_id)s, id, next_fire_at, 'skipped', 'broken', version FROM found
     WHERE next_fire_at BETWEEN %(first)s AND %(last)s
    ON CONFLICT (schedule_id, scheduled_for) DO NOTHING
)
SELECT periodic_task_id FROM broken
"""


def describe(error: BaseException | None) -> str:
    """The text for `Schedule.error`; "" for no error."""
    if error is None:
        return ""
    first_line = str(error).partition("\n")[0].replace("\0", "")  # PostgreSQL's other lines show the whole row
    return f"{type(error).__name__}: {first_line}"[:500]


def quarantine(schedule_id: UUID, now: datetime, error: Exception) -> bool:
    """Mark a due schedule as broken, and record its slot as skipped. False if it is not due any more."""
    with transaction.atomic():
        values: dict[str, Any] = {"id": schedule_id, "now": now, "error": describe(error), "batch_id": uuid7()}
        rows = query(_QUARANTINE, values | {"first": READABLE[0], "last": READABLE[1]})
        if not rows:
            return False
        log.error("Schedule %s is broken: %s", schedule_id, type(error).__name__)
        mirror.disable([row.periodic_task_id for row in rows])
        notify_broken([schedule_id])
    return True


def notify_broken(schedule_ids: Collection[UUID]) -> None:
    rows = Schedule.objects.filter(id__in=schedule_ids).annotate(language=F("user__language"))
    read = rows.values_list("id", "user_id", "title", "error", "version", "language", named=True)
    notify([broken(row, row.error) for row in read])


def broken(schedule: Any, error: str) -> Notice:
    """`schedule` has an id, title and version, and its person's id and language."""
    return _of_schedule(schedule, "broken", words.broken, error)


def without_channel(schedule: Any) -> Notice:
    return _of_schedule(schedule, "no channel", words.without_channel)


def _of_schedule(schedule: Any, cause: str, compose: Callable[..., tuple[str, str]], *parts: str) -> Notice:
    page = f"{settings.BASE_URL}{reverse('schedules:detail', args=[schedule.id])}"
    cause = f"{schedule.id} {cause} {schedule.version}"
    return _notice(schedule.user_id, schedule.language, cause, compose, schedule.title, *parts, page)


def damaged_zone(user_id: int, zone: str, language: str) -> Notice:
    page = f"{settings.BASE_URL}{reverse('people:settings')}"
    return _notice(user_id, language, f"{user_id} zone {zone}", words.damaged_zone, zone, page)


def _notice(user_id: int, language: str, cause: str, compose: Callable[..., tuple[str, str]], *parts: str) -> Notice:
    with languages.override(language):
        return Notice(user_id, uuid5(_NOTICES, cause), *compose(*parts))


def notices_of(schedule_id: UUID, version: int) -> list[UUID]:
    """The batches of the notices about this version."""
    return [uuid5(_NOTICES, f"{schedule_id} {cause} {version}") for cause in ("broken", "no channel")]


def drop_notices(batches: Collection[UUID]) -> None:
    """Cancel what is not sent yet of them, because an edit has solved their problem."""
    withdrawal.drop(Notification.objects.filter(batch_id__in=batches), DeliveryCode.MENDED)


def notify(notices: Collection[Notice]) -> None:
    """Record notices in the caller's transaction, and publish them after its commit."""
    if notices:
        publish_after_commit(owner_notices.record(notices, datetime.now(UTC)))
