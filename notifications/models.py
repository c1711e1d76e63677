"""Rows: channels, notifications, deliveries and attempts, with the constraints that hold them.

Every change of a delivery's state is a verb in `deliveries.py`; nothing else writes `state`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from notifications import providers, secrets
from notifications.ids import uuid7
from notifications.intervention import Intervention as Intervention
from notifications.message import Destination

if TYPE_CHECKING:
    from people.models import User


EARTHLY = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC))


class ChannelQuerySet(models.QuerySet["Channel"]):
    def for_user(self, user: User) -> ChannelQuerySet:
        """The channels that `user` sees: their own, less those removed."""
        return self.filter(user=user, removed_at=None)


class Channel(models.Model):
    """A person's own address on a provider.

    `address` is public to its owner; `sealed_secrets` is ciphertext, written by `hold()` only.
    A removed channel keeps its row, because the history of what went out refers to it.
    """

    class OnUnknown(models.TextChoices):
        RETRY = "retry", "send again (it may arrive twice)"
        HOLD = "hold", "hold for a person (it may not have arrived)"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="channels")
    provider = models.CharField(max_length=32)
    label = models.CharField(max_length=80)
    address = models.JSONField(default=dict, blank=True)
    sealed_secrets = models.TextField(blank=True, editable=False)
    on_unknown = models.CharField(
        max_length=8,
        choices=OnUnknown.choices,
        blank=True,
        help_text="What to do when the outcome of a send is unknown; empty means the provider's own rule.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    verified_at = models.DateTimeField(null=True, blank=True)
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_reason = models.CharField(max_length=300, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)  # when the first try failed since one succeeded
    removed_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Channel]] = ChannelQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["user", "id"], condition=Q(removed_at=None), name="channel_of_person"),
            models.Index(fields=["disabled_at"], condition=Q(disabled_at__isnull=False), name="channel_disabled"),
        ]
        constraints = [
            # A person has one inbox: two would show the same message twice.
            models.UniqueConstraint(
                fields=["user"], condition=Q(provider="inbox", removed_at=None), name="channel_one_inbox"
            ),
        ]

    def __str__(self) -> str:
        return self.label

    def hold(self, destination: Destination) -> None:
        """Take over the address and the secrets of `destination`; the caller saves."""
        self.address = dict(destination.address)
        self.sealed_secrets = secrets.seal(destination.secrets, self.id)

    def destination(self) -> Destination:
        """What the provider needs. Raises `secrets.Unreadable` when the key is not there."""
        return Destination(self.address, secrets.unseal(self.sealed_secrets, self.id))

    @property
    def unreadable(self) -> str:
        """Why the secrets cannot be read, fit for the channel's owner; empty when they can."""
        try:
            self.destination()
        except secrets.Unreadable as error:
            return str(error)
        return ""

    @property
    def summary(self) -> str:
        """The address in one line, fit for a list: never a secret."""
        return providers.get(self.provider).summary(Destination(self.address))


class NotificationQuerySet(models.QuerySet["Notification"]):
    def for_user(self, user: User) -> NotificationQuerySet:
        return self.filter(user=user)


class Notification(models.Model):
    """What is said once to one person: subject and body as sent.

    `batch_id` is the id of what caused it (an occurrence, an event), the same for all that it caused; unique with the
    person, so that one cause never speaks twice to one person. `origin_id` is the schedule's id where a schedule spoke.
    `channel_order`, where it is not empty, has the ids of the channels that are tried one after the other, and
    `escalate_after` the minutes after which the next is; see `fallback`. `acknowledged_at` ends that.
    """

    class Origin(models.TextChoices):
        SCHEDULE = "schedule", "reminder"
        TEST = "test", "test"
        NOTICE = "notice", "notice from Carillon"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    batch_id = models.UUIDField(default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications")
    origin = models.CharField(max_length=12, choices=Origin.choices)
    origin_id = models.UUIDField(null=True, blank=True, editable=False)
    slot = models.DateTimeField(null=True, blank=True)
    urgent = models.BooleanField(db_default=False, help_text="Does not wait for the end of its person's quiet hours.")
    subject = models.CharField(max_length=200)
    body = models.TextField(blank=True)
    channel_order = ArrayField(models.UUIDField(), default=list, db_default=[], editable=False)
    escalate_after = models.PositiveIntegerField(null=True, editable=False)
    # When the next channel in order is to be tried, or judged whether it is; set by a trigger when a delivery fails.
    advance_at = models.DateTimeField(null=True, editable=False)
    acknowledged_at = models.DateTimeField(null=True, editable=False)
    snoozed_until = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager[Notification]] = NotificationQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["user", "-id"], name="notification_history"),
            models.Index(
                fields=["origin_id", "-id"],
                condition=Q(origin_id__isnull=False),
                name="notification_of_origin",
            ),
            # fallback: whose next channel is to be tried
            models.Index(fields=["advance_at"], condition=Q(advance_at__isnull=False), name="notification_to_advance"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["batch_id", "user"], name="notification_once_per_person"),
        ]

    def __str__(self) -> str:
        return self.subject


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
    notification = models.ForeignKey(Notification, on_delete=models.CASCADE, related_name="deliveries")
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
            models.Index(fields=["channel", "-id"], condition=Q(provider="inbox"), name="delivery_inbox"),
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


class Attempt(models.Model):
    """One try at a delivery: opened when claimed, closed once, then immutable.

    `token` is the lease's; `worker` the process that claimed it (host and pid).
    """

    class Outcome(models.TextChoices):
        OPEN = "", "under way"
        DELIVERED = "delivered", "delivered"
        RETRYABLE = "retryable", "failed, to be tried again"
        REJECTED = "rejected", "rejected"
        AMBIGUOUS = "ambiguous", "outcome unknown"
        LOST = "lost", "worker lost"
        RELEASED = "released", "given back before anything was sent"

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="history")
    replay = models.PositiveSmallIntegerField()
    number = models.PositiveSmallIntegerField()
    token = models.UUIDField(editable=False)
    worker = models.CharField(max_length=120, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["delivery", "replay", "number"], name="attempt_number_once"),
            models.CheckConstraint(
                condition=Q(finished_at=None, outcome="") | (Q(finished_at__isnull=False) & ~Q(outcome="")),
                name="attempt_closed_with_outcome",
            ),
            models.CheckConstraint(
                condition=Q(finished_at=None) | Q(finished_at__gte=F("started_at")),
                name="attempt_ends_after_start",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.delivery_id} try {self.number}"
