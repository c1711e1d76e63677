"""Counters to which many add at once, some in transactions that take long or are rolled back."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.db import connection, transaction

from counters import counting
from people.models import User
from tests.make import make_user

pytestmark = pytest.mark.django_db(transaction=True)

THREADS, ADDITIONS = 8, 50


class TakenBackError(Exception):
    pass


def add(user: User, seed: int) -> int:
    """Returns the sum of what was committed."""
    chance, total = random.Random(seed), 0
    try:
        for _ in range(ADDITIONS):
            by = chance.randrange(-5, 10)
            with suppress(TakenBackError), transaction.atomic():
                counting.add(user, "one", by)
                if chance.random() < 0.2:
                    raise TakenBackError
                total += by
    finally:
        connection.close()
    return total


def test_nothing_is_lost_and_nothing_counted_twice() -> None:
    user = make_user()
    with ThreadPoolExecutor(THREADS) as pool:
        total = sum(pool.map(add, [user] * THREADS, range(THREADS)))
    assert counting.values(user) == {"one": total}
