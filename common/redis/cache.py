"""Django's cache on Redis, shared by all web processes. It counts tries to sign in.

While Redis is down each process counts for itself, rather than nobody or everybody being let in. Codes of a second
factor are guessed faster than passwords, so they are refused meanwhile (see `answers`).
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

from common.redis import client

_MOST_HERE = 100_000  # entries: what strangers cause drives out nobody's counts


def _either(name: str) -> Any:
    def call(self: Any, *args: Any, **named: Any) -> Any:
        in_redis, here = (partial(getattr(one, name), *args, **named) for one in (super(Cache, self), self._here))
        return self._ask(in_redis, here)

    return call


class Cache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        # A page must not wait for a Redis that is down.
        # JSON instead of pickle: writing to Redis must not allow running code here.
        super().__init__(server, params | {"OPTIONS": client.options(server) | {"serializer": json}})
        self._ask = partial(client.ask, server)
        self._here = LocMemCache(server, params | {"OPTIONS": {"MAX_ENTRIES": _MOST_HERE}})

    # While Redis does not answer, this process's own cache does.
    add, get, set, delete = map(_either, ("add", "get", "set", "delete"))

    def seconds_left(self, keys: Sequence[str]) -> list[float | None]:
        """Return the remaining lifetime of each key in seconds, in one call; None for one that is not there."""

        def ask() -> list[float | None]:
            pipeline = self._cache.get_client().pipeline(transaction=False)
            for key in keys:
                pipeline.pttl(self.make_and_validate_key(key))
            return [left / 1000 if left >= 0 else None for left in pipeline.execute()]

        return self._ask(ask, lambda: [None] * len(keys))

    def answers(self) -> bool:
        return not self.problem()

    def problem(self) -> str:
        """Why Redis takes nothing, for operators; empty if it does."""
        try:
            self._cache.get_client().ping()
        except RedisError as error:
            return client.problem(error)
        return ""

    def clear(self) -> None:
        """Refuse: Django's way empties the whole database, including the broker."""
        raise NotImplementedError("The cache shares its Redis with the broker; its keys expire by themselves.")
