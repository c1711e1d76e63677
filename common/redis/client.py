"""Clients of Redis for counts and signals, for which nothing must wait. The broker has its own, by kombu."""

import json
import logging
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.utils.translation import gettext as _
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.exceptions import ReadOnlyError, RedisError
from redis.retry import Retry

from common.database.group_commit import Alone, Combiner
from common.redis import sentinels

log = logging.getLogger(__name__)

T = TypeVar("T")

OPTIONS: dict[str, Any] = {
    "socket_timeout": 1,
    "socket_connect_timeout": 1,
    "retry": Retry(NoBackoff(), 0),
    # After a failover the former primary refuses what is written. The connection to it is closed then, so that the next
    # one reaches the new primary.
    "retry_on_error": [ReadOnlyError],
}

_PAUSE = 5.0  # seconds after an error in which nobody asks
_ask_again_at: dict[str, float] = {}  # of each address that does not answer, on the monotonic clock


@cache
def client(url: str) -> Redis:
    return Redis.from_url(url, **options(url))


def options(url: str) -> dict[str, Any]:
    return OPTIONS | sentinels.options(url)


def async_client(url: str, patience: float) -> AsyncRedis:
    """A new one, whose answers may take so many seconds."""
    given = {"retry": AsyncRetry(NoBackoff(), 0), **sentinels.async_options(url)}
    return AsyncRedis.from_url(url, socket_timeout=patience, socket_connect_timeout=1, **given)


def key(name: str) -> str:
    """The name of a key or channel in a Redis that the broker shares."""
    return f"{settings.CACHES['default']['KEY_PREFIX']}:{name}"


@cache
def script(url: str, text: str) -> Script:
    return client(url).register_script(text)


def cannot_save(error: BaseException) -> bool:
    """Whether Redis refuses what is written, and PING, since its disk is full or read-only."""
    return str(error).startswith("MISCONF")


def problem(error: RedisError) -> str:
    """The problem and its remedy, for operators."""
    if cannot_save(error):
        return _(
            "Redis cannot save to its disk (MISCONF), so it takes no messages. Nothing is lost, but messages are late. "
            "Make room on its disk, or let it write there; its log has more."
        )
    if settings.HAS_RABBITMQ:
        return _("Redis does not answer. Nothing is lost, but limits are off.")
    return _("Redis does not answer. Nothing is lost, but messages are late.")


def ask(url: str, question: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """Return what Redis answers to `question`; while it does not answer, return `otherwise()` without asking again."""
    if time.monotonic() < _ask_again_at.get(url, 0.0):
        return otherwise()
    try:
        answer = question()
    except RedisError as error:
        if url not in _ask_again_at:
            log.warning(
                "%s (%s): until it does, limits are off, each process counts tries to sign in alone,"
                " and programs that pull poll by themselves",
                "Redis cannot save to its disk" if cannot_save(error) else "Redis does not answer",
                type(error).__name__,
            )
        _ask_again_at[url] = time.monotonic() + _PAUSE
        return otherwise()
    _ask_again_at.pop(url, None)
    return answer


class Call(NamedTuple):
    """A call of the function `verb` of a script, with its own KEYS and ARGV."""

    verb: str
    keys: Sequence[str]
    arguments: Sequence[float | str]


_CLOCK = """
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local verbs = {}
"""
# KEYS: those of all calls. ARGV: for each call as JSON the verb, the number of its keys, and its own ARGV.
_EACH = """
local answers, first = {}, 1
for i, call in ipairs(cjson.decode(ARGV[1])) do
    local keys = {unpack(KEYS, first, first + call[2] - 1)}
    first = first + call[2]
    answers[i] = verbs[call[1]](keys, call[3])
end
return answers
"""


class Calls:
    """A script of the Lua functions `verbs.…(KEYS, ARGV)`, which have the clock of Redis as `now`.

    Calls that threads make at the same moment go to Redis together, in one round trip.
    """

    def __init__(self, functions: str) -> None:
        self._script = _CLOCK + functions + _EACH
        self._together = Combiner(self.execute)

    def ask(self, *calls: Call) -> list[Any]:
        """The answers of Redis; None for each while it is down."""
        if not calls:
            return []
        try:
            return self._together(calls)
        except Alone:  # another thread's calls were at fault
            return self.execute([calls])[0]

    def leave(self, call: Call) -> None:
        """As `ask`, without an answer, and without waiting while other threads ask."""
        self._together.leave((call,))

    def execute(self, requests: Sequence[Sequence[Call]]) -> list[list[Any]]:
        calls = [call for request in requests for call in request]
        keys = [key for call in calls for key in call.keys]
        document = json.dumps([[call.verb, len(call.keys), call.arguments] for call in calls])
        url = settings.CACHES["default"]["LOCATION"]
        answers = iter(ask(url, lambda: script(url, self._script)(keys, [document]), lambda: [None] * len(calls)))
        return [list(islice(answers, len(request))) for request in requests]
