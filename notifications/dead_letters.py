"""Dead letters by cause: list them, replay them at a rate, send them as new, discard them, and record who did it.

An action first locks its letters in the order of their keys. So two people who act at once change each letter once, and
do not deadlock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from common.postgres import change, column, query
from common.uuid7 import uuid7
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification
from notifications.deliveries.pull_signal import wake_pullers_after_commit
from notifications.models import Delivery, Intervention, Notification
from notifications.reasons import Code
from people.models import User
from work import manual
from work.reasons import Code as WorkCode
from work.reasons import Reason
from work.wakes import Wake, publish_after_commit

_WHAT = Intervention.What

# Published at once; rescue publishes the others, and those due later, as fast as workers take them.
PUBLISHED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Which:
    """A selection of dead letters: by provider, cause, keys, the aware instant since which they ended, owner and
    channel. All given conditions hold at once; without any, it selects every dead letter."""

    provider: str = ""
    cause: str = ""
    since: datetime | None = None
    ids: Sequence[UUID] = ()
    owner: User | None = None
    channel_id: UUID | None = None

    def rows(self) -> QuerySet[Delivery]:
        rows = Delivery.objects.dead_letters()
        if self.provider:
            rows = rows.filter(provider=self.provider)
        if self.cause:
            rows = rows.filter(cause=self.cause)
        if self.since is not None:
            rows = rows.filter(settled_at__gte=self.since)
        if self.owner is not None:
            rows = rows.filter(channel__user=self.owner)
        if self.channel_id is not None:
            rows = rows.filter(channel=self.channel_id)
        return rows.filter(pk__in=self.ids) if self.ids else rows

    def __str__(self) -> str:
        keys = ", ".join(str(key) for key in self.ids[:3]) + (" …" if len(self.ids) > 3 else "")
        words = [
            f"of the provider {self.provider}" if self.provider else "",
            f"of the cause {self.cause}" if self.cause else "",
            "" if self.since is None else f"since {self.since:%Y-%m-%d %H:%M %Z}",
            f"with the keys {keys}" if keys else "",
            "of their owner" if self.owner else "",
            f"of the channel {self.channel_id}" if self.channel_id else "",
        ]
        return ", ".join(filter(None, words)) or "every dead letter"


@dataclass(frozen=True, slots=True)
class Group:
    """The dead letters of one cause: how many, when the first and the last ended, and the newest as an example."""

    cause: str
    count: int
    first: datetime
    last: datetime
    example: Delivery


@dataclass(frozen=True, slots=True)
class Who:
    """Who acts: the id of their account, None at the command line, and their name."""

    user_id: int | None
    name: str


@dataclass(frozen=True, slots=True)
class Done:
    """The letters that were changed, how many were skipped because they are stale, and the deliveries sent as new."""

    changed: list[UUID]
    stale: int = 0
    intervention: Intervention | None = None
    new: Sequence[UUID] = ()


def groups(which: Which | None = None) -> list[Group]:
    """Every cause among the letters, newest letter first."""
    found = (which or Which()).rows().order_by().values_list("cause")
    counted = found.annotate(letters=Count("*"), first=Min("settled_at"), last=Max("settled_at"))
    ends = {cause: (count, first, last) for cause, count, first, last in counted}
    examples = Delivery.objects.dead_letters().filter(pk__in=_newest(list(ends))).order_by("-settled_at")
    return [Group(example.cause, *ends[example.cause], example) for example in examples]


def own_groups(owner: User) -> list[Group]:
    """Every cause on every channel of a person (the example's), newest letter first, in two statements."""
    rows = Which(owner=owner).rows()
    found = rows.order_by().values_list("cause", "channel")
    counted = found.annotate(letters=Count("*"), first=Min("settled_at"), last=Max("settled_at"))
    ends = {(cause, channel): (count, first, last) for cause, channel, count, first, last in counted}
    newest = rows.order_by("cause", "channel_id", "-settled_at").distinct("cause", "channel_id")
    groups = [Group(one.cause, *ends[key], one) for one in newest if (key := (one.cause, one.channel_id)) in ends]
    return sorted(groups, key=lambda group: group.last, reverse=True)


def obstacle(letter: Delivery) -> str:
    """Why its owner cannot have it sent again, and what to do; empty if they can."""
    channel = letter.channel
    if letter.notification.origin in Notification.OF_CHANNELS:  # tests have their own limit
        return "This was a test. Send a new one from the list of channels."
    if channel.removed_at:
        return f"“{channel.label}” was removed. Add it again for new messages."
    if channel.disabled_at:
        return f"“{channel.label}” is disabled. Enable it first."
    if channel.verified_at is None:
        return f"“{channel.label}” is not verified. Enter its code first."
    return ""


def sendable(rows: QuerySet[Delivery]) -> QuerySet[Delivery]:
    """Those without an `obstacle`."""
    usable = rows.filter(channel__removed_at=None, channel__disabled_at=None, channel__verified_at__isnull=False)
    return usable.exclude(notification__origin__in=Notification.OF_CHANNELS)


_NEWEST = """
SELECT newest.id FROM unnest(%s::text[]) AS wanted(cause), LATERAL (
    SELECT id FROM notifications_delivery d
     WHERE d.cause = wanted.cause AND d.state IN ('dead', 'unknown')
     ORDER BY settled_at DESC LIMIT 1
) newest
"""


def _newest(causes: list[str]) -> list[UUID]:
    """The key of the newest dead letter of each of the causes, read from the end of its part of the index."""
    return [row.id for row in query(_NEWEST, [column(causes)])]


def stale(max_age: timedelta | None = None) -> Q:
    """Past what its schedule allows (`expires_at`), or recorded longer than `max_age` ago."""
    past = Q(expires_at__lte=Now())
    return past if max_age is None else past | Q(created_at__lt=Now() - max_age)


@transaction.atomic
def replay(
    rows: QuerySet[Delivery],
    which: str,
    who: Who,
    *,
    cause: str = "",
    per_minute: int | None = None,
    skip: Q | None = None,
    what: Intervention.What = _WHAT.REPLAYED,
) -> Done:
    """Send them again under the same keys, oldest first, `per_minute` at most; None: all are due at once.

    `skip` selects letters to leave alone (see `stale`); they stay dead letters.
    """
    chosen = rows if skip is None else rows.exclude(skip)
    held = _locked(chosen)
    stale_ones = 0 if skip is None else rows.filter(skip).count()
    changed = set(manual.replay(Delivery, held, 60 / per_minute if per_minute else 0.0))
    again = [key for key in held if key in changed]
    pulled = _hand_to_pullers(again)
    sent = again[: 1 if per_minute else PUBLISHED_AT_ONCE]
    publish_after_commit(Wake(outbox.DELIVER, key) for key in sent if key not in pulled)
    return Done(again, stale_ones, _keep(who, what, which, cause, again, per_minute=per_minute))


def _hand_to_pullers(replayed: Sequence[UUID]) -> set[UUID]:
    """Wake who waits for those of queues, and cancel those of removed queues, which nobody can pull. Returns both."""
    of_queues = Delivery.objects.filter(id__in=replayed, wake_at=None)
    rows = list(of_queues.values_list("id", "channel_id", "channel__removed_at"))
    manual.cancel(Delivery, [key for key, _, removed in rows if removed], Reason(Code.REMOVED))
    wake_pullers_after_commit({channel_id for _, channel_id, _ in rows})
    return {key for key, _, _ in rows}


def try_one(which: Which, who: Who) -> Done:
    """Send the newest of them again, alone, to see whether its cause is fixed."""
    newest = which.rows().order_by("-settled_at")[:1]
    return replay(newest, f"the newest {which}", who, cause=which.cause, what=_WHAT.TESTED)


@transaction.atomic
def send_as_new(rows: QuerySet[Delivery], which: str, who: Who, *, cause: str = "") -> Done:
    """Send them under new idempotency keys, for receivers that noted the old key before they failed.

    Each becomes a new notification to its one channel, and the letter itself is cancelled. An owner's does not wait for
    the end of their quiet hours, as with `replay`. Leaves out those with an `obstacle`.
    """
    held = _locked(sendable(rows))
    letters = Delivery.objects.select_related("notification").in_bulk(held)
    due = outbox.record(_copy(letters[key], who) for key in held)
    reason = Reason(Code.SENT_AS_NEW)
    manual.discard(Delivery, held, reason)
    new = [wake.id for wake in due]
    publish_after_commit(due[:PUBLISHED_AT_ONCE])
    kept = _keep(who, _WHAT.AS_NEW, which, cause, [*held, *new], count=len(held), reason=str(reason))
    return Done(held, 0, kept, new)


def _copy(letter: Delivery, who: Who) -> NewNotification:
    said = letter.notification
    is_fresh = letter.expires_at is not None and letter.expires_at > timezone.now()
    return NewNotification(
        user_id=said.user_id,
        channels=[(letter.channel_id, letter.provider)],
        subject=said.subject,
        body=said.body,
        origin=Notification.Origin(said.origin),
        batch_id=uuid7(),
        origin_id=said.origin_id,
        slot=said.slot,
        expires_at=letter.expires_at if is_fresh else None,
        urgent=said.urgent or who.user_id == said.user_id,
        category=said.category,
        data=None if said.data is None else json.dumps(said.data),
    )


_REASONS = {_WHAT.DISCARDED: WorkCode.DISCARDED, _WHAT.FIXED: Code.FIXED}


@transaction.atomic
def discard(
    rows: QuerySet[Delivery],
    which: str,
    who: Who,
    reason: str,
    *,
    cause: str = "",
    what: Intervention.What = _WHAT.DISCARDED,
) -> Done:
    """Nothing is sent, and each keeps the reason: not needed (DISCARDED), or dealt with otherwise (FIXED)."""
    held = _locked(rows)
    manual.discard(Delivery, held, Reason(_REASONS[what], said=reason))
    return Done(held, 0, _keep(who, what, which, cause, held, reason=reason))


def progress(intervention: Intervention) -> dict[str, int]:
    """Return how many of its deliveries are in each state."""
    return dict(intervention.deliveries.order_by().values_list("state").annotate(Count("pk")))


def _locked(rows: QuerySet[Delivery]) -> list[UUID]:
    """Lock those of `rows` that are still dead letters, and return their keys, oldest first.

    PostgreSQL checks a row again once it has its lock, so a letter that was changed meanwhile is left out.
    """
    wanted = Delivery.objects.dead_letters().filter(pk__in=rows.values("pk"))
    held = wanted.order_by("pk").select_for_update().values_list("settled_at", "pk")
    return [key for _, key in sorted(held)]


_KEEP = """
INSERT INTO notifications_intervention_deliveries (intervention_id, delivery_id) SELECT %s, unnest(%s::uuid[])
"""


def _keep(
    who: Who,
    what: Intervention.What,
    which: str,
    cause: str,
    touched: list[UUID],
    *,
    per_minute: int | None = None,
    reason: str = "",
    count: int | None = None,
) -> Intervention | None:
    if not touched:
        return None
    kept = Intervention.objects.create(
        by_id=who.user_id,
        who=who.name,
        what=what,
        which=which[:500],
        cause=cause,
        count=len(touched) if count is None else count,
        per_minute=per_minute,
        reason=reason[:300],
    )
    change(_KEEP, [kept.pk, column(touched)])
    return kept
