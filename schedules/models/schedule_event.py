"""The record of a change of a schedule."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import pgtrigger
from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy

from common.database.triggers import refuse_unreadable
from notifications.models import change
from people.models import User
from schedules.models.schedule import Schedule


class ScheduleEvent(models.Model):
    """One change of a schedule, written in its transaction. Explain reads when a schedule was paused from these.

    `version` is the schedule's afterwards. `detail["was"]` is the timing that an edit or Done replaced,
    `detail["before"]` the state and snooze before a pause or the archive, or before Done where that was undone,
    `detail["snoozed_until"]` the snooze that goes on once that is undone. Of Done, `detail["message"]` is the id of the
    message, and `detail["fired"]` how often the schedule had fired. A schedule that was made to move one time of
    another has that one as `detail["replaces"]`, and the time as `detail["slot"]`.
    """

    class Change(models.TextChoices):
        CREATED = "created"
        EDITED = "edited"
        PAUSED = "paused"
        RESUMED = "resumed"
        SNOOZED = "snoozed"
        SKIPPED = "skipped"
        UNSKIPPED = "unskipped"
        RUN = "run"
        DELETED = "deleted"
        RESTORED = "restored"
        RECLOCKED = "reclocked"
        ARCHIVED = "archived"
        UNARCHIVED = "unarchived"
        DONE = "done"
        UNDONE = "undone"

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="events")
    what = models.CharField(max_length=12, choices=Change.choices)
    at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    version = models.PositiveIntegerField(gettext_lazy("version"))
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
        actor = by and by.actor
        return cls(schedule=schedule, what=what, at=at, by=actor, version=schedule.version, detail=detail)
