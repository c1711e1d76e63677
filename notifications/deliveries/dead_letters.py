"""Actions of owners on their dead letters beyond those of every kind of work: by channel, and send them as new."""

from uuid import UUID

from django.db import transaction
from django.db.models import Count, Max, Min, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from notifications.deliveries import outbox
from notifications.deliveries.kind import DELIVERY
from notifications.deliveries.outbox import NewNotification
from notifications.models import Delivery, Notification
from notifications.models.channel import verified
from notifications.reasons import DeliveryCode
from people.models import User
from work import dead_letters
from work.broker.wakes import publish_after_commit
from work.dead_letters import PUBLISHED_AT_ONCE, Act, Done, Group, Which, Who
from work.engine import manual
from work.models import Intervention
from work.reasons import Reason

Action = Intervention.Action


def own(owner: User, cause: str = "", channel_id: UUID | None = None) -> QuerySet[Delivery]:
    """The dead letters of a person, of this cause and channel where they are given."""
    rows = Which(DELIVERY, cause=cause).rows().filter(channel__user=owner)
    return rows if channel_id is None else rows.filter(channel=channel_id)


def own_groups(owner: User) -> list[Group]:
    """Every cause on every channel of a person (the example's), newest letter first, in two statements."""
    rows = own(owner)
    pairs = rows.order_by().values_list("cause", "channel")
    counted = pairs.annotate(letters=Count("*"), first=Min("settled_at"), last=Max("settled_at"))
    ends = {(cause, channel): (count, first, last) for cause, channel, count, first, last in counted}
    newest = rows.order_by("cause", "channel_id", "-settled_at").distinct("cause", "channel_id")
    groups = [
        Group(DELIVERY, one.cause, *ends[key], one) for one in newest if (key := (one.cause, one.channel_id)) in ends
    ]
    return sorted(groups, key=lambda group: group.last, reverse=True)


def obstacle(letter: Delivery, what: Action) -> str:
    """Why its owner cannot have it sent again, and what to do; empty if they can, or do not ask for it."""
    if ACTS[what].ends:
        return ""
    if letter.notification.origin in Notification.OF_CHANNELS:  # tests have their own limit
        return _("This was a test. Send a new one from the list of channels.")
    return letter.channel.problem("owner")


def sendable(rows: QuerySet[Delivery]) -> QuerySet[Delivery]:
    """Those without an `obstacle`."""
    return rows.filter(verified("channel__")).exclude(notification__origin__in=Notification.OF_CHANNELS)


@transaction.atomic
def send_as_new(rows: QuerySet[Delivery], which: str, who: Who, *, cause: str = "") -> Done:
    """Send them under new idempotency keys, for receivers that noted the old key before they failed.

    Each becomes a new notification to its one channel, and the letter itself is cancelled. An owner's does not wait for
    the end of their quiet hours, as with `replay`. Leaves out those with an `obstacle`.
    """
    locked = dead_letters.locked(sendable(rows))
    letters = Delivery.objects.select_related("notification").in_bulk(locked)
    due = outbox.record(_copy(letters[key], who) for key in locked)
    reason = Reason(DeliveryCode.SENT_AS_NEW)
    manual.discard(Delivery, locked, reason)
    new = [wake.id for wake in due]
    publish_after_commit(due[:PUBLISHED_AT_ONCE])
    made = Intervention(what=Action.AS_NEW, which=which, cause=cause, reason=str(reason))
    return Done(locked, 0, dead_letters.record(made, who, DELIVERY, locked, new), new)


SEND_AS_NEW = Act(
    name="send_as_new",
    what=Action.AS_NEW,
    do=send_as_new,
    label=gettext_lazy("Send as new…"),
    title=gettext_lazy("Send dead letters as new"),
    text=gettext_lazy(
        "%(letters)s sent as new, with another idempotency key, and the old delivery is cancelled. What "
        "already arrived arrives twice."
    ),
    button=gettext_lazy("Send %(count)s as new"),
    result=gettext_lazy("%(count)s sent as new."),
)
ACTS = {one.what: one for one in (dead_letters.REPLAY, SEND_AS_NEW, dead_letters.DISCARD, dead_letters.MARK_FIXED)}
"""Those of owners. The caller refuses to send one with an `obstacle`."""


def _copy(letter: Delivery, who: Who) -> NewNotification:
    notification = letter.notification
    is_fresh = letter.expires_at is not None and letter.expires_at > timezone.now()
    return outbox.again(
        notification,
        [(letter.channel_id, letter.provider)],
        expires_at=letter.expires_at if is_fresh else None,
        urgent=notification.urgent or who.user_id == notification.user_id,
    )
