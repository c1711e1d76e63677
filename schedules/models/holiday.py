"""Times in which a person's reminders send nothing."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from common.database import checks
from common.models import DatedRow
from people.models.owned import OwnedQuerySet


class Holiday(DatedRow):
    """A time in which a person's own reminders send nothing: from `first` to `last`, dates on the clock of their zone.

    `tags`: only reminders that have one of these; empty: all. `ended_at` is when its person ended it early.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="holidays", db_index=False
    )
    first = models.DateField()
    last = models.DateField()
    tags = ArrayField(models.CharField(max_length=30), default=list, blank=True)
    note = models.CharField(max_length=200, blank=True)
    urgent_rings = models.BooleanField(default=True)
    ended_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects: ClassVar[models.Manager[Holiday]] = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["first", "id"]
        indexes = [models.Index(fields=["user", "last"], name="holiday_of_person")]
        constraints = [
            models.CheckConstraint(
                condition=Q(first__gte="1900-01-01", last__gte=models.F("first"), last__lt="9000-01-01"),
                name="holiday_in_order",
            ),
            checks.readable("holiday_readable_instants", "created_at", nullable=("ended_at",)),
        ]

    def __str__(self) -> str:
        return f"{self.first} to {self.last}"
