"""How many tries there were of each kind of work. The counts outlive the rows that were counted."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
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


class Rollup(models.Model):
    """The tries that ended in a minute, an hour or a day (UTC) from `start` on, of `span` seconds.

    Each try is counted in one row of each span. Rows are deleted when their span is no longer shown, see `work.totals`.
    `handler` as in `Total`. `took` and `late` are histograms by the buckets of `work.totals`: how long tries took, and
    how long after they were due they began, where that is known. `first_attempt` is the lowest id of those counted.
    """

    span = models.PositiveIntegerField()
    start = models.DateTimeField()
    kind = models.CharField(max_length=64)
    handler = models.CharField(max_length=64)
    tries = models.PositiveBigIntegerField()
    done = models.PositiveBigIntegerField()
    took = ArrayField(models.BigIntegerField())
    late = ArrayField(models.BigIntegerField())
    first_attempt = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["span", "start", "kind", "handler"], name="rollup_once")]


class PersonTotal(models.Model):
    """The tries of a person's work that ended in a minute or a day (UTC) from `start` on, of `span` seconds, or ever.

    `span` is 0 for ever, with the epoch as `start`. `handler` as in `Total`. Of the tries, `done` succeeded, and `dead`
    ended their work as a dead letter.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    span = models.PositiveIntegerField()
    start = models.DateTimeField()
    kind = models.CharField(max_length=64)
    handler = models.CharField(max_length=64)
    tries = models.PositiveBigIntegerField()
    done = models.PositiveBigIntegerField()
    dead = models.PositiveBigIntegerField()

    class Meta:
        # those that are too old
        indexes = [models.Index(fields=["span", "start"], name="persontotal_age")]
        constraints = [
            models.UniqueConstraint(fields=["user", "span", "start", "kind", "handler"], name="persontotal_once")
        ]


class CountedAttempts(models.Model):
    """Up to which id the attempts of a kind of work are counted."""

    kind = models.CharField(max_length=64, primary_key=True)
    attempt_id = models.BigIntegerField()
