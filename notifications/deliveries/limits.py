"""The rate limits of a delivery: those of its service, and its person's daily limit."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings

from common import civil_time, rate_limiter, zones
from common.rate_limiter import Window
from notifications import providers
from notifications.change_types import STATUS
from notifications.message import Destination
from notifications.providers.base import Provider, Rate
from notifications.reasons import Code
from work.reasons import Reason

if TYPE_CHECKING:
    from notifications.deliveries.kind import Claim

_DAY = 86_400.0
# A shorter wait is over before anybody reads a time.
_WORTH_A_TIME = 60.0  # seconds
_CODES = {
    "service": Code.LIMIT_SERVICE,
    "channel": Code.LIMIT_CHANNEL,
    "host": Code.LIMIT_HOST,
    "person": Code.LIMIT_PERSON,
}


def limited(claim: Claim) -> tuple[float, Reason] | None:
    """None: it may go out now, and has been counted. Else the seconds until its turn and why; nothing was counted.

    Costs one round trip to Redis, and none without a limit: an inbox, an unusable channel.
    """
    if claim.unusable or not providers.disturbs(claim.provider):
        return None
    provider = providers.get(claim.provider)
    rates = {_window(rate, provider, claim): rate for rate in (*provider.rates, *_persons_day(claim))}
    if not rates:
        return None
    place = rate_limiter.take(list(rates), str(claim.person_id), claim.released, claim.left)
    if place is None:
        return None
    rate = rates[place.window]
    given = {"service": provider.label, "amount": rate.amount, "seconds": rate.per_seconds}
    if claim.left is not None and place.wait > claim.left:
        return claim.left, Reason(_CODES[rate.scope], **given, until=None)
    return place.wait, Reason(_CODES[rate.scope], **given, until=_until(place.wait, claim.claimed_at, claim.zone))


def _persons_day(claim: Claim) -> list[Rate]:
    """Tests are counted where they are asked for. A status webhook gets as much as there are changes."""
    if claim.is_test or claim.provider == STATUS or settings.SENDS_PER_PERSON_PER_DAY <= 0:
        return []
    return [Rate("person", settings.SENDS_PER_PERSON_PER_DAY, _DAY, "person")]


def _window(rate: Rate, provider: Provider, claim: Claim) -> Window:
    match rate.scope:
        case "service":
            counted_over = ""
        case "channel":
            counted_over = str(claim.channel_id)
        case "host":
            counted_over = provider.host(Destination(claim.address))
        case "person":
            counted_over = str(claim.person_id)
    return Window(f"{rate.name}:{counted_over}", rate.amount, rate.per_seconds)


def _until(wait: float, now: datetime, zone: str) -> str:
    """The time on the person's clock, with the day if it is another one; empty where it is too near to matter."""
    if wait < _WORTH_A_TIME:
        return ""
    local = zones.read(zone)
    shown = civil_time.local(local, now + timedelta(seconds=wait))
    day = "" if shown.date() == civil_time.local(local, now).date() else f" on {shown.day} {shown:%B}"
    return f"{shown:%H:%M}{day}"
