"""Named counters."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from people.models import User


class ShardQuerySet(models.QuerySet["Shard"]):
    def for_user(self, user: User) -> ShardQuerySet:
        return self.filter(user=user)


class Shard(models.Model):
    """A part of a counter, whose value is the sum of its shards: so those who add at once wait for each other rarely.

    A counter exists while it has shards. See `counting`.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="counter_shards", db_index=False
    )
    name = models.CharField(max_length=100)
    number = models.PositiveSmallIntegerField()
    value = models.BigIntegerField()

    objects: ClassVar[models.Manager[Shard]] = ShardQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "name", "number"], name="shard_once")]

    def __str__(self) -> str:
        return f"{self.name} {self.number}: {self.value}"
