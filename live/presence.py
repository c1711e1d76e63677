"""The viewers of open boards, over all web processes: in Redis, where an entry expires unless its process renews it."""

import time
from collections.abc import Collection, Mapping
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from common.redis import client

_LASTS = 60.0  # seconds; sockets are pinged every 25


class Seat(NamedTuple):
    """A person at a board of an account."""

    account: int
    board: UUID
    person: int


class Presence(NamedTuple):
    """How many people have each board open, and the accounts of which that has changed."""

    here: Mapping[UUID, int]
    changed: Collection[int]


def update(taken: Collection[Seat], left: Collection[Seat]) -> Presence:
    """Renew these people at their boards, take the others away, and count. Counts nothing while Redis is away."""
    return client.ask(settings.REDIS_URL, lambda: _update(taken, left), lambda: Presence({}, ()))


def _update(taken: Collection[Seat], left: Collection[Seat]) -> Presence:
    now, boards = time.time(), {seat.board: seat.account for seat in taken}
    accounts = [seat.account for seat in (*left, *taken)] + list(boards.values())
    with client.client(settings.REDIS_URL).pipeline(transaction=False) as pipeline:
        for seat in left:
            pipeline.zrem(_key(seat.board), seat.person)
        for seat in taken:
            pipeline.zadd(_key(seat.board), {str(seat.person): now + _LASTS})
        for board in boards:
            pipeline.zremrangebyscore(_key(board), 0, now)
        for board in boards:
            pipeline.zcard(_key(board))
            pipeline.expire(_key(board), round(2 * _LASTS))
        answers = pipeline.execute()
    changed = {account for account, count in zip(accounts, answers, strict=False) if count}
    return Presence(dict(zip(boards, answers[len(accounts) :: 2], strict=True)), changed)


def _key(board: UUID) -> str:
    return f"{settings.CACHES['default']['KEY_PREFIX']}:board:{board}"
