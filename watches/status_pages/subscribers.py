"""Subscribers of a status page: they ask, confirm, stop, and are told of its incidents."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core.cache import cache
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from common import uuid7
from common.database.postgres import query
from common.database.rows import insert
from common.forms.not_possible import NotPossible
from common.redis import rate_limiter
from people.sign_in import mailboxes
from watches.models import PublicIncident, StatusMail, StatusPage, Subscriber
from work.broker import wakes
from work.broker.wakes import Wake, publish_after_commit

SEND = "watches.send_status_mail"
MOST = 1_000
"""Subscribers of a page, with those who have not confirmed yet."""
PER_SENDER, PER_PAGE = (10, 3_600.0), (200, 86_400.0)
"""So many requests to subscribe in so many seconds: of a network address, and for a page."""
VALID = timedelta(days=1)
"""So long a link confirms; what is not sent by then expires."""
_PRUNED_AT_ONCE = 1_000


# Who is being removed gets none: the lock waits for that, or has it wait.
_RECORD = f"""
WITH s AS MATERIALIZED (
    SELECT id, page_id FROM watches_subscriber WHERE id = ANY(%(subscribers)s::uuid[]) ORDER BY id FOR KEY SHARE
), waiting AS (
    UPDATE watches_statusmail SET expires_at = now() + %(valid)s
     WHERE subscriber_id IN (SELECT id FROM s) AND incident_id IS NOT DISTINCT FROM %(incident)s::uuid
       AND state = 'pending'
 RETURNING subscriber_id
)
{
    insert(
        "watches_statusmail",
        "s JOIN watches_statuspage g ON g.id = s.page_id",
        {
            "id": uuid7.SQL,
            "user_id": "g.user_id",
            "subscriber_id": "s.id",
            "incident_id": "%(incident)s::uuid",
            "what": "%(what)s",
            "available_at": "now()",
            "expires_at": "now() + %(valid)s",
            **wakes.new_work("0.0"),
        },
    )
}
 WHERE s.id NOT IN (SELECT subscriber_id FROM waiting) ORDER BY s.id
RETURNING id, greatest(0, extract(epoch FROM available_at - now()))::float AS wait, user_id
"""  # noqa: S608 - constants only
# One that is being sent may have been written before; if it has to be sent again, `StatusMailKind` leaves it out.


def subscribe(page: StatusPage, address: str, sender: str) -> None:
    """Send a link that confirms `address`, unless it is subscribed or too much was sent there. Nobody learns which.

    `sender`: the key of the network address that asks. Raises NotPossible, whatever the address is.
    """
    if not cache.answers():  # type: ignore[attr-defined]  # common.cache
        raise NotPossible(_("Nobody can subscribe right now. Try again in a minute."))
    limits = {sender: PER_SENDER, page.id: PER_PAGE}
    if not all(rate_limiter.allows(f"subscribe:{key}", *limit) for key, limit in limits.items()):
        raise NotPossible(_("Too many people asked to subscribe. Try again tomorrow, or use the feed."))
    if page.subscribers.count() >= MOST:
        raise NotPossible(_("This page takes no more subscribers. Use the feed."))
    address, purpose = address.lower(), mailboxes.Purpose.SUBSCRIPTION
    if mailboxes.is_refused(address) or not mailboxes.may_send(purpose, mailboxes.mailbox(address)):
        return
    with transaction.atomic():
        subscriber, _is_new = Subscriber.objects.get_or_create(page=page, address=address)
        if subscriber.confirmed_at is None:
            Subscriber.objects.filter(id=subscriber.id).update(expires_at=Now() + VALID)
            _record([subscriber.id], StatusMail.Type.CONFIRM)


def confirm(subscriber_id: UUID) -> None:
    """Unless its time is over."""
    Subscriber.objects.filter(id=subscriber_id, confirmed_at=None, expires_at__gt=Now()).update(
        confirmed_at=Now(), expires_at=None
    )


@transaction.atomic
def stop(subscriber_id: UUID) -> None:
    """Unsubscribe, with what is not sent yet. An address that never confirmed gets no more mails from strangers."""
    for subscriber in Subscriber.objects.select_for_update().filter(id=subscriber_id):
        if subscriber.confirmed_at is not None:
            remove(subscriber.id)
        else:
            mailboxes.refuse(subscriber.address)
            subscriber.expires_at = None
            subscriber.save()


@transaction.atomic
def remove(subscriber_id: UUID) -> None:
    """With all mails."""
    for subscriber in Subscriber.objects.select_for_update().filter(id=subscriber_id):
        lock_mails(subscriber=subscriber)
        subscriber.delete()


def lock_mails(**of: Any) -> list[UUID]:
    """Lock mails that are to be deleted, and return their ids. Otherwise, a worker could open an attempt meanwhile.

    At most 5,000: those of a page are deleted in chunks, for Django would load them all.
    """
    mails = StatusMail.objects.filter(**of).order_by("id").select_for_update(of=("self",))
    return list(mails.values_list("id", flat=True)[:5_000])


@transaction.atomic
def allow(subscriber_id: UUID) -> None:
    """Undo the refusal, so that the address can be subscribed again."""
    for refused in Subscriber.objects.filter(id=subscriber_id, confirmed_at=None, expires_at=None):
        mailboxes.allow(refused.address)
        refused.delete()


def tell(incident: PublicIncident, what: StatusMail.Type) -> None:
    """Record a mail to each subscriber of its page, within the caller's transaction."""
    confirmed = Subscriber.objects.filter(page=incident.page_id, confirmed_at__isnull=False)
    _record(confirmed.values_list("id", flat=True), what, incident.id)


def _record(subscribers: Collection[UUID], what: StatusMail.Type, incident_id: UUID | None = None) -> None:
    values = {"subscribers": list(subscribers), "what": what, "incident": incident_id, "valid": VALID}
    rows = query(_RECORD, values | wakes.parameters())
    publish_after_commit(Wake(SEND, row.id, row.wait, row.user_id) for row in rows)


def forget_unconfirmed() -> None:
    """Delete those whose link has expired, some at once: the task comes again."""
    late = Subscriber.objects.filter(Q(expires_at__lt=Now() - VALID), confirmed_at=None)
    Subscriber.objects.filter(id__in=list(late.values_list("id", flat=True)[:_PRUNED_AT_ONCE])).delete()
