"""How many tries there were of each kind of work, for /metrics. The counts outlive the rows that were counted."""

from __future__ import annotations

from django.db import models


class Total(models.Model):
    """`handler` is the provider of a delivery or the kind of a job, and empty for work whose types people name.

    `seconds` is how long those tries took together.
    """

    kind = models.CharField(max_length=64)
    handler = models.CharField(max_length=64)
    outcome = models.CharField(max_length=10)
    count = models.PositiveBigIntegerField()
    seconds = models.FloatField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "handler", "outcome"], name="total_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.handler} {self.outcome}: {self.count}"


class CountedAttempts(models.Model):
    """Up to which id the attempts of a kind of work are counted."""

    kind = models.CharField(max_length=64, primary_key=True)
    attempt_id = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.kind}: {self.attempt_id}"
