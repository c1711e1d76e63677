"""One notification to one channel: the outbox, and the idempotency key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from common.triggers import refuse, update_of
from common.uuid7 import uuid7
from notifications.models.channel import Channel
from notifications.models.notification import Notification
from notifications.reasons import sentence

if TYPE_CHECKING:
    from people.models import User


# The life of a delivery, as in docs/life-of-a-delivery.md.
EDGES = (
    "pending>sending",
    "sending>delivered",
    "sending>pending",
    "sending>dead",
    "sending>unknown",
    "pending>cancelled",
    "pending>expired",
    "dead>pending",
    "unknown>pending",
    "dead>cancelled",
    "unknown>cancelled",
)
EARTHLY = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC))


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def for_user(self, user: User) -> DeliveryQuerySet:
        return self.filter(notification__user=user)

    def dead_letters(self) -> DeliveryQuerySet:
        """Deliveries that ended without success and wait for a person."""
        return self.filter(state__in=[Delivery.State.DEAD, Delivery.State.UNKNOWN])

    def inbox(self, user: User) -> DeliveryQuerySet:
        """The messages of a person's inbox: a delivered delivery on the inbox channel *is* the message."""
        return self.filter(channel__user=user, provider="inbox", state=Delivery.State.DELIVERED)


class Delivery(models.Model):
    """One notification to one channel. This row is the outbox, and its id the idempotency key.

    It is not claimed before `available_at`. If nobody has claimed it by `wake_at`, rescue publishes it again; `wakes`
    counts how often. `tries` counts since the last replay; `released` counts claims given back before anything was
    sent. `cause` groups dead letters, see `reasons.cause_of`. `read_at` is for the inbox.
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
    # The index of `delivery_once_per_channel` begins with it.
    notification = models.ForeignKey(Notification, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    provider = models.CharField(max_length=32)
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    available_at = models.DateTimeField(db_default=Now())
    wake_at = models.DateTimeField(db_default=Now())
    wakes = models.PositiveSmallIntegerField(default=0)
    expires_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    released = models.PositiveSmallIntegerField(db_default=0, editable=False)
    replays = models.PositiveSmallIntegerField(default=0)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    reason_code = models.CharField(max_length=32, db_default="", blank=True)
    reason_params = models.JSONField(default=dict, db_default={}, blank=True)
    # why its channel was tried after another one
    because_code = models.CharField(max_length=32, db_default="", blank=True, editable=False)
    because_params = models.JSONField(default=dict, db_default={}, blank=True, editable=False)
    cause = models.CharField(max_length=64, db_default="", blank=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    settled_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Delivery]] = DeliveryQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "deliveries"
        indexes = [
            # rescue: what is due and has not been claimed
            models.Index(fields=["wake_at"], condition=Q(state="pending"), name="delivery_to_wake"),
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
                condition=Q(available_at__range=EARTHLY, wake_at__range=EARTHLY)
                & (Q(expires_at=None) | Q(expires_at__range=EARTHLY)),
                name="delivery_earthly_instants",
            ),
        ]
        triggers = [
            refuse(
                "delivery_begins_pending",
                pgtrigger.Insert,
                "A delivery begins as pending, not as %.",
                "NEW.state",
                condition="NEW.state <> 'pending'",
            ),
            # One list of texts: PostgreSQL parses a condition for each statement, and eleven pairs of states are a tree
            # of a hundred nodes, which cost each claim and each settlement 0.1 ms.
            refuse(
                "delivery_moves_along_edges",
                update_of("state"),
                "A delivery does not go from % to %.",
                "OLD.state",
                "NEW.state",
                condition="OLD.state <> NEW.state AND OLD.state || '>' || NEW.state NOT IN "
                f"({', '.join(map(repr, EDGES))})",
                hint="See docs/life-of-a-delivery.md.",
            ),
            # An attempt's number is tries + released: if it fell, the next claim would meet an attempt of that number.
            refuse(
                "delivery_counts_grow",
                update_of("tries", "released", "replays"),
                "The tries and replays of a delivery only grow.",
                condition="NEW.replays < OLD.replays OR (NEW.replays = OLD.replays"
                " AND NEW.tries + NEW.released < OLD.tries + OLD.released)",
            ),
            # A dead letter has a cause: here and not in a CHECK, which each claim and each settlement would pay for.
            # Also marks a notification whose newest delivery has failed, in the statement that ends it. Where it names
            # no order of channels, this is one look at a primary key. See `deliveries.fallback`.
            pgtrigger.Trigger(
                name="delivery_ends_as_dead_letter",
                when=pgtrigger.After,
                operation=update_of("state"),
                condition=pgtrigger.Condition("OLD.state = 'sending' AND NEW.state IN ('dead', 'unknown')"),
                func="""
                IF NEW.cause = '' THEN
                    RAISE EXCEPTION 'A dead letter has a cause.' USING ERRCODE = 'check_violation';
                END IF;
                UPDATE notifications_notification n SET advance_at = now()
                 WHERE n.id = NEW.notification_id AND n.channel_order <> '{}' AND n.acknowledged_at IS NULL
                   AND NOT EXISTS (
                       SELECT FROM notifications_delivery d
                        WHERE d.notification_id = n.id AND (d.created_at, d.id) > (NEW.created_at, NEW.id)
                   );
                RETURN NULL;
                """,
            ),
            # The outcome of the notification. It is locked before its deliveries are counted: of two transactions that
            # settle two of them at once, the second waits, and then counts what the first has committed.
            pgtrigger.Trigger(
                name="delivery_writes_outcome",
                when=pgtrigger.After,
                operation=update_of("state"),
                condition=pgtrigger.Condition(
                    "OLD.state <> NEW.state AND coalesce(OLD.settled_at, NEW.settled_at) IS NOT NULL"
                ),
                declare=[("in_order", "boolean")],
                func="""
                SELECT channel_order <> '{}' INTO in_order
                  FROM notifications_notification WHERE id = NEW.notification_id FOR NO KEY UPDATE;
                UPDATE notifications_notification n SET outcome = told.outcome
                  FROM (SELECT CASE WHEN bool_or(d.state IN ('pending', 'sending')) THEN 'open'
                                    WHEN bool_or(d.state = 'delivered') THEN
                                         CASE WHEN in_order OR NOT bool_or(d.state IN ('dead', 'unknown', 'expired'))
                                              THEN 'full' ELSE 'partial' END
                                    WHEN bool_or(d.state IN ('dead', 'unknown')) THEN 'failed'
                                    ELSE 'dropped' END AS outcome
                          FROM notifications_delivery d WHERE d.notification_id = NEW.notification_id) told
                 WHERE n.id = NEW.notification_id AND n.outcome <> told.outcome;
                RETURN NULL;
                """,
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def reason(self) -> str:
        """Why it is in its state; empty where that needs no reason."""
        said = sentence(self.reason_code, self.reason_params)
        return f"{said} It may have arrived; send it again?" if self.state == self.State.UNKNOWN else said

    @property
    def because(self) -> str:
        return sentence(self.because_code, self.because_params)
