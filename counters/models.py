"""Named counters."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import OuterRef, Subquery, Sum
from django.utils.translation import gettext_lazy as _

from people.models.owned import OwnedQuerySet


class ShardQuerySet(OwnedQuerySet["Shard"]):
    def one_of_each(self) -> ShardQuerySet:
        """The first shard of each counter, with the counter's value as `total`."""
        same = Shard.objects.filter(user=OuterRef("user"), name=OuterRef("name"))
        total = same.order_by().values("user", "name").annotate(total=Sum("value")).values("total")
        return self.filter(number=Subquery(same.order_by("number").values("number")[:1])).annotate(
            total=Subquery(total)
        )


class Shard(models.Model):
    """A part of a counter, whose value is the sum of its shards: so those who add at once wait for each other rarely.

    A counter exists while it has shards. See `totals`.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="counter_shards", db_index=False
    )
    name = models.CharField(_("name"), max_length=100)
    number = models.PositiveSmallIntegerField()
    value = models.BigIntegerField()

    objects: ClassVar[models.Manager[Shard]] = ShardQuerySet.as_manager()

    class Meta:
        verbose_name = _("counter")
        verbose_name_plural = _("counters")
        constraints = [models.UniqueConstraint(fields=["user", "name", "number"], name="shard_once")]

    def __str__(self) -> str:
        return self.name


class Rollup(models.Model):
    """The sum of a counter's additions in a minute or day (UTC) from `start` on, of `span` seconds: for its chart."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=100)
    span = models.PositiveIntegerField()
    start = models.DateTimeField()
    value = models.BigIntegerField()

    class Meta:
        # those that are too old
        indexes = [models.Index(fields=["span", "start"], name="counter_rollup_age")]
        constraints = [models.UniqueConstraint(fields=["user", "name", "span", "start"], name="counter_rollup_once")]
