"""Locks under processes that are killed, and that stall for longer than they hold them."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from locks import leases
from locks.leases import Lease
from people.models import User
from tests.make import make_user

pytestmark = pytest.mark.django_db(transaction=True)

PROCESSES, HOLDINGS, TTL = 50, 60, 0.2
LONGEST = 120.0  # seconds


def work(user: User, log: Path, seed: int, writes: Any, is_over: Any) -> None:
    """Take the lock again and again until it is over; some of its holders stall for longer than they have it.

    Each line of the log is a call with the times before and after it: its history.
    """
    connection.close()
    chance = random.Random(seed)
    with log.open("a", buffering=1) as history:

        def write(what: str, began: float, **more: object) -> None:
            history.write(json.dumps({"what": what, "began": began, "ended": time.monotonic(), **more}) + "\n")

        while not is_over.value:
            began = time.monotonic()
            held = leases.acquire(user, "one", TTL, str(seed))
            if not isinstance(held, Lease):
                time.sleep(chance.uniform(0.01, 0.2))
                continue
            write("acquired", began, fence=held.fence)
            for _ in range(chance.randrange(3)):
                time.sleep(TTL * chance.choice((0.1, 0.1, 0.3, 1.5)))
                began = time.monotonic()
                if leases.renew(user, "one", held.token, TTL) is not None:
                    write("renewed", began, fence=held.fence)
            # The resource that the lock protects: it refuses a fence that is lower than one before.
            with connection.cursor() as cursor:
                cursor.execute(
                    "UPDATE locks_resource SET fence = %s, writes = writes || %s::bigint WHERE fence <= %s",
                    [held.fence, held.fence, held.fence],
                )
                writes.value += cursor.rowcount
            # Before the call: a process that is killed within it may have released the lock and cannot say so.
            write("releasing", time.monotonic(), fence=held.fence)
            leases.release(user, "one", held.token)


def test_it_never_has_two_holders(tmp_path: Path) -> None:
    user = make_user()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE locks_resource (fence bigint, writes bigint[])")
        cursor.execute("INSERT INTO locks_resource VALUES (0, '{}')")
    connection.close()
    try:
        log, chance, fork = tmp_path / "history", random.Random(7), get_context("fork")
        count, is_over = fork.Value("i", lock=False), fork.Value("b", lock=False)
        end, killed = time.monotonic() + LONGEST, 0
        workers = [fork.Process(target=work, args=(user, log, seed, count, is_over)) for seed in range(PROCESSES)]
        for one in workers:
            one.start()
        while (count.value < HOLDINGS or killed < 3) and time.monotonic() < end:
            time.sleep(0.05)
            victim = chance.randrange(PROCESSES)
            if (pid := workers[victim].pid) is not None and workers[victim].is_alive():
                os.kill(pid, signal.SIGKILL)
                workers[victim].join()
                killed += 1
                workers[victim] = fork.Process(target=work, args=(user, log, 1000 + killed, count, is_over))
                workers[victim].start()
        is_over.value = 1
        for one in workers:
            one.join(60)
            assert not one.is_alive()
        with connection.cursor() as cursor:
            cursor.execute("SELECT writes FROM locks_resource")
            [writes] = cursor.fetchone()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE locks_resource")
    assert killed >= 3
    assert len(writes) >= HOLDINGS
    assert writes == sorted(writes)
    check([json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")])


def check(history: list[dict[str, float]]) -> None:
    """There is one order of the calls, each somewhere between its beginning and its end, that a lock may show.

    Holdings follow each other by their fence. One may begin once the one before was released, or its time after the
    last acquire or renewal was over; so no later than the end of this call, and not before what it waits for began.
    """
    taken = {int(one["fence"]): one for one in history if one["what"] == "acquired"}
    assert len(taken) == sum(one["what"] == "acquired" for one in history), "a fence was given twice"
    ordered = [taken[fence] for fence in sorted(taken)]
    for before, after in pairwise(ordered):
        calls = [one for one in history if one["fence"] == before["fence"]]
        released = [one["began"] for one in calls if one["what"] == "releasing"]
        extended = max(one["began"] for one in calls if one["what"] != "releasing")
        free_at = min([*released, extended + TTL])
        assert after["ended"] >= free_at, (before, after)
        assert after["ended"] >= before["began"], "the order of fences is not that of time"
