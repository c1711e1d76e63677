"""Tell the web processes, over Redis, whose data has changed, so that open pages follow.

A wake may be lost: sockets read the tables again when Redis is back, and pages poll them.
"""

import threading
import time
from contextlib import suppress

from django.conf import settings
from redis.exceptions import RedisError

from common.redis import client

_PAUSE = 0.02  # seconds between two messages, so that a busy worker sends 50 a second at most
_MOST = 1_000  # people in a message

_lock = threading.Lock()
_is_waiting = threading.Event()
_waiting: set[int] = set()
_thread: threading.Thread | None = None


def channel() -> str:
    return client.key("live")


def wake(*user_ids: int) -> None:
    """Tell it soon, from another thread."""
    global _thread
    with _lock:
        _waiting.update(user_ids)
        if _thread is None or not _thread.is_alive():  # a child of fork has no threads
            _thread = threading.Thread(target=_publish_waiting, name="live-wakes", daemon=True)
            _thread.start()
    _is_waiting.set()


def _publish_waiting() -> None:
    while _is_waiting.wait():
        _is_waiting.clear()
        with _lock:
            ids = sorted(_waiting)
            _waiting.clear()
        with suppress(RedisError):
            for start in range(0, len(ids), _MOST):
                client.client(settings.REDIS_URL).publish(channel(), ",".join(map(str, ids[start : start + _MOST])))
        time.sleep(_PAUSE)
