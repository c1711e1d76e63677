"""The model of a notification."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, partialmethod
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.html import urlize
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _, pgettext_lazy

from common.database.storage import BUSY
from common.database.triggers import refuse_unreadable
from common.models import DatedRow
from common.uuid7 import uuid7
from notifications.messages import markup
from notifications.messages.change_types import STATUS
from notifications.messages.text import as_html
from notifications.models.channel import Channel, sort_channels
from people.models.owned import OwnedQuerySet
from work.models import Chained
from work.reasons import sentence

if TYPE_CHECKING:
    from notifications.models.delivery import Delivery


class Notification(Chained, DatedRow):
    """A message to one person: subject and body as sent.

    `batch_id` is the id of its cause (an occurrence, an event), the same for all that it caused; unique with the
    person, so that one cause never sends twice to one person. `origin_id` is the id of its schedule, of its rule, of
    the person's subscription to its topic, of the team's notification that a member gets too, of the channel whose
    failure is its news, or of the queue to which a program has sent it.
    `channel_order`, where it is not empty, has the ids of the channels that are tried one after the other, and
    `escalate_after` the minutes after which the next is; see `fallback`. `acknowledged_at` ends that.
    Until then it is repeated every `nag_every` minutes, at most `nag_times`, on `nag_channel_ids` (none: on those that
    it went to); see `nag`. `nag_at` is the time of the next repeat, and `nagged` their number so far. Each is a
    notification with the number `nagged`, whose `nag_of` is the id of the first one. So is what the undo of an answer
    sends again, with the number 0.

    `outcome` follows from the deliveries, and a trigger writes it whenever one of them ends or is sent again:

    - open: one is pending or is being sent
    - full: none is open, one arrived, and none failed or expired; with channels in order, one arrived
    - partial: none is open, one arrived, and another one failed or expired (only where all channels get it at once)
    - failed: none is open, none arrived, and one failed; with channels in order, until the next one is tried
    - dropped: none is open, none arrived and none failed: all were cancelled or expired

    Dead and unknown deliveries failed. Cancelled ones are not wanted any more (stopped, acknowledged or discarded) and
    count neither for nor against.
    """

    class Origin(models.TextChoices):
        SCHEDULE = "schedule", _("reminder")
        TEST = "test", _("test")
        CODE = "code", _("code")
        NOTICE = "notice", _("notice from Carillon")
        API = "api", _("message")
        EVENT = "event", _("event")
        TOPIC = "topic", _("topic")
        ANNOUNCEMENT = "announcement", _("announcement")
        TEAM = "team", _("team")
        STATUS = STATUS, _("status webhook")

    # Sent to try a channel or to verify it.
    OF_CHANNELS = (Origin.TEST, Origin.CODE)

    # Their body is a person's own, in which marks are read; values of others are made literal as they are filled in.
    MARKED = (Origin.SCHEDULE, Origin.EVENT, Origin.TOPIC, Origin.ANNOUNCEMENT, Origin.TEAM)

    # What its person can be done with, or have again later.
    ANSWERABLE = (Origin.SCHEDULE, Origin.EVENT, Origin.TEAM)

    class AnsweredFrom(models.TextChoices):
        PAGE = "page", _("on a page")
        LINK = "link", _("by the link in a message")
        PUSH = "push", _("in a browser’s notification")
        API = "api", _("by a program")

    class Outcome(models.TextChoices):
        OPEN = "open", pgettext_lazy("outcome", "open")
        FULL = "full", pgettext_lazy("outcome", "full")
        PARTIAL = "partial", pgettext_lazy("outcome", "partial")
        FAILED = "failed", pgettext_lazy("outcome", "failed")
        DROPPED = "dropped", pgettext_lazy("outcome", "dropped")

    batch_id = models.UUIDField(_("batch id"), default=uuid7, editable=False)
    # Empty: its batch's id.
    correlation_id = models.UUIDField(null=True, editable=False)
    # The steps since the first cause of its chain: an event that follows from it has as many.
    hops = models.PositiveSmallIntegerField(db_default=0, editable=False)
    # The index of the history begins with it.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications", db_index=False
    )
    origin = models.CharField(_("origin"), max_length=12, choices=Origin.choices)
    origin_id = models.UUIDField(null=True, blank=True, editable=False)
    slot = models.DateTimeField(null=True, blank=True)
    # Minutes before its slot, of one that only says what comes.
    early = models.IntegerField(null=True, editable=False)
    urgent = models.BooleanField(
        _("urgent"), db_default=False, help_text=_("Does not wait for the end of its person's quiet hours.")
    )
    subject = models.CharField(_("subject"), max_length=200)
    body = models.TextField(_("body"), blank=True)
    # As its schedule had them, so that every try of a webhook says the same.
    category = models.CharField(max_length=50, blank=True, db_default="")
    data = models.JSONField(null=True, blank=True)
    channel_order = ArrayField(models.UUIDField(), default=list, db_default=[], editable=False)
    escalate_after = models.PositiveIntegerField(null=True, editable=False)
    # When `fallback` decides whether to try the next channel in order; a trigger sets it when a delivery fails.
    advance_at = models.DateTimeField(null=True, editable=False)
    nag_every = models.SmallIntegerField(null=True, editable=False)
    nag_times = models.SmallIntegerField(null=True, editable=False)
    nag_channel_ids = ArrayField(models.UUIDField(), default=list, db_default=[], editable=False)
    nag_at = models.DateTimeField(null=True, editable=False)
    nagged = models.SmallIntegerField(db_default=0, editable=False)
    nag_of = models.UUIDField(null=True, editable=False)
    acknowledged_at = models.DateTimeField(null=True, editable=False)
    snoozed_until = models.DateTimeField(null=True, editable=False)
    answered_from = models.CharField(
        max_length=4, choices=AnsweredFrom.choices, blank=True, db_default="", editable=False
    )
    # Of a team's, and of those to its members: the name of the one who answered.
    acknowledged_by = models.CharField(max_length=150, blank=True, db_default="", default="", editable=False)
    # The code of why what is still being sent of it is not tried again: its reminder was paused or deleted meanwhile.
    withdrawn = models.CharField(max_length=32, db_default="", editable=False)
    outcome = models.CharField(max_length=7, choices=Outcome.choices, db_default=Outcome.OPEN, editable=False)

    team: str = ""
    """Of what a member of a team got, the team's name; see `members.name_teams`."""

    storage: ClassVar[Mapping[str, int]] = BUSY
    objects: ClassVar[models.Manager[Notification]] = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["user", "-id"], name="notification_history"),
            # the history's codes and tests
            models.Index(fields=["user", "-id"], condition=Q(origin__in=["test", "code"]), name="notification_tests"),
            models.Index(
                fields=["origin_id", "-id"], condition=Q(origin_id__isnull=False), name="notification_of_origin"
            ),
            # the trace of its chain
            models.Index(
                fields=["correlation_id"], condition=Q(correlation_id__isnull=False), name="notification_of_chain"
            ),
            # fallback: whose next channel is to be tried
            models.Index(fields=["advance_at"], condition=Q(advance_at__isnull=False), name="notification_to_advance"),
            # nag: what is to be repeated, and the repeats of one
            models.Index(fields=["nag_at"], condition=Q(nag_at__isnull=False), name="notification_to_nag"),
            models.Index(fields=["nag_of", "nagged"], condition=Q(nag_of__isnull=False), name="notification_repeats"),
            # the notices that are not sent yet, every 5 minutes
            models.Index(
                fields=["origin_id"], condition=Q(origin="notice", outcome="open"), name="notification_notice_open"
            ),
            # the page of what its person has done
            models.Index(
                fields=["user", "-acknowledged_at", "-id"],
                condition=Q(acknowledged_at__isnull=False, snoozed_until=None),
                name="notification_done",
            ),
            # the admin's list of what did not arrive everywhere, newest first
            models.Index(
                fields=["outcome", "-id"], condition=Q(outcome__in=["partial", "failed"]), name="notification_outcome"
            ),
        ]
        constraints = [models.UniqueConstraint(fields=["batch_id", "user"], name="notification_once_per_person")]
        triggers = [
            refuse_unreadable(
                "slot", "advance_at", "nag_at", "acknowledged_at", "snoozed_until", "created_at", json=["data"]
            )
        ]

    def __str__(self) -> str:
        return self.subject

    @property
    def is_answerable(self) -> bool:
        return self.origin in self.ANSWERABLE

    @property
    def chain(self) -> str:
        """Its correlation id."""
        return super().chain or str(self.batch_id)

    @property
    def nag_end(self) -> str:
        """Why it is not repeated any more; "" while it is, and where that happened as often as it was to."""
        if self.acknowledged_at is not None:
            return str(_("Done.")) if self.snoozed_until is None else str(sentence("snoozed", {}))
        return str(sentence(self.withdrawn, {})) if self.withdrawn and self.nag_at is None else ""

    def plain_body(self) -> str:
        """Its text without marks, for one line of a list."""
        return markup.write(self.body) if self.origin in self.MARKED else self.body

    def linked_body(self) -> SafeString:
        """Its text for a page, with its web addresses as links, also those without a scheme, and those of mail."""
        escape = partial(as_html, escape=partial(urlize, autoescape=True))
        return markup.as_page(self.body, escape) if self.origin in self.MARKED else escape(self.body)

    def ordered_deliveries(self) -> list[Delivery]:
        """Its deliveries, in the order of their channels if there is one."""
        return sort_channels(self.channel_order, self.deliveries.all(), attrgetter("channel_id"))

    def _labels(self, *states: str) -> list[str]:
        """The labels of the channels whose deliveries are shown in one of these states."""
        return [delivery.channel.label for delivery in self.ordered_deliveries() if delivery.shown_state in states]

    arrived = partialmethod(_labels, "delivered")
    saved = partialmethod(_labels, "saved")  # only to a folder
    failed = partialmethod(_labels, "dead", "unknown")
    expired = partialmethod(_labels, "expired")

    def wanted(self) -> int:
        """The number of its deliveries that nobody cancelled."""
        return sum(delivery.state != "cancelled" for delivery in self.deliveries.all())


class BoardMessage(models.Model):
    """Ids of a board grow in the order of their commits, because `boards.post` holds the board's lock.

    `author` is the name of the person or program that wrote it. What a delivery brought has none, but the delivery and
    its notification, which people answer and retention deletes: the text is here, too.
    """

    id: int
    board = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="board_messages", db_index=False)
    delivery_id = models.UUIDField(null=True, editable=False)
    notification = models.ForeignKey(
        Notification, models.DO_NOTHING, null=True, related_name="+", db_index=False, db_constraint=False
    )
    author = models.CharField(_("author"), max_length=150, blank=True)
    text = models.TextField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("message on a board")
        verbose_name_plural = _("messages on boards")
        ordering = ["-id"]
        indexes = [models.Index(fields=["board", "id"], name="boardmessage_of_board")]
        constraints = [
            models.UniqueConstraint(
                fields=["delivery_id"], condition=Q(delivery_id__isnull=False), name="boardmessage_once"
            )
        ]
        triggers = [refuse_unreadable("created_at")]

    def __str__(self) -> str:
        return f"{self.id} of {self.board_id}"
