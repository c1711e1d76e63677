"""What a person's events use of their quota."""

from django.conf import settings
from django.db import models


class Usage(models.Model):
    """What came in a UTC day, and in its newest minute. A person has a few rows, so that no two transactions wait for
    each other; each begins anew with its day and minute. See `events.intake.usage`."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    shard = models.SmallIntegerField()
    day = models.DateField()
    minute = models.DateTimeField()
    day_events = models.BigIntegerField()
    day_bytes = models.BigIntegerField()
    minute_events = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "shard"], name="usage_once")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.day_events}"
