"""Limits for requests that come in, in Redis. A request over the limit is refused at once.

Most are counted in a moving window. Those that move messages pay for each message instead (`messages_of`).

`rate_limiter` is for what goes out: there a request over the limit gets a reserved time.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from allauth.core.internal import httpkit, ratelimit
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.redis import client
from common.redis.client import Call, Calls

WINDOW = 60.0  # seconds
MESSAGE = 4_096
"""Bytes that count as one message where messages are counted."""
LEAST_COST = 10
"""Messages as which each request counts there, also one that moves none."""

# `count` keeps a list of the instants of the requests that were allowed in the window, newest first; `take` and `leave`
# a sorted set of the requests in work (`request_slots`), by the time until which each counts.
calls = Calls("""
function verbs.count(KEYS, ARGV)
    local key, limit, window = KEYS[1], unpack(ARGV)
    if tonumber(redis.call('LINDEX', key, 0) or 0) > now + 1 then  -- the clock was set back
        redis.call('DEL', key)
    end
    local oldest = redis.call('LINDEX', key, -1)
    while oldest and tonumber(oldest) + window <= now do
        redis.call('RPOP', key)
        oldest = redis.call('LINDEX', key, -1)
    end
    local used = redis.call('LLEN', key)
    if used >= limit then
        -- Not the last of the list: the limit may have been lowered.
        local first = redis.call('LINDEX', key, limit - 1)
        return {0, 0, string.format('%.3f', tonumber(first) + window - now)}
    end
    redis.call('LPUSH', key, string.format('%.6f', now))
    redis.call('PEXPIRE', key, math.ceil(window * 1000))
    return {1, limit - used - 1, string.format('%.3f', tonumber(oldest or now) + window - now)}
end

function verbs.take(KEYS, ARGV)
    local key, most, lease, name = KEYS[1], unpack(ARGV)
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    if redis.call('ZCARD', key) >= most then
        return 0
    end
    redis.call('ZADD', key, now + lease, name)
    redis.call('PEXPIRE', key, math.ceil(lease * 1000))
    return 1
end

function verbs.leave(KEYS, ARGV)
    local key, name = KEYS[1], unpack(ARGV)
    return redis.call('ZREM', key, name)
end

-- Key: the instant at which all that was spent is paid back, then that of the last change. `limit` a window are.
function verbs.spend(KEYS, ARGV)
    local key, limit, window, amount, always = KEYS[1], unpack(ARGV)
    local paid, written = string.match(redis.call('GET', key) or '0', '^(%S+) ?(%S*)$')
    -- Where the clock was set back, as much is owed as then.
    local owed = math.max(tonumber(paid) - math.max(now, tonumber(written) or 0), 0)
    if owed >= window and not always then
        return {0, 0, string.format('%.3f', owed - window + window / limit)}
    end
    owed = owed + amount * window / limit
    redis.call('SET', key, string.format('%.6f %.6f', now + owed, now), 'PX', math.ceil(owed * 1000) + 1)
    return {1, math.max(0, math.floor((window - owed) * limit / window)), string.format('%.3f', owed)}
end
""")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request may pass; how many more may now; whole seconds until more may."""

    allowed: bool
    limit: int
    remaining: int
    reset: int

    @property
    def headers(self) -> dict[str, str]:
        """None without a limit."""
        if not self.limit:
            return {}
        named = {"Limit": self.limit, "Remaining": self.remaining, "Reset": self.reset}
        headers = {f"RateLimit-{name}": str(value) for name, value in named.items()}
        return headers if self.allowed else headers | {"Retry-After": str(max(1, self.reset))}


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that a request counts for: `most` a minute, none if 0. A `cost` is in messages."""

    name: str
    most: int
    cost: int = 0

    def calls(self) -> list[Call]:
        """The call that counts it; none without a limit. `verdict` reads its answer."""
        verb, *cost = ("spend", self.cost) if self.cost else ("count",)
        return [Call(verb, [self.name], [self.most, WINDOW, *cost])] if self.most else []

    def verdict(self, answer: Any = None) -> Verdict:
        """For no answer, everything passes."""
        allowed, remaining, reset = answer or (1, self.most, 0)
        return Verdict(bool(allowed), self.most, int(remaining), math.ceil(float(reset)))

    def spend(self, messages: int, size: int) -> None:
        """Count what was moved, in messages and bytes, beyond what the request has cost at its start."""
        more = max(messages, math.ceil(size / MESSAGE)) - self.cost
        if self.most and more > 0:
            calls.leave(Call("spend", [self.name], [self.most, WINDOW, more, 1]))


def requests_of(key: str) -> Limit:
    """`API_REQUESTS_PER_MINUTE` pass in any minute. While Redis is down everything does."""
    return Limit(client.key(f"requests:{key}"), settings.API_REQUESTS_PER_MINUTE)


def messages_of(key: str) -> Limit:
    """`API_MESSAGES_PER_MINUTE` on average, and as many at once after a minute without any."""
    return Limit(client.key(f"messages:{key}"), settings.API_MESSAGES_PER_MINUTE, LEAST_COST)


def check(key: str) -> Verdict:
    """Count one request of `key`."""
    limit = requests_of(key)
    return limit.verdict(*calls.ask(*limit.calls()))


def by_address(request: HttpRequest) -> str:
    """The key of a client that has shown no valid token: its address, or its /64 network of IPv6.

    The same address as for sign-in: X-Forwarded-For counts with BEHIND_PROXY only.
    """
    return f"address:{ratelimit.truncate_ip(httpkit.get_client_ip(request) or '')}"


def too_many_page() -> HttpResponse:
    return render(None, "429.html", status=429)


def limit_page(key: str, respond: Callable[[], HttpResponse]) -> HttpResponse:
    """The response to one more request of `key`, or the page for 429; with the headers of the limit."""
    verdict = check(key)
    response = respond() if verdict.allowed else too_many_page()
    for name, value in verdict.headers.items():
        response[name] = value
    return response
