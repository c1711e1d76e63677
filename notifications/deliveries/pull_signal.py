"""Wake the programs that wait for messages of a queue: a stream of one entry in Redis for each queue.

A signal may be lost: a program that waits polls the table again after `LONGEST_WAIT` at the latest.
"""

import asyncio
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from redis.exceptions import RedisError

from common.redis import client

LONGEST_WAIT = 5.0  # seconds
_WITHOUT_REDIS = 1.0
# A signal has to outlive the poll of the table that precedes a wait.
_RETENTION = 60  # seconds
_FIRST = "0-0"


def wake_pullers_after_commit(channel_ids: Collection[UUID]) -> None:
    def wake_them() -> None:  # not a partial: Django names a robust hook that failed by its __qualname__
        pipeline = client.client(settings.REDIS_URL).pipeline()
        for channel_id in channel_ids:
            pipeline.xadd(_key(channel_id), {"": ""}, maxlen=1, approximate=False)
            pipeline.expire(_key(channel_id), _RETENTION)
        client.ask(settings.REDIS_URL, pipeline.execute, list)

    if channel_ids:
        transaction.on_commit(wake_them, robust=True)


def last(channel_id: UUID) -> str:
    """The newest signal of a queue, for `wait`. Ask for it before polling the table."""
    signals = client.client(settings.REDIS_URL)
    entries: Any = client.ask(settings.REDIS_URL, lambda: signals.xrevrange(_key(channel_id), count=1), list)
    return entries[0][0].decode() if entries else _FIRST


async def wait(channel_id: UUID, seen: str, seconds: float) -> None:
    """Return once there is a newer signal than `seen`, or after so many seconds."""
    waiting = client.async_client(settings.REDIS_URL, seconds + 1)
    try:
        await waiting.xread({_key(channel_id): seen}, block=max(1, int(seconds * 1000)))
    except RedisError:
        await asyncio.sleep(min(seconds, _WITHOUT_REDIS))
    finally:
        await waiting.aclose()


def _key(channel_id: UUID) -> str:
    return client.key(f"queue:{channel_id}")
