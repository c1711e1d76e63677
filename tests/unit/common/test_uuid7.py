"""Ids made before the insert: version 7, and in the order in which they were made."""

from __future__ import annotations

import time
from datetime import timedelta
from uuid import RFC_4122, UUID, uuid4

import pytest

from common.uuid7 import first_of, is_recent, uuid7
from tests.make import NOON


def test_ids_are_of_version_7_and_carry_the_time() -> None:
    before, made, after = time.time_ns() // 1_000_000, uuid7(), time.time_ns() // 1_000_000
    assert (made.version, made.variant) == (7, RFC_4122)
    assert before <= made.int >> 80 <= after


def test_ids_of_one_process_stand_in_the_order_in_which_they_were_made() -> None:
    made = [uuid7() for _ in range(1_000)]
    assert made == sorted(set(made))


@pytest.mark.parametrize(
    ("made", "recent"),
    [
        (timedelta(0), True),
        (timedelta(hours=-23), True),
        (timedelta(hours=-25), False),
        (timedelta(minutes=4), True),
        (timedelta(minutes=6), False),
        (timedelta(days=80_000), False),
    ],
)
def test_an_id_that_a_form_brings_is_of_the_last_day_and_not_of_the_future(made: timedelta, recent: bool) -> None:
    milliseconds = int((NOON + made).timestamp() * 1000)
    key = UUID(int=milliseconds << 80 | 0x7 << 76 | 0x2 << 62)
    assert is_recent(key, NOON) is recent


def test_an_id_of_another_version_is_never_recent() -> None:
    assert not is_recent(uuid4(), NOON)
    assert not is_recent(first_of(NOON), NOON)
