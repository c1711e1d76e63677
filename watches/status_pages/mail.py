"""The mails to subscribers of status pages as a kind of work: sent as emails of channels are, with the same limits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from django.utils.translation import gettext as _

from common.texts import languages
from notifications import providers
from notifications.deliveries import limits
from notifications.deliveries.limits import SendClaim
from notifications.messages import text
from notifications.messages.links import SUBSCRIPTION
from notifications.messages.message import Destination, Message, Rejected
from notifications.providers.base import Rate
from notifications.reasons import DeliveryCode
from watches.models import StatusMail, StatusMailAttempt, StatusPage
from watches.status_pages import subscribers
from watches.status_pages.subscribers import SEND
from work.answers import Answer, Cancel, Defer
from work.kinds import Kind, Loaded
from work.reasons import Reason
from work.retry import Policy

_EMAIL = "email"
MOST_A_DAY = 10_000
"""Mails to the subscribers of one owner."""
_WITHDRAWN = f"""CASE WHEN NOT p.is_active THEN '{DeliveryCode.SWITCHED_OFF}'
            WHEN NOT g.enabled THEN '{DeliveryCode.PAGE_OFF}'
            WHEN EXISTS (SELECT FROM watches_statusmail o
                          WHERE o.subscriber_id = d.subscriber_id AND o.incident_id IS NOT DISTINCT FROM d.incident_id
                            AND o.id > d.id AND o.state IN ('pending', 'sending', 'sent'))
            THEN '{DeliveryCode.NEWER}' END"""  # noqa: S608 - constants only


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusMailClaim(SendClaim):
    """A leased status mail. `withdrawn`: why it must not go out, if so."""

    channel_id: Annotated[UUID, Loaded("d.subscriber_id")]
    withdrawn: Annotated[Reason | None, Loaded(_WITHDRAWN, read=lambda code: code and Reason(code))]

    @property
    def provider(self) -> str:
        return _EMAIL

    def daily_rates(self) -> list[Rate]:
        """Their own, so that the owner's reminders do not wait for them."""
        return [Rate("subscribers", MOST_A_DAY, limits.DAY, "person")]


class StatusMailKind(Kind[StatusMailClaim]):
    task, queue = SEND, "deliveries"
    model, attempts = StatusMail, StatusMailAttempt
    handler = "what"
    caused_by = "coalesce(d.incident_id::text, '')"
    claim = StatusMailClaim
    columns = {
        "mailbox": "s.address",
        "page": "g.title",
        "slug": "g.slug",
        "title": "i.title",
        "text": "i.text",
        "is_over": "i.ended_at IS NOT NULL",
    }
    joins = f"""{Kind.joins}
  JOIN watches_subscriber s ON s.id = d.subscriber_id
  JOIN watches_statuspage g ON g.id = s.page_id
  LEFT JOIN watches_publicincident i ON i.id = d.incident_id"""

    def from_row(self, row: Any) -> dict[str, Any]:
        with languages.override(row.language):
            subject, body = _texts(row)
        return {
            "message": Message(
                key=row.id,
                subject=text.fit(subject, text.MAX_SUBJECT).text,
                body=body,
                recipient=row.mailbox,
                unsubscribe_url=SUBSCRIPTION.address(row.channel_id),
                open_url="" if row.handler == StatusMail.Type.CONFIRM else StatusPage(slug=row.slug).url,
                left=row.left,
            ),
            "address": {"address": row.mailbox},
            "unusable": None,
        }

    def prepare(self, claim: StatusMailClaim) -> Defer | Cancel | Answer | Callable[[], Answer]:
        if claim.withdrawn:
            return Cancel(claim.withdrawn)
        if (turn := limits.limited(claim)) is not None:
            return Defer(*turn)
        return partial(limits.send, claim, providers.get(_EMAIL), Destination(claim.address))

    def policy(self, handler: str) -> Policy:
        return providers.get(_EMAIL).retry_policy

    def after(self, claim: StatusMailClaim, answer: Answer) -> None:
        """Forget an address that does not exist."""
        if isinstance(answer, Rejected) and answer.gone:
            subscribers.remove(claim.channel_id)


STATUS_MAIL = StatusMailKind()


def _texts(row: Any) -> tuple[str, str]:
    """Subject and body. The link of the first mail confirms or refuses, that of the others unsubscribes."""
    if row.handler == StatusMail.Type.CONFIRM:
        body = _(
            "Somebody, perhaps you, asked for the incidents of “%(page)s” at this address.\n\n"
            "Open this page within a day to get them, or to refuse such mails:\n%(url)s\n\n"
            "If it was not you, you can also ignore this mail: no incidents are sent before you confirm."
        )
        named = {"page": row.page, "url": SUBSCRIPTION.address(row.channel_id)}
        return _("Confirm your subscription to “%(page)s”") % named, body % named
    named = {"page": row.page, "title": row.title}
    if row.is_over:
        return _("%(page)s: over: %(title)s") % named, row.text
    if row.handler == StatusMail.Type.UPDATED:
        return _("%(page)s: update: %(title)s") % named, row.text
    return _("%(page)s: %(title)s") % named, row.text
