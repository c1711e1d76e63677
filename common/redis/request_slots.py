"""Few requests of one person are in work at a time, so that no account takes all connections, threads or the CPU.

A further one waits, without a thread or a connection (see config.asgi), and is then refused. What reads is counted in
each process. What changes is counted in Redis too, for all processes. There, one counts for at most `LEASE` seconds:
after a process was killed, its person waits no longer than that. While Redis is down, each process counts alone.
"""

import asyncio
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from common.forms.not_possible import NotPossible
from common.redis import client, live_wakes, rate_limiter, request_limiter
from common.redis.client import Call
from common.redis.request_limiter import Limit

AT_ONCE = 2
LEASE = 5.0  # seconds
SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
# Of one person in one process. Each keeps its body in memory.
_MOST_WAITING = 64
# Seconds after which a request asks again: one that ends in another process wakes nobody here.
_PAUSE = 0.25


@dataclass(frozen=True, slots=True)
class Kind:
    """Seconds that a request waits in all, and after which it asks again if none has woken it."""

    name: str
    patience: float
    pause: float


CHANGE = Kind("change", 1.0, 1.0)
READ = Kind("read", 10.0, 2.5)
"""Also what others post to a person's inbound addresses; and all of a stranger, by the IP address."""

_Key = tuple[Kind, int | str]

_lock = threading.Lock()
_in_work: Counter[_Key] = Counter()
_waiting: defaultdict[_Key, deque[asyncio.Future[None]]] = defaultdict(deque)


def enter(
    request: HttpRequest, kind: Kind, who: int | str, refuse: Callable[[], HttpResponse], counted: Limit | None = None
) -> HttpResponse | None:
    """Count the request until `leave`. If too many are in work, return the refusal.

    Where the server can wait (see config.asgi), the refusal comes only when that was in vain. Until then a response is
    returned that is not sent: to write a page for each would cost more than what is refused.

    `who`: the id of a person, or the key of an IP address (`request_limiter.by_address`). `counted`: the limit
    for which this one counts, once, also where it waits; `request.verdict` then says whether it may pass.
    """
    key, name = (kind, who), uuid4().hex
    if _take(request, key, name, counted):
        request.slot = (key, name)  # type: ignore[attr-defined]
        request.__dict__.pop("slot_until", None)  # a pull that waits comes again
        return None
    until: float = request.__dict__.setdefault("slot_until", time.monotonic() + kind.patience)
    if hasattr(request, "can_wait") and time.monotonic() < until:
        pause = kind.pause if _in_work[key] >= AT_ONCE else _PAUSE
        waiting = HttpResponse(status=204)
        waiting.wait = partial(_wait, request, key, min(until, time.monotonic() + pause))  # type: ignore[attr-defined]
        return waiting
    response = refuse()
    response["Retry-After"] = "1"
    return response


IMPORTS_AN_HOUR = 10
_IMPORT_LEASE = 300  # seconds; after a process was killed


@contextmanager
def one_import(person_id: int) -> Iterator[None]:
    """One import of a person at a time, and ten an hour. Raises NotPossible."""
    if not rate_limiter.allows(f"imports:{person_id}", IMPORTS_AN_HOUR, 3600.0):
        text = _("You have imported %(most)s files within an hour, which is the limit. Try again later.")
        raise NotPossible(text % {"most": IMPORTS_AN_HOUR})
    if not cache.add(f"importing:{person_id}", 1, _IMPORT_LEASE):
        raise NotPossible(_("Another import of yours is under way. Wait until it has ended."))
    try:
        yield
    finally:
        cache.delete(f"importing:{person_id}")


def leave(request: HttpRequest) -> None:
    """The request has been answered."""
    if (slot := request.__dict__.pop("slot", None)) is None:
        return
    key, name = slot
    if key[0] is CHANGE:
        request_limiter.calls.leave(Call("leave", [_name(key)], [name]))
        if isinstance(key[1], int):
            live_wakes.wake(key[1])
    _give_back(key)


def _take(request: HttpRequest, key: _Key, name: str, counted: Limit | None) -> bool:
    with _lock:
        is_free = _in_work[key] < AT_ONCE
        _in_work[key] += is_free
    count = [] if counted is None or hasattr(request, "verdict") else counted.calls()
    take = [Call("take", [_name(key)], [AT_ONCE, LEASE, name])] if is_free and key[0] is CHANGE else []
    answers = request_limiter.calls.ask(*count, *take)
    if counted is not None and not hasattr(request, "verdict"):
        request.verdict = counted.verdict(*answers[: len(count)])  # type: ignore[attr-defined]
    if 0 in answers[len(count) :]:
        _give_back(key)
        return False
    return is_free


def _give_back(key: _Key) -> None:
    with _lock:
        _in_work[key] -= 1
        if not _in_work[key]:
            del _in_work[key]
        if waiting := _waiting.get(key):
            future = waiting.popleft()  # another one that ends now wakes the next
            future.get_loop().call_soon_threadsafe(_wake, future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _wait(request: HttpRequest, key: _Key, until: float) -> None:
    """Until a request of the same key ends here, or a time at which to ask again."""
    future = asyncio.get_running_loop().create_future()
    with _lock:
        if len(_waiting[key]) >= _MOST_WAITING:
            request.slot_until = 0.0  # type: ignore[attr-defined]
            return
        _waiting[key].append(future)
    try:
        await asyncio.wait([future], timeout=until - time.monotonic())
    finally:
        with _lock:
            if future in _waiting[key]:
                _waiting[key].remove(future)
            if not _waiting[key]:
                del _waiting[key]


def _name(key: _Key) -> str:
    return client.key(f"in-work:{key[1]}")
