"""The history of a schedule: the record of each of its slots, and of each of its changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Self

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database.storage import BUSY
from common.database.triggers import refuse_unreadable
from common.uuid7 import uuid7
from notifications.models import change
from people.models import User
from schedules.models.schedule import Schedule


class Occurrence(models.Model):
    """The record of one slot of a schedule: fired, or skipped with a reason.

    Its id is the `batch_id` of its notification. `fired_at` is when it was recorded, on the database's clock.
    """

    class Outcome(models.TextChoices):
        FIRED = "fired"
        SKIPPED = "skipped"

    class Reason(models.TextChoices):
        NONE = "", ""
        LATE = "late", _("Sent late, after its grace")
        MISFIRE = "misfire", _("Missed while it was off; only the latest is sent late")
        NO_CHANNEL = "no-channel", _("No channel to send to")
        BROKEN = "broken", _("The rule could not be read")
        HOLIDAY = "holiday", _("Nothing was sent: holiday")
        BY_PERSON = "asked", _("Skipped by a person")
        MANUAL = "manual", _("Run outside of the timetable by a person")

    id = models.UUIDField("batch", primary_key=True, default=uuid7, editable=False)
    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="occurrences", db_index=False)
    scheduled_for = models.DateTimeField()
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    reason = models.CharField(max_length=16, choices=Reason.choices, blank=True)
    version = models.PositiveIntegerField(
        _("version"), help_text=_("The schedule's version when this slot was recorded.")
    )
    fired_at = models.DateTimeField(db_default=Now())

    storage: ClassVar[Mapping[str, int]] = BUSY

    class Meta:
        verbose_name = _("occurrence")
        verbose_name_plural = _("occurrences")
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


class ScheduleEvent(models.Model):
    """One change of a schedule, written in its transaction. Explain reads when a schedule was paused from these.

    `version` is the schedule's afterwards. `detail["was"]` is the timing that an edit or Done replaced,
    `detail["before"]` the state and snooze before a pause or the archive, or before Done where that was undone,
    `detail["snoozed_until"]` the snooze that goes on once that is undone. Of Done, `detail["message"]` is the id of the
    message, and `detail["fired"]` how often the schedule had fired. A schedule that was made to move one time of
    another has that one as `detail["replaces"]`, and the time as `detail["slot"]`.
    """

    class Change(models.TextChoices):
        CREATED = "created", _("created")
        EDITED = "edited", _("edited")
        PAUSED = "paused", _("paused")
        RESUMED = "resumed", _("resumed")
        SNOOZED = "snoozed", _("snoozed")
        SKIPPED = "skipped", _("next one skipped")
        UNSKIPPED = "unskipped", _("skip undone")
        RUN = "run", _("run now")
        DELETED = "deleted", _("deleted")
        RESTORED = "restored", _("restored")
        RECLOCKED = "reclocked", _("moved by a change of the zone database")
        ARCHIVED = "archived", _("archived")
        UNARCHIVED = "unarchived", _("taken out of the archive")
        DONE = "done", _("done: the next time is counted from here")
        UNDONE = "undone", _("done was taken back")

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="events")
    what = models.CharField(max_length=12, choices=Change.choices)
    at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    version = models.PositiveIntegerField(_("version"))
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        triggers = [
            change.recorder(
                "event_records_change",
                pgtrigger.Insert,
                # Of these two, the occurrence is the change.
                condition="NEW.what NOT IN ('skipped', 'run')",
                source="schedules_schedule s",
                where="s.id = NEW.schedule_id",
                user="s.user_id",
                type="'schedule.' || NEW.what",
                data="jsonb_build_object('schedule_id', s.id, 'version', NEW.version)",
            ),
            refuse_unreadable("at", objects=["detail"]),
        ]

    def __str__(self) -> str:
        return f"{self.schedule_id} {self.what}"

    @classmethod
    def of(cls, schedule: Schedule, what: Change, at: datetime, by: User | None = None, **detail: object) -> Self:
        """One that is not saved yet."""
        return cls(schedule=schedule, what=what, at=at, by=by and by.actor, version=schedule.version, detail=detail)
