"""Send one delivery: claim it, call its provider outside of any transaction, decide, settle under the lease's token."""

from __future__ import annotations

import logging
import random
from contextlib import suppress
from uuid import UUID

from django.db import transaction

from common import encryption, fault_points
from common.postgres import is_outage
from notifications import deliveries, providers
from notifications.channels import changes
from notifications.deliveries import Claim, fallback, limits, outbox, wakes
from notifications.deliveries.decision import NotAsked, OurFault, decide, give_up, until_quiet_hours_end
from notifications.message import Answer, Delivered, Rejected
from notifications.reasons import Code, Reason

log = logging.getLogger(__name__)


class SendAgain(Exception):
    """The delivery is settled for another try, in `wait` seconds. Celery's autoretry catches it and publishes."""

    def __init__(self, reason: Reason, wait: float) -> None:
        super().__init__(str(reason))
        self.wait = wait


def send(delivery_id: UUID, worker: str) -> None:
    """Try once. Does nothing when the delivery is not due, not pending, or in another worker's hands.

    Raises `SendAgain` where another try follows.
    """
    claim = deliveries.claim(delivery_id, worker)
    if claim is None:
        wait = deliveries.seconds_until_available(delivery_id)
        if wait:  # the message came before its time: clocks differ, or the row waits since
            outbox.publish([outbox.Wake(delivery_id, wait)])
        return
    if claim.withdrawn:
        _withdraw(claim, claim.withdrawn)
        return
    try:
        later = until_quiet_hours_end(claim) or limits.limited(claim)
    except Exception as error:
        if is_outage(error):
            raise
        finish(claim, _damaged(claim, error))
        return
    if later is not None:
        _defer_or_give_up(claim, *later)
        return
    finish(claim, limits.ask(claim, ask_provider))


def ask_provider(claim: Claim) -> Answer:
    """The provider's answer; a provider that raises is a bug, whose outcome is unknown.

    A worker that must stop now (SystemExit) first gives back its claim.
    """
    if claim.unusable:
        return NotAsked(claim.unusable)
    asked = False
    try:
        provider = providers.get(claim.provider)
        destination = claim.destination()
        fault_points.reach("sending")
        asked = True
        answer = provider.send(claim.message, destination)
        fault_points.reach("sent")
        return answer
    except providers.UnknownProvider:
        return NotAsked(Reason(Code.NO_PROVIDER, kind=claim.provider))
    except encryption.Unreadable:
        return NotAsked(Reason(Code.UNREADABLE))
    except Exception as error:
        if not asked and is_outage(error):
            _let_go(claim, asked)
            raise
        if not asked:
            return _damaged(claim, error)
        # The text of a foreign exception may hold a secret (a URL, a header): only its type is kept.
        name = type(error).__name__
        log.error("Provider %s raised %s for delivery %s", claim.provider, name, claim.delivery_id)
        return OurFault(Reason(Code.FAULT, kind=claim.provider, error=name))
    except (SystemExit, KeyboardInterrupt):
        _let_go(claim, asked)
        raise


def finish(claim: Claim, answer: Answer, jitter: float | None = None) -> None:
    """Decide what follows the answer and settle the delivery. Raises `SendAgain` where another try follows.

    `jitter` is a number in [0, 1), random where None.
    """
    decision = decide(claim, answer, random.random() if jitter is None else jitter)  # noqa: S311
    if not deliveries.settle(claim, decision):
        log.warning(
            "Delivery %s was taken over while it was being sent; this result is not recorded", claim.delivery_id
        )
    elif decision.wait is not None:
        raise SendAgain(decision.reason, decision.wait)
    if not isinstance(answer, Delivered):
        fallback.advance()
    elif answer.moved_to:
        changes.update_address(claim.channel_id, claim.address, answer.moved_to)


def _let_go(claim: Claim, asked: bool) -> None:
    if not asked:
        deliveries.release(claim.delivery_id, claim.token, Reason(Code.RELEASED))
        return
    with suppress(SendAgain):
        finish(claim, OurFault(Reason(Code.STOPPED)), jitter=0.0)


def _damaged(claim: Claim, error: Exception) -> NotAsked:
    log.error("Delivery %s cannot be read: %s", claim.delivery_id, type(error).__name__)
    return NotAsked(deliveries.unreadable(error))


def _defer_or_give_up(claim: Claim, wait: float, reason: Reason) -> None:
    """A host that rests uses up no tries, so time bounds how long a delivery waits for it."""
    after = claim.give_up_after or limits.LONGEST_REST
    if reason.code == Code.HOST_RESTS and (given_up := give_up(claim, wait, reason, after)):
        finish(claim, Rejected(given_up))
    else:
        _defer(claim, wait, reason)


def _defer(claim: Claim, wait: float, reason: Reason) -> None:
    """Give it back until its time comes."""
    fault_points.reach("deferring")
    if deliveries.defer(claim, wait, reason) and wakes.is_published(wait):
        outbox.publish([outbox.Wake(claim.delivery_id, wait, claim.person_id)])


def _withdraw(claim: Claim, reason: Reason) -> None:
    """Cancel it: its person has answered or stopped its reminder, or their account is switched off."""
    with transaction.atomic():
        if deliveries.release(claim.delivery_id, claim.token, reason):
            deliveries.cancel([claim.delivery_id], reason)
