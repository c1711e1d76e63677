"""Decide what follows an answer. Pure: `settlement` writes the decision, and the task publishes it."""

from dataclasses import dataclass
from typing import Any

from work.answers import Ambiguous, Answer, Done, Rejected, Retryable
from work.broker import wakes
from work.kinds import C, Kind, Lease
from work.reasons import Reason
from work.retry import next_wait


@dataclass(frozen=True, slots=True)
class Decision:
    """The next state, the attempt's outcome, and why.

    `wait`: seconds until it is available again; None at an end. `wake`: seconds until rescue publishes it, if nobody
    has claimed it. `counted`: whether the try counts.
    """

    state: str
    outcome: str
    reason: Reason
    wait: float | None = None
    wake: float | None = None
    counted: bool = True


def decide(kind: Kind[C], claim: C, answer: Answer, random: float) -> Decision:
    """Return what follows `answer`; `random` is a number in [0, 1) for the jitter of a wait."""
    match answer:
        case Done(receipt):
            return Decision(kind.words.done, kind.words.done, receipt)
        case Rejected(reason):
            return Decision("dead", "rejected", reason)
        case Ambiguous(reason) if not kind.may_repeat(claim.handler, claim.on_unknown):
            return Decision("unknown", "ambiguous", reason)
    outcome, retry_after, reason = "ambiguous", None, answer.reason
    if isinstance(answer, Retryable):
        outcome, retry_after = "retryable", answer.retry_after
    wait = next_wait(kind.policy(claim.handler), claim.tries, retry_after, random)
    if wait is None:
        return Decision("dead", outcome, reason)
    following = kind.next_try(claim, wait, reason)
    if isinstance(following, Rejected):
        return Decision("dead", outcome, following.reason)
    return Decision("pending", outcome, following.reason, following.wait, wakes.wake_in(following.wait))


# Seconds over which work is published whose worker was lost with it a second time. Else a payload that ends its worker
# would take the same others with it at each try, until all of them were dead.
SPREAD = 60.0


def decide_lost(kind: Kind[Any], lease: Lease, most_tries: int | None, random: float) -> Decision:
    """Return what follows a lease that expired: nobody knows how its try ended.

    `most_tries`: None for the policy's. `random` is a number in [0, 1).
    """
    reason = kind.lost(lease.handler)
    if not kind.may_repeat(lease.handler, lease.on_unknown):
        return Decision("unknown", "lost", reason)
    if lease.tries >= (kind.policy(lease.handler).tries if most_tries is None else most_tries):
        return Decision("dead", "lost", reason)
    return Decision("pending", "lost", reason, 0.0, random * SPREAD if lease.tries > 1 else 0.0)


def give_back(reason: Reason, wait: float | None = None) -> Decision:
    """Return the decision that nothing was done: available at once, or published again in `wait` seconds."""
    if wait is None:
        return Decision("pending", "released", reason, 0.0, 0.0, counted=False)
    return Decision("pending", "released", reason, wait, wakes.wake_in(wait), counted=False)
