"""Clients of Redis for counts and signals, for which nothing must wait. The broker has its own, by kombu."""

import logging
import time
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from django.conf import settings
from django.utils.translation import gettext as _
from redis import Redis
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.exceptions import ReadOnlyError, RedisError
from redis.retry import Retry

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
