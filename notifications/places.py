"""Whose turn it is where only so many may pass: moving windows in Redis, and places in line for who comes too soon.

One script a question, whatever is counted, so that it costs one round trip, and what may not pass takes nothing from
anybody. Redis' clock decides, not the worker's. All that it keeps expires by itself; losing it costs spacing only.

A window holds the instants of the last sends. Who finds it full gets the next free place of a line, and comes again
then; who came later finds the line and gets a place behind. A line is one person's, for nobody is to stand behind
another's thousands. Coming back to a window that is full all the same (workers were late, or another person was there)
gives a place in a second line, which goes before the first one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.exceptions import RedisError
from redis.retry import Retry

log = logging.getLogger(__name__)

# Two sends may take so much longer or shorter to arrive than one another: their service counts arrivals.
_MARGIN = 0.1  # seconds
# Places are further apart than they need be, so that one who comes a little late does not push all behind it.
_SLACK = 1.1
# How long nobody is asked to wait for a Redis that has just not answered.
_PAUSE = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class Window:
    """At most `amount` in any `seconds` pass, counted under `key`."""

    key: str
    amount: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Place:
    """A place in line: `wait` seconds from now, because `window` is full."""

    wait: float
    window: Window


# KEYS, three for each window: its instants, newest first; this person's two lines, each the instant of its next place.
# ARGV: how often this one has waited; then for each window its amount, its seconds, and the seconds between places.
_TAKE = """
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local waited = math.min(tonumber(ARGV[1]), 2)
local line = math.min(waited + 1, 2)
local free, full = {}, false
for i = 1, #KEYS / 3 do
    local last = redis.call('LINDEX', KEYS[3 * i - 2], tonumber(ARGV[3 * i - 1]) - 1)
    free[i] = last and tonumber(last) + tonumber(ARGV[3 * i]) or 0
    for before = waited + 1, 2 do
        free[i] = math.max(free[i], tonumber(redis.call('GET', KEYS[3 * i - 2 + before]) or 0))
    end
    full = full or free[i] > now
end
local held, latest = 0, now
for i = 1, #KEYS / 3 do
    if not full then
        redis.call('LPUSH', KEYS[3 * i - 2], string.format('%.6f', now))
        redis.call('LTRIM', KEYS[3 * i - 2], 0, tonumber(ARGV[3 * i - 1]) - 1)
        redis.call('PEXPIRE', KEYS[3 * i - 2], math.ceil(tonumber(ARGV[3 * i]) * 1000))
    elseif free[i] > now then
        local key = KEYS[3 * i - 2 + line]
        local place = math.max(free[i], tonumber(redis.call('GET', key) or 0))
        local following = place + tonumber(ARGV[3 * i + 1])
        redis.call('SET', key, string.format('%.6f', following), 'PX', math.ceil((following - now) * 1000))
        if place > latest then
            held, latest = i, place
        end
    end
end
return {held, string.format('%.6f', latest - now)}
"""


class _Away:
    """When Redis may be asked again, on the monotonic clock; said in the log once, until it is back."""

    until = 0.0


def take(windows: Sequence[Window], whose: str, waited: int) -> Place | None:
    """None: it may pass now, and has been counted in every one of these windows. Else its place, counted in none.

    `whose` names the person in whose lines it waits; `waited` is how often it was given a place before. While Redis is
    away everything passes: the services have limits of their own.
    """
    if time.monotonic() < _Away.until:
        return None
    prefix = f"{settings.CACHES['default']['KEY_PREFIX']}:places"
    keys: list[str] = []
    arguments: list[float] = [waited]
    for window in windows:
        key, seconds = f"{prefix}:{window.key}", window.seconds + _MARGIN
        keys += [key, f"{key}:{whose}:1", f"{key}:{whose}:2"]
        arguments += [window.amount, seconds, seconds / window.amount * _SLACK]
    try:
        held, wait = _script(settings.CACHES["default"]["LOCATION"])(keys, arguments)
    except RedisError as error:
        if not _Away.until:
            log.warning("Redis does not answer (%s): nothing waits for rate limits until it does", type(error).__name__)
        _Away.until = time.monotonic() + _PAUSE
        return None
    _Away.until = 0.0
    return Place(float(wait), windows[held - 1]) if held else None


@cache
def _script(url: str) -> Script:
    """A delivery must not wait for a Redis that is away."""
    client = Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0))
    return client.register_script(_TAKE)
