"""Rate limiter in Redis: sliding windows, and slots for requests in flight.

One script answers for several limits at once: a request is counted in all of them or in none. One over a limit gets a
reserved time, at which it comes again. "Rate limits" in docs/architecture.md says how the queues of these times work.

Slots measure how long requests take; the reserved times of those that find them full follow from this. A request may
use a free slot before the times that others reserved. After five timeouts in a row, slots rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from common.redis import client
from common.redis.client import Call, Calls

# Services count arrivals, and two sends may take differently long.
_MARGIN = 0.1  # seconds
# Reserved times are further apart than necessary, so that a late request does not delay all behind it.
_SLACK = 1.1
# A queue is deleted after so many unused times and so many seconds without a request.
_UNUSED_TIMES = 3
_IDLE = 20.0  # seconds; rescue wakes within that what was not woken


@dataclass(frozen=True, slots=True)
class Window:
    """At most `amount` requests in any `seconds`, counted under `key`."""

    key: str
    amount: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Slots:
    """At most `amount` requests at the same time, counted under `key`. An unreleased one expires after `seconds`.

    `rests`: after five timeouts in a row nothing passes for a growing time, then one request; see `end`.
    """

    key: str
    amount: int
    seconds: float
    rests: bool = False


Limit = Window | Slots


@dataclass(frozen=True, slots=True)
class Ended:
    """A request that took `seconds`. `answered` is False for a timeout, None if it says nothing about the receiver."""

    token: str
    seconds: float
    answered: bool | None

    @property
    def arguments(self) -> list[float | str]:
        return [self.token, self.seconds, "" if self.answered is None else "answered" if self.answered else "timeout"]


@dataclass(frozen=True, slots=True)
class Reservation:
    """Come again in `wait` seconds: `limit` is full, or it is `resting`."""

    wait: float
    limit: Limit
    resting: bool


# Frees the slot of a request. The hash `state` holds under `took` how long requests take, under `timeouts` how many
# came in a row, under `rests` until when nothing passes.
_END_OF_ONE = """
local function end_of_one(tokens, state, token, took, outcome, rests)
    redis.call('ZREM', tokens, token)
    if outcome == 'answered' then
        local before = tonumber(redis.call('HGET', state, 'took') or took)
        redis.call('HSET', state, 'took', string.format('%.6f', 0.8 * before + 0.2 * took))
        redis.call('HDEL', state, 'timeouts', 'rests')
        redis.call('EXPIRE', state, 86400)
    elseif outcome == 'timeout' and rests == 1 then
        local rested = tonumber(redis.call('HGET', state, 'rests') or 0)
        if now - took >= rested then
            local timeouts = redis.call('HINCRBY', state, 'timeouts', 1)
            if timeouts >= 5 then
                redis.call('HSET', state, 'rests', string.format('%.6f', now + math.min(900, 30 * 2 ^ (timeouts - 5))))
            end
            redis.call('EXPIRE', state, 86400)
        end
    end
end
"""

# KEYS, three for each limit: of a window a list of its instants, newest first, of slots a sorted set of tokens by their
# start; a hash of this person's queues: under `1` and `2` the next free time of each, under `seen` when a request last
# came back, or the first one will; of slots the hash `state`.
# ARGV: how often the request has waited; the seconds within which it must go out, -1 for any; its patience; its token;
# the factor between reserved times; the seconds after which an idle queue is deleted, and the unused times; the token,
# seconds and outcome of a request that has ended in the same slots; then for each limit its amount, its seconds, the
# seconds between reserved times, 0 for slots, and 1 for slots that rest.
_TAKE = """
function verbs.take(KEYS, ARGV)
    local waited, left = tonumber(ARGV[1]), tonumber(ARGV[2])
    local own = math.min(waited + 1, 2)
    local free, reserved, following, idle, fresh, rests = {}, {}, {}, {}, {}, {}
    local full, fullest, latest, soon = false, 0, now, now
    for i = 1, #KEYS / 3 do
        local counter, queue = KEYS[3 * i - 2], KEYS[3 * i - 1]
        local amount, seconds, apart = tonumber(ARGV[4 * i + 7]), tonumber(ARGV[4 * i + 8]), tonumber(ARGV[4 * i + 9])
        local is_window = apart > 0
        free[i], following[i] = 0, 0
        if is_window then
            if tonumber(redis.call('LINDEX', counter, 0) or 0) > now + 1 then  -- the clock was set back
                redis.call('DEL', counter, queue)
            end
            local last = redis.call('LINDEX', counter, amount - 1)
            free[i] = last and tonumber(last) + seconds or 0
        else
            if ARGV[8] ~= '' then
                end_of_one(counter, KEYS[3 * i], ARGV[8], tonumber(ARGV[9]), ARGV[10], ARGV[4 * i + 10])
            end
            redis.call('ZREMRANGEBYSCORE', counter, '-inf', now - seconds)
            local known = redis.call('HMGET', KEYS[3 * i], 'took', 'rests')
            local took = tonumber(known[1] or 0.1)
            rests[i] = tonumber(known[2])
            if rests[i] and rests[i] > now then
                free[i], following[i] = rests[i], rests[i] + seconds
            else
                local busy = redis.call('ZCARD', counter)
                local oldest = busy > 0 and tonumber(redis.call('ZRANGE', counter, 0, 0, 'WITHSCORES')[2])
                if rests[i] and busy > 0 then
                    free[i] = oldest + seconds
                elseif busy >= amount then
                    local half = math.floor(busy / 2)
                    local middle = redis.call('ZRANGE', counter, half, half, 'WITHSCORES')
                    local age = now - tonumber(middle[2])
                    free[i] = math.max(oldest + math.max(took, age), now + math.max(took, age) / 2)
                    -- A worker that died looks like a receiver that hangs: what has been answered limits the gaps.
                    took = math.max(took, known[1] and math.min(age, math.max(4 * took, 0.25)) or age)
                end
            end
            apart = took / amount * tonumber(ARGV[5])
        end
        idle[i] = tonumber(ARGV[7]) * apart + tonumber(ARGV[6])
        local kept = redis.call('HMGET', queue, '1', '2', 'seen')
        if kept[3] and tonumber(kept[3]) + idle[i] < now then
            redis.call('DEL', queue)
            kept = {}
        elseif kept[3] and waited > 0 then
            redis.call('HSET', queue, 'seen', string.format('%.6f', math.max(now, tonumber(kept[3]))))
        end
        fresh[i] = free[i] > math.max(tonumber(kept[1] or 0), tonumber(kept[2] or 0)) and free[i]
        for before = math.max(waited + 1, is_window and 1 or 2), 2 do
            free[i] = math.max(free[i], tonumber(kept[before] or 0))
        end
        full = full or free[i] > now
        reserved[i] = math.max(free[i], tonumber(kept[own] or 0))
        following[i] = math.max(following[i], reserved[i] + apart)
        if free[i] > now then
            soon = math.max(soon, is_window and math.huge or free[i])
        end
        if free[i] > now and reserved[i] > latest then
            fullest, latest = i, reserved[i]
        end
    end
    local brief = full and soon - now < tonumber(ARGV[3])
    for i = 1, #KEYS / 3 do
        local counter, queue = KEYS[3 * i - 2], KEYS[3 * i - 1]
        local amount, seconds = tonumber(ARGV[4 * i + 7]), tonumber(ARGV[4 * i + 8])
        if not full then
            if tonumber(ARGV[4 * i + 9]) > 0 then
                redis.call('LPUSH', counter, string.format('%.6f', now))
                redis.call('LTRIM', counter, 0, amount - 1)
            else
                redis.call('ZADD', counter, string.format('%.6f', now), ARGV[4])
            end
            redis.call('PEXPIRE', counter, math.ceil(seconds * 1000))
        elseif free[i] > now and not brief and (left < 0 or latest - now <= left) then
            redis.call('HSET', queue, own, string.format('%.6f', following[i]))
            if fresh[i] then
                redis.call('HSET', queue, 'seen', string.format('%.6f', fresh[i]))
            end
            local life = math.ceil((following[i] + idle[i] - now) * 1000)
            redis.call('PEXPIRE', queue, math.max(life, redis.call('PTTL', queue)))
        end
    end
    return {fullest, string.format('%.6f', (brief and soon or latest) - now), rests[fullest] and 1 or 0}
end
"""

_END = """
function verbs.free(KEYS, ARGV)
    for i = 1, #KEYS / 3 do
        end_of_one(KEYS[3 * i - 2], KEYS[3 * i], ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[3 + i])
    end
    return {}
end
"""

calls = Calls(_END_OF_ONE + _TAKE + _END)


def allows(key: str, amount: int, seconds: float) -> bool:
    """Count one use in a window; False where it is full: nobody waits for it, and nothing is reserved."""
    return take([Window(key, amount, seconds)], key, 0, 0.0) is None


def take(
    limits: Sequence[Limit],
    person: str,
    waited: int,
    left: float | None = None,
    token: str = "",
    patience: float = 0.0,
    ended: Ended | None = None,
) -> Reservation | None:
    """Return None if the request may pass; it is counted in every limit. Else a reservation; it is counted in none.

    `person` owns the queues. `waited`: how many reservations the request had before. `left`: the seconds within which
    it must go out; a later time is returned but not reserved. If only slots are full, and one is expected to be free
    within `patience` seconds, none is reserved, and the wait lasts until then. `token` names the request in its slots
    until it ends; `ended` is another one that has ended in the same slots. While Redis is down everything passes: the
    services have their own limits.
    """
    keys: list[str] = []
    within = -1 if left is None else max(0.0, left)
    arguments = [waited, within, patience, token, _SLACK, _IDLE, _UNUSED_TIMES, *(ended or _NONE).arguments]
    for limit in limits:
        keys += _keys(limit, person)
        if isinstance(limit, Window):
            seconds = limit.seconds + _MARGIN
            arguments += [limit.amount, seconds, seconds / limit.amount * _SLACK, 0]
        else:
            arguments += [limit.amount, limit.seconds, 0, int(limit.rests)]
    [answer] = calls.ask(Call("take", keys, arguments))
    if not answer or not answer[0]:
        return None
    full, wait, resting = answer
    return Reservation(float(wait), limits[full - 1], bool(resting))


def end(slots: Sequence[Slots], ended: Ended) -> None:
    """Free the slots of a request, without waiting for it while other threads ask.

    The fifth timeout in a row makes slots that rest do so for 30 s, each further one for twice as long, up to 15
    minutes. Requests that had begun before that do not count. Any answer ends it.
    """
    keys = [key for one in slots for key in _keys(one, "")]
    calls.leave(Call("free", keys, [*ended.arguments, *(int(one.rests) for one in slots)]))


_NONE = Ended("", 0.0, None)


def _keys(limit: Limit, person: str) -> list[str]:
    key = client.key(f"rate-limits:{limit.key}")
    return [key, f"{key}:{person}", f"{key}:state"]
