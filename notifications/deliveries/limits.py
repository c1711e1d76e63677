"""The limits of a delivery: the rates of its service, its person's daily limit, and the sends in flight for its host.

A host gets a few sends at a time over all workers, and at most half of the threads or processes of one worker. After
five timeouts in a row it rests. So a receiver that hangs does not delay the deliveries to others.
"""

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from celery import signals
from django.conf import settings

from common import zones
from common.database.postgres import lend_connection
from common.redis import rate_limiter
from common.redis.rate_limiter import Ended, Limit, Reservation, Slots, Window
from common.times import civil_time
from notifications import providers
from notifications.deliveries import permits
from notifications.messages.message import Destination, Message
from notifications.net import chain
from notifications.providers.base import Provider, Rate
from notifications.reasons import DeliveryCode
from work import kinds
from work.answers import Answer, Done
from work.engine.claim import LEASE
from work.kinds import FROM_ROW, Loaded
from work.reasons import Reason

DAY = 86_400.0  # seconds
# A shorter wait is over before anybody reads a time.
_WORTH_A_TIME = 60.0  # seconds
_CODES = {
    "service": DeliveryCode.LIMIT_SERVICE,
    "channel": DeliveryCode.LIMIT_CHANNEL,
    "host": DeliveryCode.LIMIT_HOST,
    "person": DeliveryCode.LIMIT_PERSON,
}
# A delivery waits for its host in its thread for at most so long. Longer waits go back to the table.
_SLEEP = 0.25  # seconds
# A delivery waits for a host that rests for at most so long, unless its channel says otherwise.
LONGEST_REST = 86_400  # seconds
# A send ends within its deadline. Its slot is freed after so much more, if its worker died.
_MARGIN = 5.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SendClaim(kinds.Claim):
    """A leased message to one address, of a channel or not. `channel_id`: the id by which its rates are counted.

    `unusable` is why its address must not be used, None when it may be. `zone` (a name, may be empty) is its person's.
    """

    channel_id: UUID
    message: Annotated[Message, FROM_ROW]
    address: Annotated[Mapping[str, Any], FROM_ROW]
    unusable: Annotated[Reason | None, FROM_ROW]
    zone: Annotated[str, Loaded("p.time_zone")]

    def daily_rates(self) -> list[Rate]:
        """Those of its person."""
        raise NotImplementedError


class _Worker:
    """This worker, and how many of its threads or processes one host may hold; no bound outside of a worker."""

    name = ""
    share: int | None = None


@signals.celeryd_after_setup.connect
def _know_worker(instance: Any, **_: Any) -> None:
    """Before the pool is made, so that forked children know it too."""
    _Worker.name, _Worker.share = f"{socket.gethostname()}:{os.getpid()}", max(1, instance.concurrency // 2)


def limited(claim: SendClaim) -> tuple[float, Reason] | None:
    """None: it may go out now, and has been counted. Else the seconds until its turn and why; nothing was counted.

    Costs one round trip to Redis, and none without a limit: an inbox, an unusable channel. May sleep for a moment.
    """
    if not _is_limited(claim):
        return None
    provider = providers.get(claim.handler)
    rates = {_window(rate, provider, claim): rate for rate in (*provider.rates, *claim.daily_rates())}
    slots = _slots(provider, claim)
    permitted, ended = permits.acquire(slots[0].key, slots[0].amount, claim.token, _SLEEP)
    try:
        reservation = _take([*rates, *slots], claim, _SLEEP if permitted else 0.0, ended)
    except BaseException:
        permits.release(slots[0].key, claim.token, None)
        raise
    if reservation is None:
        return None
    permits.release(slots[0].key, claim.token, None)
    return _deferral(reservation, rates, provider, claim)


def _take(limits: list[Limit], claim: SendClaim, patience: float, ended: Ended | None) -> Reservation | None:
    """Ask for its turn again and again, while a slot of its host is expected to be free within `patience` seconds."""
    person, token, until = str(claim.person_id), str(claim.token), time.monotonic() + patience
    while True:
        reservation = rate_limiter.take(limits, person, claim.released, claim.left, token, patience, ended)
        if reservation is None or isinstance(reservation.limit, Window) or reservation.wait >= patience:
            return reservation
        lend_connection()
        time.sleep(reservation.wait)
        patience, ended = until - time.monotonic(), None


def send(claim: SendClaim, provider: Provider, destination: Destination) -> Answer:
    """Send, and free the slots of its host. The answer says whether the host hangs."""
    started, answered = time.monotonic(), None
    try:
        with chain.within(claim.message.correlation_id or str(claim.message.key), claim.message.hops):
            answer = provider.send(claim.message, destination)
        answered = isinstance(answer, Done) or answer.reason.code != DeliveryCode.TIMEOUT
        return answer
    finally:
        if _is_limited(claim):
            slots = _slots(provider, claim)
            ended = Ended(str(claim.token), time.monotonic() - started, answered)
            if not permits.release(slots[0].key, claim.token, ended):
                rate_limiter.end(slots, ended)


def _is_limited(claim: SendClaim) -> bool:
    return not claim.unusable and providers.disturbs(claim.handler)


def _deferral(
    reservation: Reservation, rates: dict[Window, Rate], provider: Provider, claim: SendClaim
) -> tuple[float, Reason]:
    late = claim.left is not None and reservation.wait > claim.left
    wait = claim.left if claim.left is not None and late else reservation.wait
    until = None if late else _until(wait, claim.claimed_at, claim.zone)
    if isinstance(reservation.limit, Window):
        rate = rates[reservation.limit]
        given = {"service": str(provider.label), "amount": rate.amount, "seconds": rate.per_seconds}
        return wait, Reason(_CODES[rate.scope], **given, until=until)
    host = _host(provider, claim) or str(provider.label)
    if reservation.resting:
        return wait, Reason(DeliveryCode.HOST_RESTS, host=host, until=until)
    return wait, Reason(DeliveryCode.HOST_BUSY, host=host, amount=reservation.limit.amount, until=until)


def _slots(provider: Provider, claim: SendClaim) -> list[Slots]:
    """Those of its host, or of its channel where the host is not known, then those of the host in this worker."""
    host = _host(provider, claim)
    most = 1 if provider.one_at_a_time else settings.SENDS_AT_ONCE.get(host, settings.SENDS_AT_ONCE[""])
    lasts, name = min(provider.deadline + _MARGIN, LEASE), host or str(claim.channel_id)
    slots = [Slots(f"sends:{name}", most, lasts, rests=True)]
    if _Worker.share is not None and _Worker.share < most:
        slots.append(Slots(f"sends:{_Worker.name}:{name}", _Worker.share, lasts))
    return slots


def _host(provider: Provider, claim: SendClaim) -> str:
    return provider.host(Destination(claim.address))


def _window(rate: Rate, provider: Provider, claim: SendClaim) -> Window:
    by_scope = {"service": "", "channel": claim.channel_id, "person": claim.person_id}
    counted_over = _host(provider, claim) if rate.scope == "host" else by_scope[rate.scope]
    return Window(f"{rate.name}:{counted_over}", rate.amount, rate.per_seconds)


def _until(wait: float, now: datetime, zone: str) -> str:
    """The time on the person's clock, with the day if it is another one; empty where it is too near to matter."""
    if wait < _WORTH_A_TIME:
        return ""
    local = zones.read(zone)
    shown = civil_time.local(local, now + timedelta(seconds=wait))
    return f"{shown:%H:%M}" if shown.date() == civil_time.local(local, now).date() else f"{shown:%Y-%m-%d %H:%M}"
