"""Connections to the primary of Redis, whose address each asks of the Sentinels when it opens: it follows a failover.

The host of such a URL is the primary's name, and its option the Sentinels: redis://:password@mymaster/0?sentinels=…
"""

from contextlib import AsyncExitStack, ExitStack
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis import Connection
from redis.asyncio import Connection as AsyncConnection
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

_sentinel: Any = Sentinel  # redis has no types here
_async_sentinel: Any = AsyncSentinel
# Of a Sentinel that does not answer; then the next one is asked.
_PATIENCE: dict[str, Any] = {"socket_timeout": 1, "socket_connect_timeout": 1}
_PATIENCE_SYNC, _PATIENCE_ASYNC = (_PATIENCE | {"retry": retry(NoBackoff(), 0)} for retry in (Retry, AsyncRetry))


def options(url: str) -> dict[str, Any]:
    """Further arguments of `Redis.from_url(url, …)`: a class of connections if `url` names Sentinels, else none."""
    return _classes(url, Connection) if "sentinels=" in url else {}


def async_options(url: str) -> dict[str, Any]:
    return _classes(url, AsyncConnection) if "sentinels=" in url else {}


@cache
def _classes(url: str, base: type[Any]) -> dict[str, Any]:
    parts = urlsplit(url)
    hosts = [tuple(one.rsplit(":", 1)) for one in parse_qs(parts.query)["sentinels"][0].split(",")]
    kind = ToPrimary if base is Connection else AsyncToPrimary
    return {"connection_class": type(kind.__name__, (kind,), {"sentinels": hosts, "primary": parts.hostname})}


class _OfSentinels:
    """Has the Sentinels and their name of the primary; redis-py does not know that option of the address."""

    sentinels: Any
    primary: str

    def __init__(self, sentinels: str = "", **options: Any) -> None:
        super().__init__(**options)


class ToPrimary(_OfSentinels, Connection):
    def connect_check_health(self, *given: Any, **named: Any) -> None:
        if not self.is_connected:
            requested = _sentinel(self.sentinels, sentinel_kwargs=_PATIENCE_SYNC)
            with ExitStack() as opened:
                for one in requested.sentinels:
                    opened.callback(one.close)
                self.host, self.port = requested.discover_master(self.primary)
        super().connect_check_health(*given, **named)


class AsyncToPrimary(_OfSentinels, AsyncConnection):
    async def connect_check_health(self, *given: Any, **named: Any) -> None:
        if not self.is_connected:
            requested = _async_sentinel(self.sentinels, sentinel_kwargs=_PATIENCE_ASYNC)
            async with AsyncExitStack() as opened:
                for one in requested.sentinels:
                    opened.push_async_callback(one.aclose)
                self.host, self.port = await requested.discover_master(self.primary)
        await super().connect_check_health(*given, **named)
