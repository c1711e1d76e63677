"""The wait before the next try. No clock, no settings; only `wait_when_busy` draws a random number."""

import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_RETRY_AFTER = 24 * 3600.0
JITTER = 0.1
BACKOFF = 60.0
MAX_BACKOFF = 480.0


@dataclass(frozen=True, slots=True)
class Policy:
    """The retry policy of a delivery.

    `tries` includes the first. `waits` holds seconds, `waits[0]` before the second try; later tries repeat the last
    entry. Empty: exponential backoff with full jitter, by Celery's formula.
    """

    tries: int
    waits: tuple[float, ...] = ()


QUICK = Policy(tries=5)
"""For mails and chat messages, which are soon out of date."""

SLOW = Policy(tries=7, waits=(5, 300, 1800, 7200, 18000, 36000))
"""For a receiver that may be down overnight: nearly 18 hours in all."""

INSIDE = Policy(tries=7, waits=(30, 60, 120, 240, 480, 600))
"""For work that asks no external service."""


def next_wait(policy: Policy, tries_made: int, retry_after: float | None, jitter: float) -> float | None:
    """Return the seconds to wait before the next try; None if no try is left.

    `jitter` is a random number in [0, 1). It changes a policy's wait by up to ten per cent and a backoff by all of it,
    so that deliveries that failed together do not all return together.

    `retry_after` is the service's request, in seconds. It only lengthens the wait, so that "0" does not cause a tight
    loop, and at most to a day. Jitter only adds to it, because the service asked for no earlier try.
    """
    if tries_made >= policy.tries:
        return None
    if policy.waits:
        wait = policy.waits[min(tries_made, len(policy.waits)) - 1] * (1 - JITTER + 2 * JITTER * jitter)
    else:
        wait = min(MAX_BACKOFF, BACKOFF * 2 ** (tries_made - 1)) * jitter
    if retry_after is not None:
        wait = max(wait, min(retry_after * (1 + JITTER * jitter), MAX_RETRY_AFTER))
    return wait


def wait_when_busy(shortest: float, longest: float, released: int) -> float:
    """Return the seconds before work comes again that was released so often: doubled each time, up to `longest`.

    Of that a random half to one and a half, so that many do not meet again.
    """
    return min(shortest * 2 ** min(released, 16), longest) * (0.5 + random.random())  # noqa: S311 - no secret


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for; None if it is missing or invalid.

    `value` is a number of seconds, also with a fraction, or an HTTP date (RFC 9110, 10.2.3). `now` is aware; an earlier
    date is 0.
    """
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,18})?", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)  # "-0000" (RFC 5322); an HTTP date is always GMT
    return max(0.0, (date - now).total_seconds())
