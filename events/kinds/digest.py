"""The digest as a kind of work: once it is due, one notification tells of all that it has gathered."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from django.utils.translation import gettext as _

from events.intake import usage
from events.intake.digests import SEND
from events.intake.handling import new_notification, size_of
from events.models import Digest, DigestAttempt, Effect, Rule
from events.pure import matching
from events.pure.envelope import as_sent
from events.reasons import EventCode
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification
from notifications.messages import text
from people import quiet
from people.quiet import Hours
from work import kinds
from work.answers import Answer, Cancel, Defer, Done
from work.broker.wakes import publish_after_commit
from work.kinds import Kind, Loaded
from work.reasons import Reason
from work.retry import INSIDE

# Further ones are only counted.
MOST_LINES = 20
LONGEST_LINE = 300
_COUNT = f"{{{matching.COUNT}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestClaim(kinds.Claim):
    """A leased digest. Nothing is added to it any more. `quiet` are the quiet hours of its person."""

    rule_id: UUID
    key_value: str
    gathered: int
    hops: int
    quiet: Annotated[Hours | None, Loaded(quiet.columns("p"), read=quiet.read)]


class DigestKind(Kind[DigestClaim]):
    task = SEND
    queue = "events"
    model, attempts = Digest, DigestAttempt
    handler = "type_pattern"
    caused_by = "d.rule_id::text"
    claim = DigestClaim
    retries = INSIDE
    repeats = True  # its notification commits with the settlement, or not at all
    dead_letters = "admin:events_deaddigest"  # those of events have the usual name

    def prepare(self, claim: DigestClaim) -> Defer | Cancel | Answer | Callable[[], Answer]:
        rule = Rule.objects.with_channels().get(id=claim.rule_id)
        if rule.deleted_at is not None:
            return Cancel(Reason(EventCode.RULE_DELETED))
        if not rule.enabled:
            return Cancel(Reason(EventCode.RULE_OFF))
        if not rule.sends_to:
            return Cancel(Reason(EventCode.NO_CHANNEL))
        return Done(effect=partial(_record, claim.id, _notification(claim, rule)))


DIGEST = DigestKind()


def compose(rule: Rule, envelopes: Sequence[Mapping[str, Any]], gathered: int) -> text.Text:
    """The texts of a digest of `gathered` events, of which `envelopes` are the first.

    One that gathered a single event says what the rule says of it. Else each event has a line: its title, unless
    `{count}` makes that the title of all, and its body.
    """
    counted = [envelope | {matching.COUNT: gathered} for envelope in map(dict, envelopes)]
    if gathered == 1:
        subject, body = matching.fill(rule.title, counted[0]), matching.fill(rule.body, counted[0], literal=True)
    elif _COUNT in rule.title:
        subject = matching.fill(rule.title, counted[0])
        body = _lines(counted, [rule.body or "{type}"], gathered)
    else:
        subject = _("%(name)s: %(count)s events") % {"name": rule.name, "count": gathered}
        body = _lines(counted, [rule.title, rule.body], gathered)
    return text.cut(subject, body, rule.name)


def _lines(envelopes: Sequence[Mapping[str, Any]], parts: Sequence[str], gathered: int) -> str:
    filled = (
        [" ".join(matching.fill(part, envelope, literal=True).split()) for part in parts] for envelope in envelopes
    )
    lines = [text.fit("- " + ": ".join(filter(None, line)), LONGEST_LINE).text for line in filled]
    more = gathered - len(lines)
    return "\n".join([*lines, _("and %(count)s more") % {"count": more}] if more > 0 else lines)


def _notification(claim: DigestClaim, rule: Rule) -> NewNotification:
    """Its batch is the digest."""
    entries = Effect.objects.filter(digest=claim.id).select_related("event").order_by("id")[:MOST_LINES]
    envelopes = [as_sent(effect.event) for effect in entries]
    data = {
        "rule": rule.name,
        "count": claim.gathered,
        "key": claim.key_value,
        "events": [
            {name: envelope[name] for name in ("id", "type", "source")} | {"occurred_at": envelope["time"]}
            for envelope in envelopes
        ],
    }
    message, wait = compose(rule, envelopes, claim.gathered), quiet.wait(claim.claimed_at, claim.quiet)
    return new_notification(rule, message, wait, batch_id=claim.id, hops=claim.hops + 1, data=json.dumps(data))


def _record(digest_id: UUID, notification: NewNotification) -> None:
    publish_after_commit(outbox.record([notification]))
    usage.count((notification.user_id, 0, size_of(notification)))
    Digest.objects.filter(id=digest_id).update(notification_id=notification.id)
