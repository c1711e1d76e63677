"""How many deliveries of a person ended on a day, of those that are not kept any more."""

from django.conf import settings
from django.db import models


class DailyTotal(models.Model):
    """`day` is that of the settlement, in UTC. Retention adds to it in the statement that deletes the deliveries."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    provider = models.CharField(max_length=32)
    state = models.CharField(max_length=9)
    count = models.PositiveBigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "day", "provider", "state"], name="dailytotal_once")]

    def __str__(self) -> str:
        return f"{self.day} {self.provider} {self.state}: {self.count}"
