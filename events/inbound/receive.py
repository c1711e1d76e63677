"""Take a webhook: verify it, make it events, keep it to look at. One transaction."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import uuid5

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from common.database import encryption
from common.database.encryption import hashed
from common.database.postgres import change
from common.parsing.strict_json import Bad
from common.texts import languages
from common.uuid7 import uuid7
from events.inbound import addresses, body
from events.inbound.mapping import InboundAnswer, understand, unreadable
from events.intake import ledger, usage
from events.models import InboundAddress, InboundRequest
from events.pure import schemes, types
from events.pure.envelope import Envelope
from events.reasons import EventCode
from notifications.channels import owner_notices
from notifications.channels.owner_notices import Notice
from notifications.net import chain
from work.broker.wakes import Wake, publish_after_commit
from work.reasons import Reason

MOST_REQUESTS = 50
"""Requests of each address."""

MOST_BYTES = 1024 * 1024
"""Of their bodies."""

# Others may hold a secret, and are not kept.
_HEADERS = {
    *("accept", "content-encoding", "content-length", "content-type", "date", "user-agent", "x-request-id"),
    *("webhook-id", "webhook-timestamp", "svix-id", "svix-timestamp"),
    *("x-github-delivery", "x-github-event", "x-github-hook-id"),
    *("x-gitlab-event", "x-gitlab-event-uuid", "x-gitlab-instance", "x-gitea-delivery", "x-gitea-event"),
    *("x-event-key", "x-event-type", "x-hook-uuid", "x-shopify-topic", "x-shopify-webhook-id", "x-wc-webhook-topic"),
}
_LIKE_A_SECRET = re.compile("auth|cookie|key|password|secret|session|signature|token")
_LONGEST_HEADER = 1_000


def find(token: str) -> InboundAddress | None:
    """The address whose secret part this is."""
    return InboundAddress.objects.filter(hashed=hashed(token), user__is_active=True).first()


def receive(address: InboundAddress, headers: Mapping[str, str], raw: bytes, now: datetime) -> InboundAnswer:
    """Record what came in, and its events. The same delivery again answers the same and has no further effect.

    Raises Http404 if the address was removed meanwhile.
    """
    request = schemes.Request({name.lower(): value for name, value in headers.items()}, raw, now)
    identity, refusal = _verify(address, request)
    try:
        text = body.text_of(request.headers, raw)
    except Bad as error:
        text, refusal = raw.decode("utf-8", "replace"), refusal or unreadable(error)
    answer, envelopes = (refusal, []) if refusal else understand(address, request.headers, text, identity)
    if cause := chain.read(request.headers.get(chain.HEADER.lower(), "")):
        # One of our own messages caused it: a rule, a message and its webhook would go round for ever.
        envelopes = [replace(one, correlation_id=cause[0], hops=cause[1]) for one in envelopes]
    return _store(address, request.headers, text, answer, envelopes)


def replay(address: InboundAddress, request: InboundRequest) -> InboundAnswer:
    """Make new events of a stored request, whatever became of it: its owner vouches for it."""
    understood = understand(address, request.headers, request.body, str(uuid7()))
    return _store(address, request.headers, request.body, *understood)


def _verify(address: InboundAddress, request: schemes.Request) -> tuple[str, InboundAnswer | None]:
    """Return the identity of a request, or why it is refused."""
    if not address.enabled:
        return "", InboundAnswer(410, reason=Reason(EventCode.SWITCHED_OFF_ADDRESS))
    try:
        secret = address.secrets().get("secret", "")
        return schemes.verify(address.scheme, secret, request, schemes.Hmac(**address.options)), None
    except encryption.Unreadable:
        return "", InboundAnswer(503, reason=Reason(EventCode.UNREADABLE_SECRET))
    except schemes.SignatureRefused as refused:
        return "", InboundAnswer(503 if refused.reason.code == EventCode.NO_SECRET else 401, reason=refused.reason)


# By id, which grows with time.
_TRIM = """
DELETE FROM events_inboundrequest WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER newest AS number, sum(octet_length(body)) OVER newest AS bytes
          FROM events_inboundrequest WHERE address_id = %(address)s WINDOW newest AS (ORDER BY id DESC)
    ) newest WHERE number > %(requests)s OR bytes > %(bytes)s
)
"""


def _store(
    address: InboundAddress, headers: Mapping[str, str], text: str, answer: InboundAnswer, envelopes: Sequence[Envelope]
) -> InboundAnswer:
    try:
        return _written(address, headers, text, answer, envelopes)
    except usage.QuotaReached as reached:
        return _written(address, headers, text, InboundAnswer(429, reason=reached.reason, wait=reached.wait), [])


def _safe(address: InboundAddress, headers: Iterable[str]) -> list[str]:
    """The names of the headers that are kept: those that an expression of the address names, and usual ones."""
    named = " ".join(address.fields.values()).lower()
    return [
        name
        for name in headers
        if name in _HEADERS or name.startswith("ce-") or (name in named and not _LIKE_A_SECRET.search(name))
    ]


@transaction.atomic
def _written(
    address: InboundAddress, headers: Mapping[str, str], text: str, answer: InboundAnswer, envelopes: Sequence[Envelope]
) -> InboundAnswer:
    addresses.lock(address)
    # Only Carillon speaks as itself: a flow believes it.
    ledger.record(
        address.user_id, [replace(one, source="") if one.source == types.SOURCE else one for one in envelopes]
    )
    InboundRequest.objects.create(
        address=address,
        status=answer.status,
        headers={name: _plain(headers[name])[:_LONGEST_HEADER] for name in _safe(address, headers)},
        body=_plain(text),
        event_keys=answer.keys,
        reason_code=answer.reason.code,
        reason_params={
            name: _plain(value) if isinstance(value, str) else value for name, value in answer.reason.params.items()
        },
    )
    change(_TRIM, {"address": address.id, "requests": MOST_REQUESTS, "bytes": MOST_BYTES})
    if answer.status == 503:
        publish_after_commit(_notice(address, answer))
    return answer


def _notice(address: InboundAddress, answer: InboundAnswer) -> list[Wake]:
    """Tell the owner once a day that their address takes nothing until they enter its secret."""
    now = timezone.now()
    with languages.override(address.user.language):
        subject = _("“%(label)s” takes no webhooks") % {"label": address.label}
        body = _("%(reason)s\n\nUntil then, whoever posts to it is told to try again later: %(url)s") % {
            "reason": answer.reason,
            "url": settings.BASE_URL + reverse("events:inbound-edit", args=[address.id]),
        }
    notice = Notice(address.user_id, uuid5(address.id, f"no secret {now:%Y-%m-%d}"), subject, body)
    return owner_notices.record([notice], now)


def _plain(text: str) -> str:
    """jsonb and text hold neither NUL nor half of a surrogate pair."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
