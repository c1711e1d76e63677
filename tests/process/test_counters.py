"""Counters to which many add at once, some in transactions that take long or are rolled back."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.db import connection, transaction

from counters import totals
from counters.models import Rollup
from people import tokens
from people.models import ApiToken, User
from tests.make import make_user, make_watch
from tests.process.conftest import wait_until
from tests.process.web import Web
from work.models import PersonTotal

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
                totals.add(user, "one", by)
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
    assert totals.values(user) == {"one": total}


def test_a_web_process_counts_pings_calls_and_additions_and_writes_them_soon(ada: User) -> None:
    bearer, watch = tokens.create(ada, "Test", list(tokens.SCOPES), None)[1], make_watch(ada, [])
    headers = {"Authorization": f"Bearer {bearer}", "Content_Type": "application/json"}
    totals, days = PersonTotal.objects.filter(user=ada, span=0), Rollup.objects.filter(user=ada, span=86_400)
    with Web() as web:
        for _ in range(3):
            assert web.ask("GET", f"/ping/{watch.token}").status == 200
            assert web.ask("POST", "/api/v1/counters", b'{"name": "builds", "by": 5}', **headers).status == 200
        wait_until(lambda: dict(totals.values_list("kind", "tries")) == {"ping": 3, "api": 3})
        wait_until(lambda: sum(days.values_list("value", flat=True)) == 15)
        wait_until(lambda: ApiToken.objects.get(user=ada).calls == 3)
