"""Clients of Redis for counts and signals, for which nothing must wait. The broker has its own, by kombu."""

from functools import cache
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ReadOnlyError
from redis.retry import Retry

OPTIONS: dict[str, Any] = {
    "socket_timeout": 1,
    "socket_connect_timeout": 1,
    "retry": Retry(NoBackoff(), 0),
    # After a failover the former primary refuses what is written. The connection to it is closed then, so that the next
    # one reaches the new primary.
    "retry_on_error": [ReadOnlyError],
}


@cache
def client(url: str) -> Redis:
    return Redis.from_url(url, **OPTIONS)
