"""One notification to one channel: the outbox, and the idempotency key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from common.uuid7 import uuid7
from notifications.models.channel import Channel
from notifications.models.notification import Notification

if TYPE_CHECKING:
    from people.models import User


EARTHLY = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC))


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def for_user(self, user: User) -> DeliveryQuerySet:
        return self.filter(notification__user=user)

    def dead_letters(self) -> DeliveryQuerySet:
        """What ended without success and waits for a person."""
        return self.filter(state__in=[Delivery.State.DEAD, Delivery.State.UNKNOWN])

    def inbox(self, user: User) -> DeliveryQuerySet:
        """The messages of a person's inbox: a delivered delivery on the inbox channel *is* the message."""
        return self.filter(channel__user=user, provider="inbox", state=Delivery.State.DELIVERED)


class Delivery(models.Model):
    """One notification to one channel. This row is the outbox, and its id the idempotency key.

    `available_at`: not claimed before. `ring_at`: when the doorbell is rung if nobody has claimed it by then.
    `tries` counts since the last replay, `released` what was given back before anything was sent and does not count;
    all attempts stay in `Attempt`. `read_at` is the inbox's mark.
    """

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        SENDING = "sending", "sending"
        DELIVERED = "delivered", "delivered"
        DEAD = "dead", "dead"
        UNKNOWN = "unknown", "unknown"
        CANCELLED = "cancelled", "cancelled"
        EXPIRED = "expired", "expired"

    OPEN = (State.PENDING, State.SENDING)

    id = models.UUIDField("idempotency key", primary_key=True, default=uuid7, editable=False)
    # That it is unique with its channel is an index which begins with it.
    notification = models.ForeignKey(Notification, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    provider = models.CharField(max_length=32)
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    available_at = models.DateTimeField(db_default=Now())
    ring_at = models.DateTimeField(db_default=Now())
    rings = models.PositiveSmallIntegerField(default=0)
    expires_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    released = models.PositiveSmallIntegerField(db_default=0, editable=False)
    replays = models.PositiveSmallIntegerField(default=0)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    reason = models.CharField(max_length=500, blank=True)
    because = models.CharField(max_length=500, db_default="", blank=True, editable=False)  # why it came after another
    cause = models.CharField(max_length=12, db_default="", blank=True, editable=False)  # of its death; by a trigger
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    settled_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Delivery]] = DeliveryQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "deliveries"
        indexes = [
            # rescue: what is due and nobody rang for
            models.Index(fields=["ring_at"], condition=Q(state="pending"), name="delivery_to_ring"),
            # rescue: what a dead worker left behind
            models.Index(fields=["lease_until"], condition=Q(state="sending"), name="delivery_leased"),
            # rescue: what has become stale
            models.Index(
                fields=["expires_at"],
                condition=Q(state="pending", expires_at__isnull=False),
                name="delivery_to_expire",
            ),
            # the dead letters' own list, newest first
            models.Index(
                fields=["-settled_at"],
                condition=Q(state__in=["dead", "unknown"]),
                name="delivery_dead_letters",
            ),
            # the dead letters' causes: how many died of each, the first and the last
            models.Index(
                fields=["cause", "settled_at"], condition=Q(state__in=["dead", "unknown"]), name="delivery_cause"
            ),
            # the inbox page and its unread count
            models.Index(
                fields=["channel", "-settled_at", "-id"],
                condition=Q(provider="inbox", state="delivered"),
                name="delivery_inbox",
            ),
            models.Index(
                fields=["channel"],
                condition=Q(provider="inbox", state="delivered", read_at=None),
                name="delivery_inbox_unread",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["notification", "channel"], name="delivery_once_per_channel"),
            models.CheckConstraint(
                condition=Q(state__in=["pending", "sending", "delivered", "dead", "unknown", "cancelled", "expired"]),
                name="delivery_known_state",
            ),
            models.CheckConstraint(
                condition=Q(state="sending", lease_token__isnull=False, lease_until__isnull=False)
                | (~Q(state="sending") & Q(lease_token=None, lease_until=None)),
                name="delivery_lease_when_sending",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["pending", "sending"], settled_at=None)
                | (~Q(state__in=["pending", "sending"]) & Q(settled_at__isnull=False)),
                name="delivery_settled_at_the_end",
            ),
            # Python cannot read PostgreSQL's "infinity" or years past 9999: one such row would break whole pages.
            models.CheckConstraint(
                condition=Q(available_at__range=EARTHLY, ring_at__range=EARTHLY)
                & (Q(expires_at=None) | Q(expires_at__range=EARTHLY)),
                name="delivery_earthly_instants",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
