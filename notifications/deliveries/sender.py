"""Send one delivery: claim it, let its provider speak outside of any transaction, settle it under the lease's token."""

from __future__ import annotations

import logging
import random
from datetime import timedelta
from typing import assert_never
from uuid import UUID

from django.db import transaction

from common import encryption, fault_points
from common.postgres import is_outage, lend_connection
from notifications import deliveries, providers, retry
from notifications.causes import Code
from notifications.channels import changes
from notifications.deliveries import Claim, fallback, limits, outbox
from notifications.deliveries.limits import Limited
from notifications.message import Ambiguous, Answer, Delivered, Rejected, Retryable
from notifications.models import Attempt, Channel
from people import quiet

log = logging.getLogger(__name__)


class SendAgain(Exception):
    """The claim was not delivered, and its provider's rules allow another try. Celery's autoretry catches it."""

    def __init__(self, claim: Claim, answer: Retryable | Ambiguous) -> None:
        super().__init__(answer.reason)
        self.claim = claim
        self.answer = answer


class NotAsked(Rejected):
    """It cannot be sent as things stand here; its service was not asked, and its channel may be as good as ever."""


class OurFault(Ambiguous):
    """It broke off here (a bug, a worker told to stop): nobody knows what became of it, and its channel may be fine."""


def send(delivery_id: UUID, worker: str) -> None:
    """Try once. Does nothing when the delivery is not due, not pending, or in another worker's hands.

    Raises `SendAgain` with the lease still held; the caller settles it with `put_off`.
    """
    claim = deliveries.claim(delivery_id, worker)
    if claim is None:
        wait = deliveries.seconds_until_available(delivery_id)
        if wait:  # the message came before its time: clocks differ, or the row was put off since
            outbox.publish([outbox.Wake(delivery_id, wait)])
        return
    if claim.withdrawn:
        _withdraw(claim)
        return
    try:
        held_back = _held_back(claim)
    except Exception as error:
        if is_outage(error):
            raise
        settle(claim, _damaged(claim, error))
        return
    if held_back is not None:
        _defer(claim, held_back.wait, held_back.note)
        return
    lend_connection()
    settle(claim, ask_provider(claim))


def ask_provider(claim: Claim) -> Answer:
    """What the provider says; a provider that raises is a bug, whose outcome is unknown.

    A worker that is told to stop now (SystemExit) first gives back what it holds.
    """
    if claim.unusable:
        return NotAsked(claim.unusable, code=claim.unusable_code)
    asked = False
    try:
        provider = providers.get(claim.provider)
        destination = claim.destination()
        fault_points.reach("sending")
        asked = True
        answer = provider.send(claim.message, destination)
        fault_points.reach("sent")
        return answer
    except providers.UnknownProvider as error:
        return NotAsked(str(error), code=Code.NO_PROVIDER)
    except encryption.Unreadable as error:
        return NotAsked(str(error), code=Code.UNREADABLE)
    except Exception as error:
        if not asked and is_outage(error):
            _let_go(claim, asked)
            raise
        if not asked:
            return _damaged(claim, error)
        # The text of a foreign exception may hold a secret (a URL, a header): only its type is kept.
        log.error("Provider %s raised %s for delivery %s", claim.provider, type(error).__name__, claim.delivery_id)
        return OurFault(
            f"Carillon itself failed while it was sending ({claim.provider}: {type(error).__name__})."
            " The channel is not to blame.",
            f"{Code.FAULT}-{type(error).__name__}",
        )
    except (SystemExit, KeyboardInterrupt):
        _let_go(claim, asked)
        raise


def _let_go(claim: Claim, asked: bool) -> None:
    if not asked:
        deliveries.release(claim.delivery_id, claim.token, "The worker was stopped before it had sent anything.")
        return
    try:
        settle(claim, OurFault("The worker was stopped while it was sending.", Code.STOPPED))
    except SendAgain as again:
        put_off(again, chosen=0.0)


def settle(claim: Claim, answer: Answer) -> None:
    """Write what the answer means; for another try, raise `SendAgain` instead."""
    match answer:
        case Delivered(receipt, moved_to):
            settled = deliveries.deliver(claim, receipt)
            if moved_to:
                changes.update_address(claim.channel_id, claim.address, moved_to)
        case Rejected(reason, gone, code):
            settled = deliveries.reject(claim, reason, gone, _tells(answer), code)
        case Ambiguous(reason, code) if not _may_repeat(claim):
            settled = deliveries.hold(claim, reason, _tells(answer), code)
        case Ambiguous() | Retryable():
            raise SendAgain(claim, answer)
        case _:
            assert_never(answer)
    if not settled:
        log.warning(
            "Delivery %s was taken over while it was being sent; this result is not recorded",
            claim.delivery_id,
        )
    if not isinstance(answer, Delivered):
        fallback.advance()


def _tells(answer: Answer) -> bool:
    """Whether the answer says something about the channel: it came of asking its service."""
    return not isinstance(answer, NotAsked | OurFault)


def _damaged(claim: Claim, error: Exception) -> NotAsked:
    log.error("Delivery %s cannot be read: %s", claim.delivery_id, type(error).__name__)
    return NotAsked(deliveries.unreadable(error))


def _held_back(claim: Claim) -> Limited | None:
    """What keeps it from going out now: quiet hours, a rate limit; None: nothing."""
    if (quiet_hours := _quiet_hours(claim)) is not None:
        return Limited((quiet_hours.until - claim.claimed_at).total_seconds(), quiet_hours.note)
    return limits.limited(claim)


def _quiet_hours(claim: Claim, wait: float = 0.0) -> quiet.Wait | None:
    """The quiet hours that a try `wait` seconds from now would fall into; None where it may disturb, or cannot."""
    if claim.unusable or not providers.disturbs(claim.provider):
        return None
    return quiet.wait(claim.claimed_at + timedelta(seconds=wait), claim.quiet)


def _defer(claim: Claim, wait: float, note: str) -> None:
    """Give it back until its time comes: a near one is published with a countdown, rescue publishes the others."""
    near = wait <= outbox.EARLY
    fault_points.reach("deferring")
    deferred = deliveries.defer(claim, wait, wait + (outbox.CLAIM_WITHIN if near else -outbox.EARLY), note)
    if near and deferred:
        outbox.publish([outbox.Wake(claim.delivery_id, wait, claim.person_id)])


def _withdraw(claim: Claim) -> None:
    """Cancel it: its person has answered or stopped its reminder, or is nobody here any more."""
    with transaction.atomic():
        if deliveries.release(claim.delivery_id, claim.token, claim.withdrawn):
            deliveries.cancel([claim.delivery_id], claim.withdrawn)


def _may_repeat(claim: Claim) -> bool:
    if claim.on_unknown:
        return claim.on_unknown == Channel.OnUnknown.RETRY
    return providers.get(claim.provider).recognises_repeats


def put_off(again: SendAgain, chosen: float) -> float | None:
    """Settle for another try in the row, before any message is published. `chosen` is Celery's countdown, in seconds.

    Returns the wait in seconds, None when no message is to be published: the tries are used up, another worker has
    taken over, or the wait is so long that it stays in the table and rescue publishes it when it is due.
    """
    claim, answer = again.claim, again.answer
    retry_after = answer.retry_after if isinstance(answer, Retryable) else None
    outcome = Attempt.Outcome.RETRYABLE if isinstance(answer, Retryable) else Attempt.Outcome.AMBIGUOUS
    jitter = random.random()  # noqa: S311 - spreads retries, guards nothing
    wait = retry.next_wait(providers.get(claim.provider).policy, claim.tries, chosen, retry_after, jitter)
    if wait is None:
        deliveries.exhaust(claim, outcome, answer.reason, _tells(answer), answer.code)
        fallback.advance()
        return None
    note = ""
    if (quiet_hours := _quiet_hours(claim, wait)) is not None:
        wait, note = (quiet_hours.until - claim.claimed_at).total_seconds(), quiet_hours.note
    published = wait <= outbox.LONGEST_COUNTDOWN
    wake_after = outbox.CLAIM_WITHIN if published else -outbox.EARLY
    settled = deliveries.postpone(claim, outcome, answer.reason, wait, wake_after, note, tells=_tells(answer))
    return wait if settled and published else None
