"""One notification to one channel, the outbox and the idempotency key; its attempts; and totals of those deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _, gettext_lazy

from common.database.triggers import update_of
from notifications import providers
from notifications.messages.change_types import STATUS
from notifications.models import change
from notifications.models.channel import Channel
from notifications.models.notification import Notification
from notifications.reasons import DeliveryCode
from people.models import User
from people.models.owned import OwnedQuerySet
from work import models as work
from work.reasons import sentence

WORDS = work.Words(working="sending", done="delivered", key="delivery")


class DeliveryQuerySet(OwnedQuerySet["Delivery"]):
    owner = "notification__user"

    def arrived(self) -> DeliveryQuerySet:
        """The messages of inboxes: a delivered delivery on an inbox channel *is* the message. Archived ones too."""
        return self.filter(provider="inbox", state=Delivery.State.DELIVERED)

    def inbox(self, user: User) -> DeliveryQuerySet:
        return self.arrived().filter(channel__user=user)

    def listed(self, user: User, *, archived: bool = False, unread: bool | None = None) -> DeliveryQuerySet:
        """The list of a person's inbox, or its archive; by the id of its channel, whose index has the order of
        arrival."""
        inboxes = list(Channel.objects.filter(user=user, provider="inbox").values_list("id", flat=True))
        chosen: dict[str, Any] = {"channel": inboxes[0]} if len(inboxes) == 1 else {"channel__in": inboxes}
        rows = self.inbox(user).filter(**chosen, archived_at__isnull=not archived).select_related("notification")
        return rows if unread is None else rows.filter(read_at__isnull=unread)

    def mark_read(self, at: datetime) -> int:
        """The person has seen these inbox messages; a mark, not a change of state."""
        return self.filter(read_at=None).update(read_at=at)

    def archive(self, at: datetime) -> int:
        """Take these inbox messages out of the list, as read."""
        return self.filter(archived_at=None).update(archived_at=at, read_at=Coalesce("read_at", at))

    def put_back(self) -> int:
        """Undo `archive`; they stay read."""
        return self.exclude(archived_at=None).update(archived_at=None)


class Delivery(work.Work):
    """One notification to one channel. This row is the outbox, and its id the idempotency key. `read_at` and
    `archived_at` are for the inbox."""

    words = WORDS
    locks = ("notification",)

    class State(models.TextChoices):
        PENDING = "pending", gettext_lazy("pending")
        SENDING = "sending", gettext_lazy("sending")
        DELIVERED = "delivered", gettext_lazy("delivered")
        DEAD = "dead", gettext_lazy("dead")
        UNKNOWN = "unknown", gettext_lazy("unknown")
        CANCELLED = "cancelled", gettext_lazy("cancelled")
        EXPIRED = "expired", gettext_lazy("expired")

    OPEN = (State.PENDING, State.SENDING)

    # The index of `delivery_once_per_channel` begins with it.
    notification = models.ForeignKey(Notification, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    # The index `delivery_of_channel` begins with it.
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    provider = models.CharField(gettext_lazy("provider"), max_length=32)
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    # why its channel was tried after another one
    because_code = models.CharField(max_length=32, db_default="", blank=True, editable=False)
    because_params = models.JSONField(default=dict, db_default={}, blank=True, editable=False)
    read_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Delivery]] = DeliveryQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        verbose_name = gettext_lazy("delivery")
        verbose_name_plural = gettext_lazy("deliveries")
        indexes = [
            *WORDS.indexes(),
            # the newest of a channel: its last one in the list, and its statistics
            models.Index(fields=["channel", "-id"], name="delivery_of_channel"),
            # the history by channel and state, in the order of its pages, and the counts of its chart; in two, of which
            # a claim by id implies neither
            models.Index(
                fields=["channel", "state", "-notification"],
                condition=Q(settled_at__isnull=False),
                name="delivery_history",
            ),
            models.Index(
                fields=["channel", "state", "-notification"], condition=Q(settled_at__isnull=True), name="delivery_open"
            ),
            # a person's dead letters, and those of one channel
            models.Index(
                fields=["channel", "-id"], condition=Q(state__in=["dead", "unknown"]), name="delivery_dead_of_channel"
            ),
            # the inbox page and its unread count
            models.Index(
                fields=["channel", "-settled_at", "-id"],
                condition=Q(provider="inbox", state="delivered", archived_at=None),
                name="delivery_inbox_listed",
            ),
            models.Index(
                fields=["channel", "-settled_at", "-id"],
                condition=Q(provider="inbox", state="delivered", archived_at__isnull=False),
                name="delivery_inbox_archived",
            ),
            models.Index(
                fields=["channel", "-settled_at", "-id"],
                condition=Q(provider="inbox", state="delivered", read_at=None),
                name="delivery_inbox_unread",
            ),
            # a queue: what waits to be pulled, oldest first
            models.Index(
                fields=["channel", "available_at", "id"],
                condition=Q(provider="queue", state="pending"),
                name="delivery_to_pull",
            ),
            # a queue: what programs hold, and what comes again
            models.Index(
                fields=["channel", "state", "lease_until"],
                condition=Q(provider="queue", state__in=["pending", "sending"], tries__gt=0),
                name="delivery_pulled",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["notification", "channel"], name="delivery_once_per_channel"),
            *WORDS.constraints(),
        ]
        triggers = [
            *WORDS.triggers("read_at", "archived_at", json=["because_params"]),
            # Marks a notification whose newest delivery has failed, in the statement that ends it. Where it names no
            # order of channels, this is one look at a primary key. See `deliveries.fallback`.
            pgtrigger.Trigger(
                name="delivery_marks_fallback",
                when=pgtrigger.After,
                operation=update_of("state"),
                condition=pgtrigger.Condition("OLD.state = 'sending' AND NEW.state IN ('dead', 'unknown')"),
                func="""
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
            # settle two of them at once, the second waits, and then counts what the first has committed. For those
            # whom a program follows, it records both changes.
            pgtrigger.Trigger(
                name="delivery_writes_outcome",
                when=pgtrigger.After,
                operation=update_of("state"),
                condition=pgtrigger.Condition(
                    "OLD.state <> NEW.state AND coalesce(OLD.settled_at, NEW.settled_at) IS NOT NULL"
                ),
                declare=[("in_order", "boolean"), ("followed", "boolean"), ("ended", "boolean")],
                func=f"""
                SELECT channel_order <> '{{}}', {change.followed("n.user_id")} INTO in_order, followed
                  FROM notifications_notification n WHERE n.id = NEW.notification_id FOR NO KEY UPDATE;
                UPDATE notifications_notification n SET outcome = told.outcome
                  FROM (SELECT CASE WHEN bool_or(d.state IN ('pending', 'sending')) THEN 'open'
                                    WHEN bool_or(d.state = 'delivered') THEN
                                         CASE WHEN in_order OR NOT bool_or(d.state IN ('dead', 'unknown', 'expired'))
                                              THEN 'full' ELSE 'partial' END
                                    WHEN bool_or(d.state IN ('dead', 'unknown')) THEN 'failed'
                                    ELSE 'dropped' END AS outcome
                          FROM notifications_delivery d WHERE d.notification_id = NEW.notification_id) told
                 WHERE n.id = NEW.notification_id AND n.outcome <> told.outcome;
                ended := FOUND;
                IF followed AND NEW.provider <> '{STATUS}' THEN {change.OF_DELIVERY} END IF;
                RETURN NULL;
                """,  # noqa: S608 - constants only
            ),
        ]

    @property
    def reason(self) -> str:
        text = super().reason
        return (
            _("%(said)s It may have arrived; send it again?") % {"said": text}
            if self.state == self.State.UNKNOWN
            else text
        )

    @property
    def shown_state(self) -> str:
        """Its state for people: an email that was only written to a folder is “saved”, not delivered."""
        is_saved = self.state == self.State.DELIVERED and self.reason_code == DeliveryCode.SAVED
        return "saved" if is_saved else self.state

    @property
    def is_pulled(self) -> bool:
        return self.provider in providers.pulled()

    @property
    def because(self) -> str:
        return sentence(self.because_code, self.because_params)


class Attempt(work.Attempt):
    # No index of its own: `attempt_number_once` begins with it.
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="history", db_index=False)
    outcome = models.CharField(max_length=10, choices=WORDS.outcomes, blank=True)

    class Meta(work.Attempt.Meta):
        constraints = WORDS.attempt_constraints()
        triggers = WORDS.attempt_triggers()


class DailyTotal(models.Model):
    """How many deliveries of a person ended on a day, of those that are not kept any more.

    `day` is that of the settlement, in UTC. Retention adds to it in the statement that deletes the deliveries.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    provider = models.CharField(max_length=32)
    state = models.CharField(max_length=9)
    count = models.PositiveBigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "day", "provider", "state"], name="dailytotal_once")]
