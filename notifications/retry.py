"""How long to wait before the next try. Pure: no clock, no random source, no settings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_RETRY_AFTER = 24 * 3600.0
SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class Policy:
    """How often a delivery is tried.

    `tries` counts the first one. `waits` holds seconds, `waits[0]` before the second try; empty means the
    wait that Celery's autoretry chose (exponential, with full jitter). Waits beyond the list repeat its last.
    """

    tries: int
    waits: tuple[float, ...] = ()


QUICK = Policy(tries=5)
"""For a mail or a chat message, which soon stops being news."""

PATIENT = Policy(tries=7, waits=(5, 300, 1800, 7200, 18000, 36000))
"""For a machine that may be down for the night: the waits sum to nearly 18 hours."""


def next_wait(policy: Policy, tries_made: int, chosen: float, retry_after: float | None, jitter: float) -> float | None:
    """Return the seconds to wait before the next try, or None when the tries are used up.

    `chosen` is Celery's countdown, used where the policy names no waits; it may be 0, since full jitter may
    be. `jitter` is a random number in [0, 1): it moves a policy's wait by up to ten per cent either way, so
    that deliveries which failed together do not return together.

    `retry_after` is the service's own wish. It is cut to [0, 24 h], so that no service can park a delivery
    for ever, and it only ever lengthens the wait: a service that says "0" must not turn five minutes into a
    hot loop. Jitter moves it later, never earlier, because earlier is what the service asked us not to be.
    """
    if tries_made >= policy.tries:
        return None
    wait = max(0.0, chosen)
    if policy.waits:
        position = min(max(tries_made - 1, 0), len(policy.waits) - 1)
        wait = policy.waits[position] * (1 - SPREAD + 2 * SPREAD * jitter)
    if retry_after is not None:
        wish = max(0.0, retry_after) * (1 + SPREAD * jitter)
        wait = max(wait, min(wish, LONGEST_RETRY_AFTER))
    return wait


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for, None when there is none or it makes no sense.

    `value` is a number of seconds or an HTTP date (RFC 9110, 10.2.3); a fraction of a second is accepted too,
    since services send it. A date before `now` (aware) is 0. The result is not cut: `next_wait` does that.
    """
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)  # RFC 5322 says so of "-0000", and an HTTP date is always GMT
    return max(0.0, (date - now).total_seconds())
