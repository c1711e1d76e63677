"""Permits for the threads of one process to ask for a slot of a host: as many as the host gets sends.

The other threads wait here for a moment, without asking Redis again and again. A send that ends passes on its permit,
and its slot with it: the next one frees that slot in the same request in which it asks for one.
"""

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from common.database.postgres import lend_connection
from common.redis.rate_limiter import Ended


@dataclass(slots=True, eq=False)
class _Waiting:
    token: UUID
    woken: threading.Lock = field(default_factory=threading.Lock)
    ended: Ended | None = None
    permitted: bool = False


@dataclass(slots=True)
class _Host:
    """`holders`: since when each token has its permit, oldest first (monotonic). `permit_seconds`: its length."""

    holders: dict[UUID, float] = field(default_factory=dict)
    permit_seconds: float = 0.0
    waiting: deque[_Waiting] = field(default_factory=deque)


_lock = threading.Lock()
_hosts: dict[str, _Host] = {}


def acquire(host: str, amount: int, token: UUID, timeout: float) -> tuple[bool, Ended | None]:
    """Return whether there is a permit, and the send whose slot comes with it.

    Waits up to `timeout` seconds, and not at all if it would be in vain.
    """
    with _lock:
        state = _hosts.setdefault(host, _Host())
        if len(state.holders) < amount:
            state.holders[token] = time.monotonic()
            return True, None
        middle = next(islice(state.holders.values(), amount // 2, None))
        if (len(state.waiting) + 1) * max(state.permit_seconds, time.monotonic() - middle) / amount > timeout:
            return False, None
        one = _Waiting(token)
        one.woken.acquire()
        state.waiting.append(one)
    lend_connection()
    if not one.woken.acquire(timeout=timeout):
        with _lock:
            if not one.permitted:  # else it was passed on at this moment
                state.waiting.remove(one)
    return one.permitted, one.ended


def release(host: str, token: UUID, ended: Ended | None) -> bool:
    """Pass a permit on, with the slot of `ended`. False if nobody takes it."""
    with _lock:
        state = _hosts.get(host)
        if state is None or (since := state.holders.pop(token, None)) is None:
            return False
        state.permit_seconds += 0.2 * (time.monotonic() - since - state.permit_seconds)
        if state.waiting:
            following = state.waiting.popleft()
            state.holders[following.token] = time.monotonic()
            following.ended, following.permitted = ended, True
            following.woken.release()
            return True
        if not state.holders:
            del _hosts[host]
        return False
