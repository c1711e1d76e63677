"""The sockets of this process: each says how its person's inbox is, at first and whenever something has changed.

Redis only says whose data has changed; what is sent is read from the tables. One statement reads it for all who are
woken meanwhile, and another checks that their sessions go on. Between two of them no connection to the database is
held.
"""

import asyncio
import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import connection
from redis.exceptions import RedisError

from common.redis import client, live_wakes
from live.socket import SESSION_ENDED, Socket
from notifications.deliveries.inbox_state import states
from people.sign_in import sessions

log = logging.getLogger(__name__)
T = TypeVar("T")

MOST_OF_PERSON = 50
"""Sockets of one person in a process."""
_CHUNK = 500  # people read by a statement
_PAUSE = 0.05  # seconds between two statements
_AGAIN = 1.0  # seconds after which Redis or the database is asked again
_PINGS = 25.0  # seconds between two pings
_CHECKS = 2  # pings between two checks of all sessions
_PRESENT = 60.0  # seconds after which a viewer of a board is gone, unless the pings renew it
_SILENCE = 10.0  # seconds without a message after which Redis is asked whether it is still there


class Seat(NamedTuple):
    """A person at a board of an account."""

    account: int
    board: UUID
    person: int


class Presence(NamedTuple):
    """How many people have each board open, and the accounts of which that has changed."""

    here: Mapping[UUID, int]
    changed: Collection[int]


class Hub:
    """Everything happens in the event loop, but for the statements."""

    def __init__(self) -> None:
        # By the account, and by the person who acts for it: their session may end.
        self._sockets: defaultdict[int, set[Socket]] = defaultdict(set)
        self._woken: set[int] = set()
        self._left: set[Seat] = set()  # since the last update of who is at which board
        self._is_woken = asyncio.Event()
        self._hears = False  # whether Redis tells us of changes
        self._tasks: list[asyncio.Task[None]] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="live")

    def is_full(self, person: int) -> bool:
        return len(self._sockets.get(person, ())) >= MOST_OF_PERSON

    def add(self, socket: Socket) -> None:
        for account in (socket.user, socket.person):
            self._sockets[account].add(socket)
        self._wake([socket.user])
        if not self._tasks:
            self._tasks = [asyncio.create_task(one()) for one in (self._listen, self._tell, self._ping)]

    def remove(self, socket: Socket) -> None:
        for account in (socket.user, socket.person):
            self._sockets[account].discard(socket)
        if gone := _seats([socket]) - _seats(self._sockets[socket.user]):
            self._left |= gone
            self._is_woken.set()
        for account in {socket.user, socket.person}:
            if not self._sockets[account]:
                del self._sockets[account]

    def _wake(self, users: Iterable[int]) -> None:
        self._woken.update(self._sockets.keys() & set(users))
        if self._woken:
            self._is_woken.set()

    def _of(self, users: Iterable[int]) -> list[Socket]:
        return list({socket for user in users for socket in self._sockets.get(user, ())})

    async def _listen(self) -> None:
        while True:
            with suppress(RedisError, OSError):
                await self._hear()
            if self._hears:
                log.warning("Redis does not tell open pages of changes: they poll until it does")
                self._hears = False
                for socket in self._of(self._sockets):
                    socket.send('{"live": false}')
            await asyncio.sleep(_AGAIN)

    async def _hear(self) -> None:
        """Until the connection breaks."""
        redis = client.async_client(settings.REDIS_URL, 5.0)
        try:
            async with redis.pubsub() as heard:
                await heard.subscribe(live_wakes.channel())
                is_pinged = False
                while True:
                    message = await heard.get_message(timeout=_SILENCE)
                    if message is None:
                        if is_pinged:
                            return
                        await heard.ping()
                    elif message["type"] == "subscribe":
                        self._hears = True
                        self._wake(self._sockets)  # what changed before may have been missed
                    elif message["type"] == "message":
                        self._wake(map(int, message["data"].split(b",")))
                    is_pinged = message is None
        finally:
            await redis.aclose()

    async def _tell(self) -> None:
        while await self._is_woken.wait():
            users = list(islice(self._woken, _CHUNK))
            self._woken.difference_update(users)
            if not self._woken:
                self._is_woken.clear()
            try:
                await self._check(self._of(users))
                by_user = await self._query(states, users) if users else {}  # nobody: a board was left
                here = await self._update_presence(self._of(users))
            except Exception:
                log.exception("Open pages of %d people were not told of changes", len(users))
                await asyncio.sleep(_AGAIN)
                self._wake(users)
                continue
            for user, state in by_user.items():
                sockets = [socket for socket in self._of([user]) if socket.user == user]
                own = {str(board): here[board] for _, board, _ in _seats(sockets) if board in here}
                text = json.dumps(state | {"live": self._hears, "here": own})
                for socket in sockets:
                    socket.send(text)
            await asyncio.sleep(_PAUSE)

    async def _check(self, sockets: Collection[Socket]) -> None:
        """Close those whose session has ended, or acts for another account."""
        accounts = await self._query(sessions.accounts, {socket.session for socket in sockets})
        for socket in sockets:
            if accounts.get(socket.session) != socket.user:
                socket.close(SESSION_ENDED)

    async def _update_presence(self, sockets: Iterable[Socket]) -> Mapping[UUID, int]:
        """How many people have each of their boards open. All processes hear of it where that has changed."""
        taken, left, self._left = _seats(sockets), self._left, set()
        if not taken and not left:
            return {}
        now = await self._query(lambda seats: count_viewers(*seats), (taken, left))
        live_wakes.wake(*now.changed)
        return now.here

    async def _ping(self) -> None:
        count = 0
        while True:
            await asyncio.sleep(_PINGS)
            count += 1
            sockets = self._of(self._sockets)
            for start in range(0, len(sockets), _CHUNK):
                chunk = sockets[start : start + _CHUNK]
                for socket in chunk:
                    socket.ping()
                try:
                    await self._update_presence(chunk)
                    if count % _CHECKS == 0:
                        await self._check(chunk)
                except Exception:
                    log.exception("Sessions of open pages were not checked")
                await asyncio.sleep(_PAUSE)

    async def _query(self, question: Callable[[Any], T], value: Any) -> T:
        """The answer of the database, from a thread."""

        def ask() -> T:
            try:
                return question(value)
            finally:
                connection.close()  # returns it to the pool

        return await asyncio.get_running_loop().run_in_executor(self._thread, ask)


def _seats(sockets: Iterable[Socket]) -> set[Seat]:
    return {Seat(one.user, one.board, one.person) for one in sockets if one.board is not None}


def count_viewers(taken: Collection[Seat], left: Collection[Seat]) -> Presence:
    """Renew these people at their boards, take the others away, and count. Counts nothing while Redis is away."""
    return client.ask(settings.REDIS_URL, lambda: _count_viewers(taken, left), lambda: Presence({}, ()))


def _count_viewers(taken: Collection[Seat], left: Collection[Seat]) -> Presence:
    now, boards = time.time(), {seat.board: seat.account for seat in taken}
    accounts = [seat.account for seat in (*left, *taken)] + list(boards.values())
    with client.client(settings.REDIS_URL).pipeline(transaction=False) as pipeline:
        for seat in left:
            pipeline.zrem(_board_key(seat.board), seat.person)
        for seat in taken:
            pipeline.zadd(_board_key(seat.board), {str(seat.person): now + _PRESENT})
        for board in boards:
            pipeline.zremrangebyscore(_board_key(board), 0, now)
        for board in boards:
            pipeline.zcard(_board_key(board))
            pipeline.expire(_board_key(board), round(2 * _PRESENT))
        answers = pipeline.execute()
    changed = {account for account, count in zip(accounts, answers, strict=False) if count}
    return Presence(dict(zip(boards, answers[len(accounts) :: 2], strict=True)), changed)


def _board_key(board: UUID) -> str:
    return client.key(f"board:{board}")


HUB = Hub()
