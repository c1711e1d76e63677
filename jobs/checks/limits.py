"""Limits of concurrent checks: of one person, and in a worker, which keeps threads for other work.

A check waits for a stranger's server, so a source that hangs would else hold up the deliveries of everybody.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import signals
from django.conf import settings

from common.redis import rate_limiter
from common.redis.rate_limiter import Ended, Slots
from jobs import kinds
from jobs.checks.recording import CHECK, JobClaim
from jobs.reasons import JobCode
from work.answers import Defer
from work.broker import load
from work.engine.claim import LEASE
from work.reasons import Reason
from work.retry import wait_when_busy

OF_A_PERSON = 20
# One thread of so many takes no check.
_SPARE = 40
_LONGEST_WAIT = 20.0  # seconds
_MARGIN = 5.0  # seconds, for what follows a check


class _Worker:
    """The threads of this worker that may check; no bound in a process that checks one thing at a time."""

    threads: threading.BoundedSemaphore | None = None


@signals.celeryd_after_setup.connect
def _know_worker(instance: Any, **_: Any) -> None:
    if instance.pool_cls.__module__.endswith(".thread"):
        most = max(1, instance.concurrency - max(1, instance.concurrency // _SPARE))
        _Worker.threads = threading.BoundedSemaphore(most)
        for queue in ("jobs", *settings.JOB_QUEUES.values()):
            load.limit(queue, CHECK, most)


def limited(claim: JobClaim) -> Defer | None:
    """None: it may check now, and is counted until `counted` ends. Else when to come again; nothing is counted."""
    if _Worker.threads is not None and not _Worker.threads.acquire(blocking=False):
        # Another worker may have a thread, so the first waits are short.
        wait = wait_when_busy(0.5, _LONGEST_WAIT, claim.released)
        return Defer(wait, Reason(JobCode.WORKER_BUSY))
    try:
        full = rate_limiter.take([_slots(claim)], str(claim.user_id), claim.released, claim.left, str(claim.token))
    except BaseException:
        _end_thread()
        raise
    if full is None:
        return None
    _end_thread()
    return Defer(full.wait, Reason(JobCode.PERSON_BUSY, amount=OF_A_PERSON))


@contextmanager
def counted(claim: JobClaim) -> Iterator[None]:
    """A check that was not `limited`."""
    started = time.monotonic()
    try:
        yield
    finally:
        _end_thread()
        rate_limiter.end([_slots(claim)], Ended(str(claim.token), time.monotonic() - started, True))


def _slots(claim: JobClaim) -> Slots:
    """A worker that dies gives nothing back: its slots end soon after the longest check of its kind."""
    kind = kinds.find(claim.handler)
    lasts = LEASE if kind is None else min(kind.deadline + _MARGIN, LEASE)
    return Slots(f"checks:{claim.user_id}", OF_A_PERSON, lasts)


def _end_thread() -> None:
    if _Worker.threads is not None:
        _Worker.threads.release()
