"""Answers kept for requests that are sent again."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from common.database.triggers import refuse_unreadable


class StoredAnswer(models.Model):
    """The answer to a POST with an `Idempotency-Key`, written in the transaction of its effect. See `idempotency`."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    body = models.TextField(default="")
    sealed = models.BooleanField(default=False, help_text="Whether the body is encrypted, because it holds a secret.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="api_answer_once")]
        # the hourly deletion of those older than a day
        indexes = [models.Index(fields=["created_at"], name="api_answer_old")]
        triggers = [refuse_unreadable("created_at", json=["headers"])]
