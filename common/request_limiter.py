"""Moving-window limit for requests that come in, in Redis. A request over the limit is refused at once.

`rate_limiter` is for what goes out: there a request over the limit gets a reserved time.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.exceptions import RedisError
from redis.retry import Retry

log = logging.getLogger(__name__)

WINDOW = 60.0  # seconds

# A list of the instants of the requests that were allowed in the window, newest first. Redis' clock decides.
_SCRIPT = """
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local oldest = redis.call('LINDEX', KEYS[1], -1)
while oldest and tonumber(oldest) + window <= now do
    redis.call('RPOP', KEYS[1])
    oldest = redis.call('LINDEX', KEYS[1], -1)
end
local used = redis.call('LLEN', KEYS[1])
if used >= limit then
    -- Not the last of the list: the limit may have been lowered.
    local first = redis.call('LINDEX', KEYS[1], limit - 1)
    return {0, 0, string.format('%.3f', tonumber(first) + window - now)}
end
redis.call('LPUSH', KEYS[1], string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(window * 1000))
return {1, limit - used - 1, string.format('%.3f', tonumber(oldest or now) + window - now)}
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request may pass; how many more may now; whole seconds until more may."""

    allowed: bool
    limit: int
    remaining: int
    reset: int

    @property
    def headers(self) -> dict[str, str]:
        named = {"Limit": self.limit, "Remaining": self.remaining, "Reset": self.reset}
        return {f"RateLimit-{name}": str(value) for name, value in named.items()}


def check(key: str, limit: int) -> Verdict:
    """Count one request of `key`; at most `limit` in any minute. While Redis is down everything passes.

    A limit of 0 means none.
    """
    free = Verdict(True, limit, limit, 0)
    if limit <= 0:
        return free
    try:
        name = f"{settings.CACHES['default']['KEY_PREFIX']}:requests:{key}"
        allowed, remaining, reset = _script(settings.CACHES["default"]["LOCATION"])([name], [limit, WINDOW])
    except RedisError as error:
        log.warning("Redis does not answer (%s): requests are not limited", type(error).__name__)
        return free
    return Verdict(bool(allowed), limit, int(remaining), math.ceil(float(reset)))


@cache
def _script(url: str) -> Script:
    client = Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0))
    return client.register_script(_SCRIPT)
