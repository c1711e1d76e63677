"""Secret words in addresses: of badges, which anybody may embed, and the ping key of a person."""

from __future__ import annotations

import secrets
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.models import Row
from people.models import User
from people.models.owned import OwnedQuerySet
from watches.models.watch import Watch


def new_token() -> str:
    return secrets.token_hex(16)


class BadgeQuerySet(OwnedQuerySet["Badge"]):
    def for_user(self, user: User) -> BadgeQuerySet:
        """Their badges, less those of deleted watches."""
        return self.filter(Q(watch=None) | Q(watch__deleted_at=None), user=user)


class Badge(Row):
    """The state of a watch, or of all watches with a tag, at a secret address. A new `token` is a new address."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    watch = models.ForeignKey(Watch, on_delete=models.CASCADE, related_name="+", null=True, db_index=False)
    tag = models.CharField(max_length=30, blank=True)
    token = models.CharField(max_length=32, unique=True, default=new_token, editable=False)

    objects: ClassVar[models.Manager[Badge]] = BadgeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "tag"], condition=Q(watch=None), name="badge_of_tag"),
            models.UniqueConstraint(fields=["watch"], name="badge_of_watch"),
            models.CheckConstraint(condition=Q(watch=None) ^ Q(tag=""), name="badge_of_one_thing"),
        ]

    def __str__(self) -> str:
        return self.tag if self.watch is None else self.watch.name

    @property
    def url(self) -> str:
        """Without the ending, which says the format."""
        return f"{settings.BASE_URL}/badge/{self.token}"

    def watches(self) -> models.QuerySet[Watch]:
        mine = Watch.objects.for_user(self.user)
        return mine.filter(id=self.watch_id) if self.watch_id else mine.filter(tags__contains=[self.tag])


class PingKey(models.Model):
    """With a watch's slug, an address that can be written before the watch's id is known.

    One a person, made with the first slug. A new `key` ends all addresses by the old one.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="ping_key"
    )
    key = models.CharField(max_length=32, unique=True, default=new_token, editable=False)
