"""The record of a slot."""

from collections.abc import Mapping
from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from common.database.storage import BUSY
from common.database.triggers import refuse_unreadable
from common.uuid7 import uuid7
from notifications.models import change
from schedules.models.schedule import Schedule


class Occurrence(models.Model):
    """The record of one slot of a schedule: fired, or skipped with a reason.

    Its id is the `batch_id` of its notification. `fired_at` is when it was recorded, on the database's clock.
    """

    class Outcome(models.TextChoices):
        FIRED = "fired"
        SKIPPED = "skipped"

    class Reason(models.TextChoices):
        NONE = ""
        LATE = "late"
        MISFIRE = "misfire"
        NO_CHANNEL = "no-channel"
        BROKEN = "broken"
        HOLIDAY = "holiday"
        BY_PERSON = "asked", "Asked"  # a person skipped it
        MANUAL = "manual"  # a person ran it

    id = models.UUIDField("batch", primary_key=True, default=uuid7, editable=False)
    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="occurrences", db_index=False)
    scheduled_for = models.DateTimeField()
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    reason = models.CharField(max_length=16, choices=Reason.choices, blank=True)
    version = models.PositiveIntegerField(
        gettext_lazy("version"), help_text=gettext_lazy("The schedule's version when this slot was recorded.")
    )
    fired_at = models.DateTimeField(db_default=Now())

    storage: ClassVar[Mapping[str, int]] = BUSY

    class Meta:
        verbose_name = gettext_lazy("occurrence")
        verbose_name_plural = gettext_lazy("occurrences")
        ordering = ["-scheduled_for"]
        indexes = [
            # what a person's calendar says was skipped; what fires pays nothing for it
            models.Index(
                fields=["schedule", "scheduled_for"], condition=Q(outcome="skipped"), name="occurrence_skipped"
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["schedule", "scheduled_for"], name="occurrence_once_per_slot"),
            models.CheckConstraint(condition=Q(outcome__in=["fired", "skipped"]), name="occurrence_known_outcome"),
            models.CheckConstraint(condition=Q(outcome="fired") | ~Q(reason=""), name="occurrence_skipped_with_reason"),
        ]
        triggers = [
            change.recorder(
                "occurrence_records_change",
                pgtrigger.Insert,
                new_rows=True,
                source="new_rows o JOIN schedules_schedule s ON s.id = o.schedule_id",
                user="s.user_id",
                type="'schedule.' || o.outcome",
                data="""jsonb_build_object(
                    'schedule_id', s.id, 'correlation_id', o.id, 'reason', o.reason, 'slot_at',
                    replace(to_char(o.scheduled_for AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                            '.000000', ''))""",
            ),
            refuse_unreadable("scheduled_for", "fired_at"),
        ]

    def __str__(self) -> str:
        return f"{self.schedule_id} at {self.scheduled_for.isoformat()}"
