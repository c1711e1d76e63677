"""Batches: one cause that is for many people, and how far each part of it has come."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import OuterRef, Q, Subquery, Sum
from django.db.models.functions import JSONObject, Now
from django.utils.translation import gettext_lazy as _

from jobs.models.job import OnError
from people.models.owned import OwnedQuerySet
from work.models import Attempt, Chained, Words, Work

WORDS = Words(working="telling", done="told", key="batch")
COUNTED = ("completed", "processing", "pending", "failed", "dropped")
"""The states of what a batch causes, as people read them."""


class BatchQuerySet(OwnedQuerySet["Batch"]):
    def with_counts(self) -> BatchQuerySet:
        """With `counts`: how much is in which state, by name; None while nobody is told."""
        parts = Part.objects.filter(batch=OuterRef("pk")).order_by().values("batch")
        summed = parts.annotate(counts=JSONObject(**{state: Sum(state) for state in COUNTED})).values("counts")
        return self.annotate(counts=Subquery(summed))


class Batch(Chained, Work):
    """All that one occurrence or event is to do for an audience. Its id is that of the cause's batch.

    The audience is who belonged to it at `as_of`: it is counted (`size`) when a worker begins, and then told in
    parts, each of them a transaction that moves `told_up_to`, the id of the last person. `told` of them are dealt with,
    and `reached` have a notification or a job. `job_kind`: empty where it says its text; `message` is what it says, and
    how. `ended_at`: nothing of it waits any more.
    """

    words = WORDS

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="batches", db_index=False)
    audience = models.CharField(_("audience"), max_length=20)
    audience_key = models.CharField(max_length=64, blank=True)
    origin = models.CharField(max_length=12)
    origin_id = models.UUIDField(null=True, editable=False)
    correlation_id = models.UUIDField(null=True, editable=False)
    as_of = models.DateTimeField(db_default=Now(), editable=False)
    slot = models.DateTimeField(null=True)
    local_time = models.BooleanField(default=False, db_default=False)
    stale_after = models.PositiveIntegerField(_("stale after"), null=True)
    message = models.JSONField(default=dict)
    job_kind = models.CharField(max_length=40, blank=True)
    job_payload = models.JSONField(default=dict)
    on_error = models.CharField(max_length=8, choices=OnError.choices, default=OnError.DAILY, db_default="daily")
    errors_allowed = models.PositiveSmallIntegerField(default=3, db_default=3)
    size = models.PositiveIntegerField(_("size"), null=True, editable=False)
    told = models.PositiveIntegerField(_("told"), default=0, db_default=0, editable=False)
    reached = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    told_up_to = models.BigIntegerField(default=0, db_default=0, editable=False)
    cancelled_at = models.DateTimeField(null=True, editable=False)
    ended_at = models.DateTimeField(null=True, editable=False)

    objects: ClassVar[models.Manager[Batch]] = BatchQuerySet.as_manager()

    class Meta(Work.Meta):
        verbose_name = _("batch")
        verbose_name_plural = _("batches")
        indexes = [
            *WORDS.indexes(),
            models.Index(fields=["user", "-created_at"], name="batch_of_person"),
            models.Index(fields=["origin_id", "-created_at"], name="batch_of_origin"),
            # the trace of its chain
            models.Index(fields=["correlation_id"], condition=Q(correlation_id__isnull=False), name="batch_of_chain"),
            # progress: what has not ended
            models.Index(fields=["created_at"], condition=Q(ended_at=None), name="batch_open"),
        ]
        constraints = WORDS.constraints()
        triggers = WORDS.triggers("as_of", "slot", "cancelled_at", "ended_at", json=["message", "job_payload"])

    def __str__(self) -> str:
        title = self.message.get("title") if isinstance(self.message, dict) else ""  # SQL can write anything
        return str(title or self.id)


class DeadBatch(Batch):
    """A batch that is a dead letter, with its own list and permissions in the admin."""

    class Meta:
        proxy = True
        verbose_name = _("dead letter")


class BatchAttempt(Attempt):
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="history", db_index=False)

    class Meta(Attempt.Meta):
        constraints = WORDS.attempt_constraints()
        triggers = WORDS.attempt_triggers()


class Part(models.Model):
    """The people from `first` to `last` (ids) of a batch, and in which states what it caused for them was lately.

    Progress is the sum of the parts. Each is counted again while something of it is open, so no count grows with the
    batch, and no delivery pays for it.
    """

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="parts", db_index=False)
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    pending = models.PositiveIntegerField(default=0, db_default=0)
    processing = models.PositiveIntegerField(default=0, db_default=0)
    completed = models.PositiveIntegerField(default=0, db_default=0)
    failed = models.PositiveIntegerField(default=0, db_default=0)
    dropped = models.PositiveIntegerField(default=0, db_default=0)
    counted_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["batch", "first"], name="part_once")]


class Leaver(models.Model):
    """Somebody who wants no more of what `origin_id`, a reminder for an audience, says."""

    origin_id = models.UUIDField(editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    left_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["origin_id", "user"], name="leaver_once")]
