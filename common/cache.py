"""The cache in which sign-in attempts are counted: Redis, shared by all web processes.

It fails open. While Redis is away nobody is throttled, rather than everybody locked out: passwords are hashed slowly
all the same, and an attacker who can take Redis away could do worse. Codes of a second factor are short and quick to
check; they are not taken meanwhile (see `answers`).
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

log = logging.getLogger(__name__)

T = TypeVar("T")

_PAUSE = 5.0  # seconds


class JSONSerializer:
    """Plain data only: whoever can write to Redis must not be able to run code here, as with pickle."""

    def dumps(self, value: Any) -> str:
        return json.dumps(value)

    def loads(self, text: bytes) -> Any:
        return json.loads(text)


class Cache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        # A page must not wait for a Redis that is away.
        options = {"serializer": JSONSerializer, "socket_timeout": 1, "socket_connect_timeout": 1}
        options["retry"] = Retry(NoBackoff(), 0)
        super().__init__(server, params | {"OPTIONS": options})
        self._asked_again_at = 0.0

    def add(self, key: Any, value: Any, timeout: Any = None, version: Any = None) -> bool:
        return self._open(lambda: super(Cache, self).add(key, value, timeout, version), True)

    def get(self, key: Any, default: Any = None, version: Any = None) -> Any:
        return self._open(lambda: super(Cache, self).get(key, default, version), default)

    def set(self, key: Any, value: Any, timeout: Any = None, version: Any = None) -> None:
        self._open(lambda: super(Cache, self).set(key, value, timeout, version), None)

    def delete(self, key: Any, version: Any = None) -> bool:
        return self._open(lambda: super(Cache, self).delete(key, version), False)

    def answers(self) -> bool:
        """Whether what is counted here is counted now, for those who would rather refuse than not count."""
        try:
            return bool(self._cache.get_client().ping())
        except RedisError:
            return False

    def clear(self) -> None:
        """The stock one empties the whole database, and with it the broker."""
        raise NotImplementedError("The cache shares its Redis with the broker; its keys expire by themselves.")

    def _open(self, ask: Callable[[], T], otherwise: T) -> T:
        """A page asks a dozen times: it waits for a Redis that is away once."""
        if time.monotonic() < self._asked_again_at:
            return otherwise
        try:
            return ask()
        except RedisError as error:
            log.warning("Redis does not answer (%s): sign-in is not throttled", type(error).__name__)
            self._asked_again_at = time.monotonic() + _PAUSE
            return otherwise
