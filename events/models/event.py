"""Events as rows: the ledger, the queue of their handling, what followed from each, and those told together."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.database.triggers import refuse_unreadable
from common.models import Row
from events.models.rule import Rule
from events.models.topic import Topic
from events.pure.envelope import LONGEST_ID, LONGEST_SOURCE
from jobs.models import Batch
from people.models.owned import OwnedQuerySet
from work.models import DEAD_LETTERS, Attempt, Chained, Reasoned, Words, Work

WORDS = Words(working="handling", done="handled", key="event")
DIGESTS = Words(working="sending", done="sent", key="digest")


class EventQuerySet(OwnedQuerySet["Event"]):
    def dead(self) -> EventQuerySet:
        return self.filter(state__in=DEAD_LETTERS)

    def with_effects(self) -> EventQuerySet:
        """With what followed from each, for pages and documents."""
        effects = models.Prefetch("effects", Effect.objects.select_related("rule", "digest"))
        return self.select_related("topic", "batch").prefetch_related(effects)

    def named(self, given: UUID) -> Event | None:
        """The event of this row, or with this key: pages link to both."""
        return self.filter(pk=given).first() or self.filter(key=str(given)).first()


class Event(Chained, Work):
    """Something that happened, as an envelope: the ledger of what was taken, and the queue of its handling.

    `key` is the producer's id: the same key twice is one event of its person. `occurred_at` is when it happened, by the
    producer. `chain` is its correlation id, the same through a whole chain, by default the key of its first event if
    that is a UUID, else its `id`; `hops` counts the steps since that.

    One that names a topic or an audience becomes a batch, which tells its people; see `kinds.event`.
    """

    words = WORDS

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="events", db_index=False)
    # A CloudEvent has its source before its id, with a space between them.
    key = models.CharField(max_length=LONGEST_SOURCE + 1 + LONGEST_ID, editable=False)
    type = models.CharField(_("type"), max_length=100)
    source = models.CharField(_("source"), max_length=LONGEST_SOURCE, blank=True)
    occurred_at = models.DateTimeField()
    correlation_id = models.UUIDField(db_index=True, editable=False)
    hops = models.PositiveSmallIntegerField(default=0)
    data = models.JSONField(default=dict)
    topic = models.ForeignKey(
        Topic, on_delete=models.SET_NULL, null=True, blank=True, related_name="events", db_index=False
    )
    # Of staff: to whom it is announced, see `jobs.batches.audiences`.
    audience = models.CharField(_("audience"), max_length=20, blank=True, db_default="", editable=False)
    audience_key = models.CharField(max_length=64, blank=True, db_default="", editable=False)
    batch = models.ForeignKey(
        Batch, on_delete=models.SET_NULL, null=True, editable=False, related_name="+", db_index=False
    )

    objects: ClassVar[models.Manager[Event]] = EventQuerySet.as_manager()

    class Meta(Work.Meta):
        verbose_name = _("event")
        verbose_name_plural = _("events")
        indexes = [
            *WORDS.indexes(),
            models.Index(fields=["user", "-id"], name="event_of_person"),
            models.Index(fields=["user", "type", "-id"], name="event_of_type"),
            # a person's dead letters, and how many of each type
            models.Index(fields=["user", "type"], condition=Q(state__in=DEAD_LETTERS), name="event_dead_of_person"),
            # the topic's page, newest first
            models.Index(fields=["topic", "-id"], condition=Q(topic__isnull=False), name="event_of_topic"),
            models.Index(fields=["batch"], condition=Q(batch__isnull=False), name="event_of_batch"),
        ]
        constraints = [
            *WORDS.constraints(),
            models.UniqueConstraint(fields=["user", "key"], name="event_once"),
            checks.readable("event_readable_time", "occurred_at"),
        ]
        triggers = WORDS.triggers(json=["data"])

    def __str__(self) -> str:
        return self.type


class DeadLetter(Event):
    """An event that is a dead letter, with its own list and permissions in the admin."""

    class Meta:
        proxy = True
        verbose_name = _("dead letter")


class EventAttempt(Attempt):
    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="history", db_index=False)

    class Meta(Attempt.Meta):
        constraints = WORDS.attempt_constraints()
        triggers = WORDS.attempt_triggers()


class Digest(Work):
    """The events of one rule that are told together, once it is `available_at`; its entries are their effects.

    `type_pattern` is the rule's when it was opened; `key_value` is what they have in the rule's `digest_key`, empty for
    none. Events are added until it has the rule's `digest_count` (`is_full`) or is claimed; the next one opens another
    digest. `gathered` counts them, and `hops` is the highest of theirs.
    """

    words = DIGESTS

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="digests")
    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="+")
    type_pattern = models.CharField(max_length=100)
    key_value = models.CharField(max_length=200, blank=True)
    gathered = models.PositiveIntegerField(default=1)
    is_full = models.BooleanField(default=False)
    hops = models.PositiveSmallIntegerField(default=0)
    # Without a constraint: a notification may be pruned before the digest is.
    notification_id = models.UUIDField(null=True, editable=False)

    class Meta(Work.Meta):
        verbose_name = _("digest")
        verbose_name_plural = _("digests")
        indexes = [
            *DIGESTS.indexes(),
            # the way back from a notification
            models.Index(
                fields=["notification_id"], condition=Q(notification_id__isnull=False), name="digest_of_notification"
            ),
        ]
        constraints = [
            *DIGESTS.constraints(),
            # One that was claimed, even if it was given back or failed, takes no more events, and hinders no next one.
            models.UniqueConstraint(
                fields=["rule", "key_value"],
                condition=Q(state="pending", tries=0, released=0, replays=0, is_full=False),
                name="digest_one_open",
            ),
        ]
        triggers = DIGESTS.triggers()

    def __str__(self) -> str:
        return f"{self.gathered} for {self.rule_id}"


class DeadDigest(Digest):
    """A digest that is a dead letter, with its own list and permissions in the admin."""

    class Meta:
        proxy = True
        verbose_name = _("failed digest")


class DigestAttempt(Attempt):
    digest = models.ForeignKey(Digest, on_delete=models.CASCADE, related_name="history", db_index=False)

    class Meta(Attempt.Meta):
        constraints = DIGESTS.attempt_constraints()
        triggers = DIGESTS.attempt_triggers()


class Effect(Reasoned, Row):
    """The effect of a rule on an event, or why there was none. Written in the transaction that settles the event."""

    class Outcome(models.TextChoices):
        NOTIFIED = "notified"
        DIGESTED = "digested"
        SILENT = "silent"

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="effects", db_index=False)
    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="effects", db_index=False)
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    # Its own, or none: what a digest tells has that one's. Without a constraint: it may be pruned before the event is.
    notification_id = models.UUIDField(null=True, editable=False)
    digest = models.ForeignKey(Digest, on_delete=models.CASCADE, null=True, related_name="entries", db_index=False)
    at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["id"]
        indexes = [
            # the rule's page, newest first
            models.Index(fields=["rule", "-id"], name="effect_of_rule"),
            # throttle: how often a rule has rung lately
            models.Index(fields=["rule", "at"], condition=Q(outcome="notified"), name="effect_rang"),
            # the way back from a notification
            models.Index(
                fields=["notification_id"], condition=Q(notification_id__isnull=False), name="effect_of_notification"
            ),
            # the first entries of a digest
            models.Index(fields=["digest", "id"], condition=Q(digest__isnull=False), name="effect_of_digest"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["event", "rule"], name="effect_once"),
            # With the one above: each event that a rule gathers is in exactly one digest.
            models.CheckConstraint(
                condition=Q(outcome="digested", digest__isnull=False) | (~Q(outcome="digested") & Q(digest=None)),
                name="effect_in_one_digest",
            ),
        ]
        triggers = [refuse_unreadable("at", json=["reason_params"])]

    def __str__(self) -> str:
        return self.outcome

    @property
    def notified_in(self) -> UUID | None:
        """The notification that tells of the event, its own or that of its digest, if it was sent."""
        return self.digest.notification_id if self.digest else self.notification_id


class Usage(models.Model):
    """Counts of a UTC day, and of its newest minute. A person has a few rows, so that no two transactions wait for
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
