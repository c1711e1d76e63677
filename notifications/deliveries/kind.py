"""The delivery as a kind of work: what is loaded with a claim, when it may go out, and the call of its provider."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from common.database import correlation, encryption
from common.database.postgres import persist
from common.texts import languages
from notifications import providers
from notifications.deliveries import boards, channel_health, confirmation, fallback, limits, members, nag, quiet_changes
from notifications.deliveries.limits import SendClaim
from notifications.deliveries.outbox import DELIVER
from notifications.deliveries.pull_signal import wake_pullers_after_commit
from notifications.messages.change_types import STATUS
from notifications.messages.links import ANSWER, LEAVE, STOP, UNSUBSCRIBE
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.models import Attempt, Channel, Delivery, Notification
from notifications.models.channel import STATE_SQL
from notifications.providers.base import Rate
from notifications.providers.board import Board
from notifications.providers.on_call import OnCall
from notifications.providers.team import Team
from notifications.reasons import DeliveryCode
from people import codes, quiet
from people.models import Membership, display_name
from people.quiet import Hours
from work.answers import Answer, Cancel, Defer, NotStarted
from work.kinds import FROM_ROW, Kind, Loaded
from work.models import Intervention
from work.reasons import Reason
from work.retry import Policy

_TRYING_FOR = f"""coalesce(CASE WHEN d.tries + d.released > 1 THEN (
            SELECT extract(epoch FROM now() - min(a.started_at))::float FROM notifications_attempt a
             WHERE a.delivery_id = d.id AND a.replay = d.replays
               AND (a.outcome <> 'released' OR a.reason_code = '{DeliveryCode.HOST_RESTS}')
       ) END, 0.0)"""  # noqa: S608 - constants only

# Its batch is the notification to the team.
_TEAM = """SELECT t.name FROM notifications_notification whole JOIN people_user t ON t.id = whole.user_id
        WHERE whole.id = n.batch_id"""
# What a message has as its rows have it.
_MESSAGE = {
    **{name: f"n.{name}" for name in ("subject", "slot", "early", "hops", "category")},
    "schedule_id": "CASE WHEN n.origin = 'schedule' THEN n.origin_id END",
    "team": f"coalesce(CASE WHEN p.is_team THEN p.name WHEN n.origin = 'team' THEN ({_TEAM}) END, '')",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryClaim(SendClaim):
    """A leased delivery with everything that a worker needs to send it without the database.

    `unusable`: its channel was removed or disabled, or is not verified. `quiet` are the quiet hours that this delivery
    keeps: None where it is urgent, sent again by its person, or Carillon's own. `failing`: nothing has arrived on its
    channel since a try failed. `withdrawn` is why it must not go out, if so: its person has answered the notification
    or stopped its reminder, and has not sent it again, or their account was switched off. `is_test`: they asked for it
    to try the channel. `link_id` changes with the channel's address. `give_up_after`: seconds after which its channel
    wants no further try, None for the provider's policy. `trying_for`: seconds since its first try, or since it first
    waited for a host that rests. `was_delayed`: quiet hours have let it wait.
    """

    link_id: Annotated[UUID, Loaded("coalesce(c.link_id, c.id)")]
    address: Annotated[Mapping[str, Any], Loaded("c.address", read=json.loads)]
    sealed_secrets: Annotated[str, Loaded("c.sealed_secrets")]
    give_up_after: Annotated[int | None, Loaded("c.give_up_after")]
    trying_for: Annotated[float, Loaded(_TRYING_FOR)]
    quiet: Annotated[Hours | None, FROM_ROW]
    failing: Annotated[bool, Loaded("c.failing_since IS NOT NULL")]
    withdrawn: Annotated[Reason | None, FROM_ROW]
    is_test: Annotated[bool, Loaded("n.origin IN ('test', 'code')")]
    was_delayed: Annotated[bool, Loaded(f"d.reason_code = '{DeliveryCode.QUIET_HOURS}' OR n.nag_of IS NOT NULL")]

    def daily_rates(self) -> list[Rate]:
        """Tests are counted where they are asked for. A status webhook gets as much as there are changes."""
        if self.is_test or self.handler == STATUS or settings.SENDS_PER_PERSON_PER_DAY <= 0:
            return []
        return [Rate("person", settings.SENDS_PER_PERSON_PER_DAY, limits.DAY, "person")]

    def destination(self) -> Destination:
        """Raises `encryption.Unreadable` when the key is not there."""
        return Destination(self.address, encryption.unseal_secrets(self.sealed_secrets, self.channel_id))


# Seconds between two tries to read secrets whose key is missing, and how many there are: a week for the operator.
_LONGEST_WAIT, _MOST_WAITS = 3_600.0, 174


class DeliveryKind(Kind[DeliveryClaim]):
    task = DELIVER
    queue = "deliveries"
    model, attempts = Delivery, Attempt
    handler = "provider"
    person = "(SELECT user_id FROM notifications_notification WHERE id = d.notification_id)"
    on_unknown = "(SELECT on_unknown FROM notifications_channel WHERE id = d.channel_id)"
    # Of a queue, which its owner sets; none once it is removed, because nobody can pull it any more.
    most_tries = """CASE WHEN d.provider = 'queue' THEN (
            SELECT CASE WHEN removed_at IS NOT NULL THEN 0
                        WHEN jsonb_typeof(address->'tries') = 'number'
                        THEN greatest(0, least((address->'tries')::numeric, 100))::int END
              FROM notifications_channel WHERE id = d.channel_id) END"""
    # of its schedule, where one has caused it
    caused_by = "coalesce(CASE WHEN n.origin = 'schedule' THEN n.origin_id::text END, '')"
    chain = correlation.sql("n", "n.batch_id")
    rescues = f"{fallback.WAITING} UNION ALL {nag.WAITING} UNION ALL {quiet_changes.WAITING}"
    claim = DeliveryClaim
    columns = {
        **_MESSAGE,
        **{name: f"n.{name}" for name in ("body", "data", "origin")},
        **{name: f"c.{name}" for name in ("disabled_code", "disabled_params")},
        **{name: f"p.{name}" for name in ("name", "email", "is_active")},
        "notification_id": "n.id",
        "nonce": "CASE WHEN n.origin = 'code' THEN (SELECT nonce FROM people_code WHERE subject = c.id) END",
        "subscription_id": "CASE WHEN n.origin = 'topic' THEN n.origin_id END",
        "withdrawn": f"""CASE WHEN n.acknowledged_at IS NULL THEN CASE WHEN d.replays = 0 THEN n.withdrawn ELSE '' END
            WHEN n.snoozed_until IS NULL THEN '{DeliveryCode.ACKNOWLEDGED}' ELSE '{DeliveryCode.SNOOZED}' END""",
        "channel_state": STATE_SQL,
        "quiet": f"""CASE WHEN n.origin IN ('schedule', 'api', 'event', 'topic', 'announcement', 'team')
            AND NOT n.urgent THEN {quiet.columns("p")} END""",
    }
    joins = """
  JOIN notifications_notification n ON n.id = d.notification_id
  JOIN notifications_channel c ON c.id = d.channel_id
  JOIN people_user p ON p.id = n.user_id"""
    follow, follow_rows, follow_locks = channel_health.WRITE, channel_health.ROWS, ("channel",)

    def from_row(self, row: Any) -> dict[str, Any]:
        is_own_replay = _is_own_replay(row)
        return {
            "message": Message(
                key=row.id,
                body=_body(row),
                recipient=display_name(row.name, row.email),
                unsubscribe_url=_unsubscribe_url(row),
                answer_url=ANSWER.address(row.notification_id) if row.origin in Notification.ANSWERABLE else "",
                open_url=_open_url(row),
                correlation_id=row.chain,
                code="" if row.nonce is None else codes.reveal(codes.MARK, row.channel_id, row.nonce),
                data=None if row.data is None else json.loads(row.data),
                may_have_marks=row.origin in Notification.MARKED,
                left=row.left,
                **{name: getattr(row, name) for name in _MESSAGE},
            ),
            "unusable": _unusable(row),
            "quiet": None if is_own_replay else quiet.read(row.quiet),
            "withdrawn": _withdrawn(row, is_own_replay),
        }

    def prepare(self, claim: DeliveryClaim) -> Defer | Cancel | Answer | Callable[[], Answer]:
        if claim.withdrawn:
            return Cancel(claim.withdrawn)
        if claim.unusable:
            return NotStarted(claim.unusable)
        if silence := _silence(claim):
            return silence
        if inside := _INSIDE.get(claim.handler):
            return inside(claim)
        try:
            provider, destination = providers.get(claim.handler), claim.destination()
        except providers.UnknownProvider:
            return NotStarted(Reason(DeliveryCode.NO_PROVIDER, kind=claim.handler))
        except encryption.Unreadable as error:
            return _until_readable(claim, error)
        # Last: whoever may go out now holds a slot of its host until it has been sent.
        if (turn := limits.limited(claim)) is None:
            return partial(limits.send, claim, provider, destination)
        if turn[1].code == DeliveryCode.HOST_RESTS and (given_up := _give_up(claim, *turn, limits.LONGEST_REST)):
            return Rejected(given_up)  # a host that rests uses up no tries
        return Defer(*turn)

    def keeps_receipt(self, receipt: Reason) -> bool:
        """Of emails that were only saved, so that pages can say it."""
        return receipt.code == DeliveryCode.SAVED

    def policy(self, handler: str) -> Policy:
        provider = providers.find(handler)
        return Policy(tries=1) if provider is None else provider.retry_policy

    def may_repeat(self, handler: str, on_unknown: str) -> bool:
        """A channel's own choice comes before its provider's rule."""
        if on_unknown:
            return on_unknown == Channel.OnUnknown.RETRY
        provider = providers.find(handler)
        return provider is not None and provider.recognises_repeats

    def lost(self, handler: str) -> Reason:
        return Reason(DeliveryCode.NOT_ACKED) if handler in providers.pulled() else super().lost(handler)

    def next_try(self, claim: DeliveryClaim, wait: float, reason: Reason) -> Defer | Rejected:
        later = _until_quiet_hours_end(claim, wait)
        following = Defer(wait, reason) if later is None else Defer(later.wait, reason.then(later.reason))
        given_up = _give_up(claim, following.wait, reason, None)
        return following if given_up is None else Rejected(given_up)

    def follow_row(self, claim: DeliveryClaim, answer: Answer, state: str) -> channel_health.Outcome | None:
        return channel_health.outcome(claim.id, claim.link_id, claim.failing, answer, state)

    def after(self, claim: DeliveryClaim, answer: Answer) -> None:
        if not isinstance(answer, Delivered):
            fallback.advance()
        elif answer.moved_to:
            channel_health.update_address(claim.channel_id, claim.address, answer.moved_to)
        elif answer.code and claim.message.code:
            confirmation.confirm_answered(claim.link_id, answer.code, claim.claimed_at)

    def pulled_again(self, ids: Collection[UUID]) -> None:
        """Wake who waits for them. Nobody can pull those of a queue that was removed: they are cancelled."""
        rows = list(Delivery.objects.filter(id__in=ids).values_list("id", "channel_id", "channel__removed_at"))
        fallback.cancel_removed([key for key, _, removed in rows if removed])
        wake_pullers_after_commit({channel_id for _, channel_id, _ in rows})

    def rescue(self) -> int:
        return fallback.advance() + nag.advance() + quiet_changes.go_on()


DELIVERY = DeliveryKind()


def _give_up(claim: DeliveryClaim, wait: float, why: Reason, longest: int | None) -> Reason | None:
    """Why not to try again in `wait` seconds: it is later after the first try than its channel wants, or `longest`."""
    after = claim.give_up_after or longest
    if after is None or claim.trying_for + wait <= after:
        return None
    return Reason(DeliveryCode.GIVEN_UP, seconds=after, why=why)


def _until_quiet_hours_end(claim: DeliveryClaim, wait: float) -> Defer | None:
    """Until the quiet hours end that a try in `wait` seconds falls into; None where it may disturb."""
    if not providers.disturbs(claim.handler):
        return None
    if (pause := quiet.wait(claim.claimed_at + timedelta(seconds=wait), claim.quiet)) is None:
        return None
    return Defer((pause.until - claim.claimed_at).total_seconds(), Reason(DeliveryCode.QUIET_HOURS, until=pause.stored))


def _until_readable(claim: DeliveryClaim, error: encryption.Unreadable) -> Defer | NotStarted:
    """An operator may restore a key that is missing."""
    if isinstance(error, encryption.MissingKey) and claim.released < _MOST_WAITS:
        return Defer(min(60.0 * 2**claim.released, _LONGEST_WAIT), Reason(DeliveryCode.UNREADABLE))
    return NotStarted(Reason(DeliveryCode.UNREADABLE))


# By its provider, what calls no service.
_INSIDE: dict[str, Callable[[DeliveryClaim], Answer | Cancel | Defer]] = {
    Team.kind: lambda claim: persist(partial(members.to_all, claim.id, claim.person_id, claim.claimed_at)),
    Board.kind: lambda claim: Delivered(before=partial(boards.deliver, claim.channel_id, claim.message)),
    OnCall.kind: lambda claim: persist(partial(members.ask, claim.id, claim.claimed_at)),
}


def _silence(claim: DeliveryClaim) -> Defer | Cancel | None:
    """None where it may go out now: neither quiet hours nor a holiday keep it silent."""
    later, message = _until_quiet_hours_end(claim, 0.0), claim.message
    if (later or claim.was_delayed) and message.schedule_id is not None and message.slot is not None:
        rings = claim.claimed_at + timedelta(seconds=0.0 if later is None else later.wait)
        instants = (message.slot, rings)
        if any(withdraws(message.schedule_id, one) for withdraws in quiet_changes.WITHDRAWS for one in instants):
            return Cancel(Reason(DeliveryCode.HOLIDAY))
    return later


def _is_own_replay(row: Any) -> bool:
    """Whether its person, or a member of its team, replayed it: that skips quiet hours, an operator's does not."""
    if row.replays == 0:
        return False
    by = persist(Intervention.objects.filter(items__work_id=row.id).values_list("by_id", flat=True).first)
    return by == row.person_id or persist(Membership.objects.filter(team=row.person_id, person=by).exists)


def _withdrawn(row: Any, is_own_replay: bool) -> Reason | None:
    if not row.is_active:
        return Reason(DeliveryCode.SWITCHED_OFF)
    return Reason(row.withdrawn) if row.withdrawn and not is_own_replay else None


def _unusable(row: Any) -> Reason | None:
    match row.channel_state:
        case DeliveryCode.DISABLED:
            return Reason(DeliveryCode.DISABLED, why=Reason.read(row.disabled_code, row.disabled_params))
        case DeliveryCode.REMOVED:
            return Reason(DeliveryCode.REMOVED)
        case DeliveryCode.UNVERIFIED if not row.is_test:
            return Reason(DeliveryCode.UNVERIFIED)
    return None if isinstance(json.loads(row.address), dict) else Reason(DeliveryCode.DAMAGED, part="address")


def _body(row: Any) -> str:
    """The text, with the code that verifies a channel (which no table holds) and an unsubscribe link."""
    body: str = row.body
    if row.nonce is None:
        return body
    revealed = codes.reveal(body, row.channel_id, row.nonce)
    with languages.override(row.language):
        stop = _("Not yours? Stop it: %(url)s") % {"url": UNSUBSCRIBE.address(row.link_id)}
    return f"{revealed}\n\n{stop}"


def _open_url(row: Any) -> str:
    """The notification's page. None for a code, whose reader may be a stranger, or for a program."""
    if row.origin in (Notification.Origin.CODE, Notification.Origin.STATUS):
        return ""
    return f"{settings.BASE_URL}{reverse('notifications:notification', args=[row.notification_id])}"


def _unsubscribe_url(row: Any) -> str:
    if row.subscription_id is not None:
        return LEAVE.address(row.subscription_id)
    if row.origin == Notification.Origin.ANNOUNCEMENT:
        return STOP.address(row.notification_id)
    provider = providers.find(row.handler)
    return UNSUBSCRIBE.address(row.link_id) if provider and provider.unsubscribes else ""
