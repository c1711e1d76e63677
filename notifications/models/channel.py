"""A person's own address on a provider, with its secrets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self, TypeVar
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_lazy as _

from common.database import checks, encryption
from common.database.triggers import refuse_unreadable
from common.models import DatedRow
from notifications import providers
from notifications.messages.change_types import STATUS
from notifications.messages.message import Destination
from notifications.models import change
from people.models.owned import OwnedQuerySet
from work.reasons import sentence

Item = TypeVar("Item")
Sends = TypeVar("Sends", bound=models.Model, covariant=True)


def sort_channels(
    order: Sequence[UUID], items: Iterable[Item], channel_id: Callable[[Any], UUID] = attrgetter("id")
) -> list[Item]:
    """Sort items by the position of their channel in `order`; channels that are not in it come last.

    The SQL of `deliveries.fallback` uses the same order.
    """
    position = {key: number for number, key in enumerate(order)}
    return sorted(items, key=lambda item: position.get(channel_id(item), len(position)))


class SenderQuerySet(OwnedQuerySet[Sends]):
    """Reminders, rules or watches; their owner does not see those that are deleted."""

    visible = {"deleted_at": None}

    def with_channels(self) -> Self:
        return self.prefetch_related(models.Prefetch("channels", Channel.objects.filter(removed_at=None)))


class Sender(DatedRow):
    """A row that sends to `channels`. `channel_order`: their ids, in the order of the tries; empty: all at once.

    Deleting is soft, and can be undone. `version` grows with every edit: an editor cannot overwrite another's change
    unseen.
    """

    channels: Any
    channel_order = ArrayField(models.UUIDField(), default=list, db_default=[], blank=True)
    version = models.PositiveIntegerField(_("version"), default=1)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        abstract = True

    def ordered_channels(self) -> list[Channel]:
        """The channels that are not removed, in their order if there is one."""
        return sort_channels(self.channel_order, (one for one in self.channels.all() if one.removed_at is None))


_STATUS = Q(provider=STATUS, removed_at=None)

# The states in which a channel cannot be used, of which the first counts: the column, and whether it is NULL then.
_UNUSABLE = {"removed": ("removed_at", False), "disabled": ("disabled_at", False), "unverified": ("verified_at", True)}
VERIFIED = "verified"
STATES = [*_UNUSABLE, VERIFIED]
# What is wrong then, and what its owner does about it, or an operator with dead letters.
_PROBLEMS = {
    "removed": {
        "": _("“%(channel)s” was removed."),
        "owner": _("Add it again for new messages."),
        "operator": _("A replay fails again: discard these, or mark them as fixed."),
    },
    "disabled": {
        "": _("“%(channel)s” is disabled."),
        "owner": _("Enable it first."),
        "operator": _("Enable it first, or a replay fails again."),
    },
    "unverified": {
        "": _("“%(channel)s” is not confirmed yet."),
        "owner": _("Enter its code first."),
        "operator": _("Its owner must confirm it first, or a replay fails again."),
    },
}

# Whether a channel can be used: in SQL (`c` is its table), as a condition, and of one in Python. Messages are sent to
# those that are verified; they reach somebody on those that are usable.
_CASES = [
    f"WHEN c.{column} IS {'' if is_null else 'NOT '}NULL THEN '{name}'" for name, (column, is_null) in _UNUSABLE.items()
]
STATE_SQL = f"CASE {' '.join(_CASES)} ELSE '{VERIFIED}' END"
VERIFIED_SQL = " AND ".join(f"c.{column} IS {'NOT ' if is_null else ''}NULL" for column, is_null in _UNUSABLE.values())
USABLE_SQL = f"{VERIFIED_SQL} AND c.provider <> '{STATUS}' AND c.provider <> ALL(%(unconfigured)s::text[])"


def in_state(state: str, path: str = "") -> Q:
    """Rows whose channel is in one of `STATES`; `path` leads to it, such as "channel__"."""
    states = list(_UNUSABLE.items())[: STATES.index(state) + 1]
    return Q(**{f"{path}{column}__isnull": is_null == (name == state) for name, (column, is_null) in states})


def verified(path: str = "") -> Q:
    return in_state(VERIFIED, path)


def usable(path: str = "") -> Q:
    """Those of `verified` whose provider takes messages here: status webhooks take none."""
    return verified(path) & ~Q(**{f"{path}provider__in": [STATUS, *providers.unconfigured()]})


class ChannelQuerySet(OwnedQuerySet["Channel"]):
    visible = {"removed_at": None}

    def for_messages(self) -> ChannelQuerySet:
        """Without status webhooks, which take no messages."""
        return self.exclude(provider=STATUS)

    def read_by_people(self) -> ChannelQuerySet:
        """Those that are usable, less the queues of programs."""
        return self.filter(usable()).exclude(provider__in=providers.pulled())

    def linked(self, link_id: UUID) -> ChannelQuerySet:
        """The channel, at most one, whose messages carry the link that names `link_id`; removed or not."""
        return self.filter(Q(link_id=link_id) | Q(id=link_id, link_id=None))


class Sealed(DatedRow):
    """A place to send to or read from: `address` for its owner's eyes, and secrets, which are stored as ciphertext."""

    address: Any
    sealed_secrets: Any

    class Meta:
        abstract = True

    def hold(self, destination: Destination) -> None:
        """Take over the address and the secrets of `destination`; the caller saves."""
        self.address = dict(destination.address)
        self.sealed_secrets = encryption.seal_secrets(destination.secrets, self.id)

    def destination(self) -> Destination:
        """The destination for its provider. Raises `encryption.Unreadable` without the key."""
        return Destination(self.address, encryption.unseal_secrets(self.sealed_secrets, self.id))

    def readable_destination(self) -> Destination:
        """The destination, without its secrets if the configured keys cannot read them."""
        try:
            return self.destination()
        except encryption.Unreadable:
            return Destination(self.address)

    @property
    def unreadable(self) -> str:
        """Why the secrets cannot be read, for the owner; empty where they can."""
        try:
            self.destination()
        except encryption.Unreadable as error:
            return str(error)
        return ""


class Channel(Sealed):
    """A person's own address on a provider.

    `address` is public to its owner; `sealed_secrets` is ciphertext, written by `hold()` only.
    A removed channel keeps its row, because the history of what went out refers to it. `unsubscribed_at` is when
    whoever reads it disabled or removed it by the link in a message. `link_id` is what that link names since the
    address has changed: who holds an older one is a stranger to the new address.
    """

    class OnUnknown(models.TextChoices):
        RETRY = "retry", _("send again (it may arrive twice)")
        HOLD = "hold", _("hold for a person (it may not have arrived)")

    class GiveUp(models.IntegerChoices):
        """Seconds since the first try of a delivery."""

        MINUTES = 600, _("10 minutes")
        HOUR = 3_600, _("1 hour")
        HOURS = 21_600, _("6 hours")
        DAY = 86_400, _("1 day")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="channels")
    provider = models.CharField(max_length=32)
    label = models.CharField(_("label"), max_length=80)
    address = models.JSONField(default=dict, blank=True)
    sealed_secrets = models.TextField(blank=True, editable=False)
    on_unknown = models.CharField(
        _("on unknown"),
        max_length=8,
        choices=OnUnknown.choices,
        blank=True,
        help_text=_("What to do when the outcome of a send is unknown; empty means the provider's own rule."),
    )
    # empty: the provider's policy decides
    give_up_after = models.PositiveIntegerField(choices=GiveUp.choices, null=True, blank=True, editable=False)
    use_for_new = models.BooleanField(db_default=False, default=False, editable=False)  # chosen in new reminders, rules
    verified_at = models.DateTimeField(null=True, blank=True)
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_code = models.CharField(max_length=32, db_default="", blank=True, editable=False)
    disabled_params = models.JSONField(default=dict, db_default={}, blank=True, editable=False)
    failing_since = models.DateTimeField(null=True, blank=True)  # when the first try failed since one succeeded
    unsubscribed_at = models.DateTimeField(null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    link_id = models.UUIDField(null=True, unique=True, editable=False)  # empty: its own id
    # what quiet hours hold of later notifications is still to be decided anew; see `deliveries.quiet_changes`
    held_after = models.UUIDField(null=True, editable=False)

    objects: ClassVar[models.Manager[Channel]] = ChannelQuerySet.as_manager()

    class Meta:
        verbose_name = _("channel")
        verbose_name_plural = _("channels")
        ordering = ["id"]
        indexes = [
            models.Index(fields=["user", "id"], condition=Q(removed_at=None), name="channel_of_person"),
            # the notices to owners of what was disabled since yesterday, every 5 minutes
            models.Index(fields=["disabled_at"], condition=Q(disabled_at__isnull=False), name="channel_disabled"),
            # those of which rescue releases what quiet hours hold
            models.Index(fields=["held_after"], condition=Q(held_after__isnull=False), name="channel_held"),
            # whose changes a status webhook follows: asked for each change
            models.Index(fields=["user"], condition=_STATUS, name="channel_status"),
            models.Index(
                fields=["id"], condition=_STATUS & Q(address__contains={"everybody": True}), name="channel_everybody"
            ),
        ]
        triggers = [*change.of_channels(), refuse_unreadable(json=["disabled_params"])]
        constraints = [
            # A person has one inbox: two would show the same message twice.
            models.UniqueConstraint(
                fields=["user"], condition=Q(provider="inbox", removed_at=None), name="channel_one_inbox"
            ),
            models.CheckConstraint(
                condition=Q(checks.sql("address", "jsonb_typeof(%(expressions)s) = 'object'"))
                & checks.json("address", 8),
                name="channel_readable_address",
            ),
            # One row that Python cannot read would break whole pages, and the notices of everybody.
            checks.readable(
                "channel_readable_instants",
                "created_at",
                nullable=("verified_at", "disabled_at", "failing_since", "unsubscribed_at", "removed_at"),
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def state(self) -> str:
        for state, (column, is_null) in _UNUSABLE.items():
            if (getattr(self, column) is None) == is_null:
                return state
        return VERIFIED

    @property
    def is_usable(self) -> bool:
        return self.state == VERIFIED and self.provider not in [STATUS, *providers.unconfigured()]

    def problem(self, reader: Literal["", "owner", "operator"] = "") -> str:
        """Why nothing is sent to it, and what `reader` does about it; empty where it is verified."""
        if (words := _PROBLEMS.get(self.state)) is None:
            return ""
        why = self.disabled_reason if self.state == "disabled" else ""
        return " ".join(filter(None, (words[""] % {"channel": self.label}, why, reader and str(words[reader]))))

    @property
    def disabled_reason(self) -> str:
        return sentence(self.disabled_code, self.disabled_params)

    @property
    def is_owners_to_enable(self) -> bool:
        """Whether failures or its reader disabled it. One that an operator disabled has neither mark."""
        return self.disabled_at is not None and (self.failing_since or self.unsubscribed_at) is not None

    @property
    def version(self) -> str:
        """A digest of everything that a person may change. It reveals no secret."""
        settings = [self.label, self.use_for_new, self.on_unknown, self.give_up_after]
        state = json.dumps([*settings, self.address, self.sealed_secrets], sort_keys=True)
        return hashlib.sha256(state.encode()).hexdigest()[:32]

    @property
    def summary(self) -> str:
        """The address in one line, fit for a list: never a secret. A damaged one says so, so that the page opens."""
        try:
            return providers.get(self.provider).summary(Destination(self.address))
        except Exception as error:
            return gettext("cannot be read (%(error)s)") % {"error": type(error).__name__}

    @property
    def provider_label(self) -> str:
        return providers.label(self.provider)
