"""Whose turn it is where only so many may pass: moving windows in Redis, and places in line for who comes too soon.

One script a question, whatever is counted, so that it costs one round trip, and what may not pass takes nothing from
anybody. Redis' clock decides, not the worker's. All that it keeps expires by itself; losing it costs spacing only.

A window holds the instants of the last sends. Who finds it full gets the next free place of a line, and comes again
then; who came later finds the line and gets a place behind. A line is one person's, for nobody is to stand behind
another's thousands. Coming back to a window that is full all the same (workers were late, or another person was there)
gives a place in a second line, which goes before the first one.

Lines hold places, not deliveries: what is cancelled leaves its place empty. A line to which nobody comes back any more
is forgotten, so that nobody stands behind thousands that are no longer there; nor does who could not use a place take
one.
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
# A line is forgotten when so many places of it, and so many seconds, have passed without anybody.
_EMPTY_PLACES = 3
_UNHEARD = 20.0  # seconds; rescue publishes within that what nobody has claimed
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


# KEYS, two for each window: its instants, newest first; this person's lines in it, by number the instant of the next
# place of each, and `heard`: when somebody last came back to one, or the first will.
# ARGV: how often this one has waited; the seconds within which it must go out, -1 for any; then for each window its
# amount, its seconds, the seconds between places, and those after which an unheard line is forgotten.
_TAKE = """
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local waited, left = tonumber(ARGV[1]), tonumber(ARGV[2])
local own = math.min(waited + 1, 2)
local free, place, fresh, full, held, latest = {}, {}, {}, false, 0, now
for i = 1, #KEYS / 2 do
    local line, seconds, unheard = KEYS[2 * i], tonumber(ARGV[4 * i]), tonumber(ARGV[4 * i + 2])
    local last = redis.call('LINDEX', KEYS[2 * i - 1], tonumber(ARGV[4 * i - 1]) - 1)
    local kept = redis.call('HMGET', line, '1', '2', 'heard')
    if kept[3] and tonumber(kept[3]) + unheard < now then
        redis.call('DEL', line)
        kept = {}
    elseif kept[3] and waited > 0 then
        redis.call('HSET', line, 'heard', string.format('%.6f', math.max(now, tonumber(kept[3]))))
    end
    free[i] = last and tonumber(last) + seconds or 0
    fresh[i] = free[i] > math.max(tonumber(kept[1] or 0), tonumber(kept[2] or 0)) and free[i]
    for before = waited + 1, 2 do
        free[i] = math.max(free[i], tonumber(kept[before] or 0))
    end
    full = full or free[i] > now
    place[i] = math.max(free[i], tonumber(kept[own] or 0))
    if free[i] > now and place[i] > latest then
        held, latest = i, place[i]
    end
end
for i = 1, #KEYS / 2 do
    local line, seconds, apart = KEYS[2 * i], tonumber(ARGV[4 * i]), tonumber(ARGV[4 * i + 1])
    if not full then
        redis.call('LPUSH', KEYS[2 * i - 1], string.format('%.6f', now))
        redis.call('LTRIM', KEYS[2 * i - 1], 0, tonumber(ARGV[4 * i - 1]) - 1)
        redis.call('PEXPIRE', KEYS[2 * i - 1], math.ceil(seconds * 1000))
    elseif free[i] > now and (left < 0 or latest - now <= left) then
        redis.call('HSET', line, own, string.format('%.6f', place[i] + apart))
        if fresh[i] then
            redis.call('HSET', line, 'heard', string.format('%.6f', fresh[i]))
        end
        local life = math.ceil((place[i] + apart + tonumber(ARGV[4 * i + 2]) - now) * 1000)
        redis.call('PEXPIRE', line, math.max(life, redis.call('PTTL', line)))
    end
end
return {held, string.format('%.6f', latest - now)}
"""


class _Away:
    """When Redis may be asked again, on the monotonic clock; said in the log once, until it is back."""

    until = 0.0


def take(windows: Sequence[Window], whose: str, waited: int, left: float | None = None) -> Place | None:
    """None: it may pass now, and has been counted in every one of these windows. Else its place, counted in none.

    `whose` names the person in whose lines it waits; `waited` is how often it was given a place before. `left` are the
    seconds within which it must go out, None where it may wait for ever: a place beyond them is told and left to
    others. While Redis is away everything passes: the services have limits of their own.
    """
    if time.monotonic() < _Away.until:
        return None
    prefix = f"{settings.CACHES['default']['KEY_PREFIX']}:places"
    keys: list[str] = []
    arguments: list[float] = [waited, -1 if left is None else max(0.0, left)]
    for window in windows:
        key, seconds = f"{prefix}:{window.key}", window.seconds + _MARGIN
        apart = seconds / window.amount * _SLACK
        keys += [key, f"{key}:{whose}"]
        arguments += [window.amount, seconds, apart, _EMPTY_PLACES * apart + _UNHEARD]
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
