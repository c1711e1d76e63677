"""Which rate limits a delivery keeps: what its service takes, and what its person may be sent a day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings

from common import civil_time, rate_limiter, zones
from common.rate_limiter import Window
from notifications import providers
from notifications.deliveries import Claim
from notifications.message import Destination
from notifications.providers.base import Provider, Rate

_DAY = 86_400.0
# A shorter wait is over before anybody reads until when it lasts.
_WORTH_A_TIME = 60.0  # seconds
_PERIODS = {1.0: "a second", 60.0: "a minute", 3_600.0: "an hour", _DAY: "a day"}


@dataclass(frozen=True, slots=True)
class Limited:
    """How many seconds a delivery waits for its turn, and what the history says of it."""

    wait: float
    note: str


def limited(claim: Claim) -> Limited | None:
    """None: it may go out now, and has been counted. Else its turn is later, and nothing was counted.

    Costs one round trip to Redis, and none where nothing limits it: an inbox, an unusable channel.
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
    said = _said(rates[place.window], provider)
    if claim.left is not None and place.wait > claim.left:
        return Limited(claim.left, f"{said}; before its turn it will be stale.")
    return Limited(place.wait, f"{said}; this one waits{_until(place.wait, claim.claimed_at, claim.zone)}.")


def _persons_day(claim: Claim) -> list[Rate]:
    """Tests are counted where they are asked for."""
    if claim.is_test or settings.SENDS_PER_PERSON_PER_DAY <= 0:
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


def _said(rate: Rate, provider: Provider) -> str:
    messages = f"{rate.amount:,} message{'' if rate.amount == 1 else 's'} {_period(rate.per_seconds)}"
    if rate.scope == "person":
        return f"You may be sent {messages}"
    whither = {"service": "", "channel": " to one channel", "host": " to one host"}[rate.scope]
    return f"{provider.label} takes {messages}{whither}"


def _until(wait: float, now: datetime, zone: str) -> str:
    if wait < _WORTH_A_TIME:
        return ""
    return f" until {_time(now + timedelta(seconds=wait), now, zones.read(zone))}"


def _period(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return _PERIODS.get(seconds) or (f"in {seconds:g} seconds" if rest else f"in {minutes:g} minutes")


def _time(until: datetime, now: datetime, zone: ZoneInfo) -> str:
    shown = civil_time.local(zone, until)
    day = "" if shown.date() == civil_time.local(zone, now).date() else f" on {shown.day} {shown:%B}"
    return f"{shown:%H:%M}{day}"
