"""Sliding-window rate limiter in Redis. A request over the limit gets a reserved time, at which it comes again.

One script answers for several windows at once, in one round trip: a request is counted in all of them or in none.
Redis' clock decides. All keys expire; losing them only loses spacing.

A window holds the instants of the last requests. A request to a full window reserves the next free time in the queue of
its person, so that nobody waits behind the thousands of another person. A later request reserves a time behind it. If a
request comes at its reserved time and the window is full again (workers were late, or other people filled it), it
reserves a time in a second queue, which goes first.

A queue holds times, not requests: a cancelled request leaves its time unused. A queue to which nobody comes back is
deleted. A request that cannot wait until its time reserves none.
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

# Services count arrivals, and two sends may take differently long.
_MARGIN = 0.1  # seconds
# Reserved times are further apart than necessary, so that a late request does not delay all behind it.
_SLACK = 1.1
# A queue is deleted after so many unused times and so many seconds without a request.
_UNUSED_TIMES = 3
_IDLE = 20.0  # seconds; rescue wakes within that what was not woken
# After an error of Redis, everything passes for so long.
_PAUSE = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class Window:
    """At most `amount` requests in any `seconds`, counted under `key`."""

    key: str
    amount: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """Come again in `wait` seconds; `window` is full."""

    wait: float
    window: Window


# KEYS, two for each window: a list of its instants, newest first; a hash of this person's queues: under `1` and `2` the
# next free time of each, under `seen` when a request last came back, or the first one will.
# ARGV: how often the request has waited; the seconds within which it must go out, -1 for any; then for each window its
# amount, its seconds, the seconds between reserved times, and the seconds after which an idle queue is deleted.
_SCRIPT = """
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local waited, left = tonumber(ARGV[1]), tonumber(ARGV[2])
local own = math.min(waited + 1, 2)
local free, reserved, fresh, full, fullest, latest = {}, {}, {}, false, 0, now
for i = 1, #KEYS / 2 do
    local queue, seconds, idle = KEYS[2 * i], tonumber(ARGV[4 * i]), tonumber(ARGV[4 * i + 2])
    local last = redis.call('LINDEX', KEYS[2 * i - 1], tonumber(ARGV[4 * i - 1]) - 1)
    local kept = redis.call('HMGET', queue, '1', '2', 'seen')
    if kept[3] and tonumber(kept[3]) + idle < now then
        redis.call('DEL', queue)
        kept = {}
    elseif kept[3] and waited > 0 then
        redis.call('HSET', queue, 'seen', string.format('%.6f', math.max(now, tonumber(kept[3]))))
    end
    free[i] = last and tonumber(last) + seconds or 0
    fresh[i] = free[i] > math.max(tonumber(kept[1] or 0), tonumber(kept[2] or 0)) and free[i]
    for before = waited + 1, 2 do
        free[i] = math.max(free[i], tonumber(kept[before] or 0))
    end
    full = full or free[i] > now
    reserved[i] = math.max(free[i], tonumber(kept[own] or 0))
    if free[i] > now and reserved[i] > latest then
        fullest, latest = i, reserved[i]
    end
end
for i = 1, #KEYS / 2 do
    local queue, seconds, apart = KEYS[2 * i], tonumber(ARGV[4 * i]), tonumber(ARGV[4 * i + 1])
    if not full then
        redis.call('LPUSH', KEYS[2 * i - 1], string.format('%.6f', now))
        redis.call('LTRIM', KEYS[2 * i - 1], 0, tonumber(ARGV[4 * i - 1]) - 1)
        redis.call('PEXPIRE', KEYS[2 * i - 1], math.ceil(seconds * 1000))
    elseif free[i] > now and (left < 0 or latest - now <= left) then
        redis.call('HSET', queue, own, string.format('%.6f', reserved[i] + apart))
        if fresh[i] then
            redis.call('HSET', queue, 'seen', string.format('%.6f', fresh[i]))
        end
        local life = math.ceil((reserved[i] + apart + tonumber(ARGV[4 * i + 2]) - now) * 1000)
        redis.call('PEXPIRE', queue, math.max(life, redis.call('PTTL', queue)))
    end
end
return {fullest, string.format('%.6f', latest - now)}
"""


class _Outage:
    """When Redis is asked again, on the monotonic clock; logged once for each outage."""

    until = 0.0


def take(windows: Sequence[Window], person: str, waited: int, left: float | None = None) -> Reservation | None:
    """Return None if the request may pass; it is counted in every window. Else a reservation; it is counted in none.

    `person` owns the queues. `waited`: how many reservations the request had before. `left`: the seconds within which
    it must go out; a later time is returned but not reserved. While Redis is down everything passes: the services
    have their own limits.
    """
    if time.monotonic() < _Outage.until:
        return None
    prefix = f"{settings.CACHES['default']['KEY_PREFIX']}:rate-limits"
    keys: list[str] = []
    arguments: list[float] = [waited, -1 if left is None else max(0.0, left)]
    for window in windows:
        key, seconds = f"{prefix}:{window.key}", window.seconds + _MARGIN
        apart = seconds / window.amount * _SLACK
        keys += [key, f"{key}:{person}"]
        arguments += [window.amount, seconds, apart, _UNUSED_TIMES * apart + _IDLE]
    try:
        full, wait = _script(settings.CACHES["default"]["LOCATION"])(keys, arguments)
    except RedisError as error:
        if not _Outage.until:
            log.warning("Redis does not answer (%s): rate limits are off until it does", type(error).__name__)
        _Outage.until = time.monotonic() + _PAUSE
        return None
    _Outage.until = 0.0
    return Reservation(float(wait), windows[full - 1]) if full else None


@cache
def _script(url: str) -> Script:
    """With short timeouts: a delivery must not wait for a Redis that is down."""
    client = Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0))
    return client.register_script(_SCRIPT)
