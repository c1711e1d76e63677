"""Moving-window limit for requests that come in, in Redis. A request over the limit is refused at once.

`rate_limiter` is for what goes out: there a request over the limit gets a reserved time.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from allauth.core.internal import httpkit, ratelimit
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.redis import client

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
        """None without a limit."""
        if not self.limit:
            return {}
        named = {"Limit": self.limit, "Remaining": self.remaining, "Reset": self.reset}
        headers = {f"RateLimit-{name}": str(value) for name, value in named.items()}
        return headers if self.allowed else headers | {"Retry-After": str(max(1, self.reset))}


def check(key: str) -> Verdict:
    """Count one request of `key`; `API_REQUESTS_PER_MINUTE` pass in any minute. While Redis is down everything does."""
    limit: int = settings.API_REQUESTS_PER_MINUTE
    if not limit:
        return Verdict(True, limit, limit, 0)
    name = f"{settings.CACHES['default']['KEY_PREFIX']}:requests:{key}"
    allowed, remaining, reset = ask(_SCRIPT, name, [limit, WINDOW], (1, limit, 0))
    return Verdict(bool(allowed), limit, int(remaining), math.ceil(float(reset)))


def ask(text: str, key: str, arguments: Sequence[Any], otherwise: Any) -> Any:
    """The answer of a script of Redis; `otherwise` while Redis is down."""
    url = settings.CACHES["default"]["LOCATION"]
    return client.ask(url, lambda: client.script(url, text)([key], arguments), lambda: otherwise)


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
