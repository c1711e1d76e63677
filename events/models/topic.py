"""Topics that people subscribe to, and who did."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.database.triggers import refuse_unreadable
from common.models import DatedRow, Row
from people.models import User
from people.models.owned import OwnedQuerySet


class TopicQuerySet(OwnedQuerySet["Topic"]):
    def to_join(self, user: User) -> TopicQuerySet:
        """Those that `user` may subscribe to: open ones, their own, and those whose owner has added them."""
        added = Subscription.objects.exclude(address="").filter(Q(user=user) | Q(address=user.email)).values("topic")
        return self.filter(Q(is_open=True, user__is_active=True) | Q(user=user) | Q(id__in=added))


class Topic(DatedRow):
    """A topic: its owner publishes, many subscribe. `slug` is its name in addresses, unique for its owner.

    `title` and `body` are what subscribers are told of an event, with `{data.x}` as in a rule. Whoever is signed in may
    subscribe to an `is_open` one; to others, only whom the owner adds. `version` grows with every edit.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="topics", db_index=False)
    slug = models.SlugField(_("slug"), max_length=50, db_index=False)
    name = models.CharField(_("name"), max_length=80)
    description = models.CharField(_("description"), max_length=500, blank=True)
    title = models.CharField(_("title"), max_length=200, default="{data.title}")
    body = models.TextField(_("body"), blank=True, default="{data.body}")
    is_open = models.BooleanField(default=False)
    version = models.PositiveIntegerField(_("version"), default=1)

    objects: ClassVar[models.Manager[Topic]] = TopicQuerySet.as_manager()

    class Meta:
        verbose_name = _("topic")
        verbose_name_plural = _("topics")
        ordering = ["name", "id"]
        indexes = [models.Index(fields=["-id"], condition=Q(is_open=True), name="topic_open")]
        constraints = [
            models.UniqueConstraint(fields=["user", "slug"], name="topic_once"),
            checks.readable("topic_readable_instant", "created_at"),
        ]

    def __str__(self) -> str:
        return self.name


class SubscriptionQuerySet(OwnedQuerySet["Subscription"]):
    def current(self) -> SubscriptionQuerySet:
        return self.filter(left_at=None)


class Subscription(Row):
    """A subscriber of a topic's events: on `channel_ids`, or, where that is empty, on all of their usable channels.

    An event's audience are those who joined before it was recorded and have not left. Who leaves keeps the row, so that
    nobody adds them again. `address` is what the topic's owner typed to add somebody; empty for those who joined by
    themselves, whom the owner does not see. `user` is empty while the address has no account: the owner is not told so,
    and it counts as a subscriber.
    """

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="subscriptions", db_index=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="subscriptions", db_index=False
    )
    address = models.EmailField(blank=True)
    channel_ids = ArrayField(models.UUIDField(), default=list, db_default=[], blank=True)
    # When its owner has added it, until a worker has looked for the address' account.
    asked_at = models.DateTimeField(null=True, editable=False)
    joined_at = models.DateTimeField(db_default=Now(), editable=False)
    left_at = models.DateTimeField(null=True, editable=False)

    objects: ClassVar[models.Manager[Subscription]] = SubscriptionQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["user", "-id"], name="subscription_of_person"),
            # rescue: whose account is to be looked for
            models.Index(fields=["asked_at"], condition=Q(asked_at__isnull=False), name="subscription_to_look_up"),
            # the owner's list of whom they have added
            models.Index(fields=["topic", "-id"], condition=~Q(address=""), name="subscription_added"),
        ]
        constraints = [
            # also fan-out, and the number of subscribers
            models.UniqueConstraint(fields=["topic", "user"], name="subscription_once"),
            # also which topics a person was added to
            models.UniqueConstraint(fields=["address", "topic"], condition=~Q(address=""), name="subscription_address"),
            models.CheckConstraint(condition=Q(user__isnull=False) | ~Q(address=""), name="subscription_of_somebody"),
            models.CheckConstraint(
                condition=checks.instants("joined_at") & checks.instants(nullable=("left_at",)),
                name="subscription_readable_instants",
            ),
        ]
        triggers = [refuse_unreadable("asked_at")]

    def __str__(self) -> str:
        return self.address or str(self.user)
