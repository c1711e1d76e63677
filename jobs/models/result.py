"""Answers of sources, kept for the same question."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Result(models.Model):
    """What a source answered to a question. `key` is a digest of the kind, the connection and the question.

    `etag` and `modified` are what the source wants to hear to say that nothing has changed.
    """

    key = models.CharField(max_length=64, primary_key=True)
    value = models.JSONField(null=True)
    etag = models.CharField(max_length=500, blank=True)
    modified = models.CharField(max_length=100, blank=True)
    fetched_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["fetched_at"], name="result_fetched")]

    def __str__(self) -> str:
        return self.key
