"""Decide what follows a provider's answer. Pure: `settlement` writes the decision, and the task publishes it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from notifications import providers, retry
from notifications.deliveries.claims import Claim
from notifications.message import Ambiguous, Answer, Delivered, Rejected, Retryable
from notifications.models import Attempt, Channel, Delivery
from notifications.reasons import Code, Reason
from people import quiet

_STATE = Delivery.State
_OUTCOME = Attempt.Outcome


class NotAsked(Rejected):
    """It cannot be sent as things stand here. Its service was not asked, and its channel may be fine."""


class OurFault(Ambiguous):
    """It broke off here (a bug, a worker that must stop): the outcome is unknown, and its channel may be fine."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The delivery's next state, the attempt's outcome, and why.

    `wait`: seconds until the next try; None at an end. `gone`: the address no longer exists. `about_channel`: the
    service was asked, so the answer counts for the channel's health.
    """

    state: Delivery.State
    outcome: Attempt.Outcome
    reason: Reason
    wait: float | None = None
    gone: bool = False
    about_channel: bool = True


def decide(claim: Claim, answer: Answer, random: float) -> Decision:
    """Return what follows `answer`; `random` is a number in [0, 1) for the jitter of a wait."""
    about_channel = not isinstance(answer, NotAsked | OurFault)
    match answer:
        case Delivered(receipt):
            return Decision(_STATE.DELIVERED, _OUTCOME.DELIVERED, receipt)
        case Rejected(reason, gone):
            return Decision(_STATE.DEAD, _OUTCOME.REJECTED, reason, None, gone, about_channel)
        case Ambiguous(reason) if not _may_repeat(claim):
            return Decision(_STATE.UNKNOWN, _OUTCOME.AMBIGUOUS, reason, about_channel=about_channel)
    outcome, retry_after = _OUTCOME.AMBIGUOUS, None
    if isinstance(answer, Retryable):
        outcome, retry_after = _OUTCOME.RETRYABLE, answer.retry_after
    wait = retry.next_wait(providers.get(claim.provider).retry_policy, claim.tries, retry_after, random)
    if wait is None:
        return Decision(_STATE.DEAD, outcome, answer.reason, about_channel=about_channel)
    reason = answer.reason
    if (quiet_hours := until_quiet_hours_end(claim, wait)) is not None:
        wait, reason = quiet_hours[0], reason.then(quiet_hours[1])
    if given_up := give_up(claim, wait, answer.reason, claim.give_up_after):
        return Decision(_STATE.DEAD, outcome, given_up, about_channel=about_channel)
    return Decision(_STATE.PENDING, outcome, reason, wait, about_channel=about_channel)


def give_up(claim: Claim, wait: float, why: Reason, after: int | None) -> Reason | None:
    """The reason not to try again in `wait` seconds, if that is later than `after` seconds since the first try."""
    if after is None or claim.trying_for + wait <= after:
        return None
    return Reason(Code.GIVEN_UP, seconds=after, why=why)


def until_quiet_hours_end(claim: Claim, wait: float = 0.0) -> tuple[float, Reason] | None:
    """The seconds until the quiet hours end that a try in `wait` seconds falls into; None where it may disturb."""
    if claim.unusable or not providers.disturbs(claim.provider):
        return None
    found = quiet.wait(claim.claimed_at + timedelta(seconds=wait), claim.quiet)
    if found is None:
        return None
    return (found.until - claim.claimed_at).total_seconds(), Reason(Code.QUIET_HOURS, until=found.shown)


def _may_repeat(claim: Claim) -> bool:
    if claim.on_unknown:
        return claim.on_unknown == Channel.OnUnknown.RETRY
    return providers.get(claim.provider).recognises_repeats
