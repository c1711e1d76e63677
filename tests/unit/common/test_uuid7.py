"""Ids made before the insert: version 7, and in the order in which they were made."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from uuid import RFC_4122, UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from common.uuid7 import child, first_of, is_recent, of_slot, uuid7
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


def test_the_id_of_a_slot_follows_from_its_schedule_and_its_instant() -> None:
    schedule, other = uuid4(), uuid4()
    made = of_slot(NOON, schedule)
    assert (made.version, made.variant) == (7, RFC_4122)
    assert made.int >> 80 == NOON.timestamp() * 1000
    in_berlin = NOON.astimezone(ZoneInfo("Europe/Berlin"))
    assert made == of_slot(in_berlin, schedule) == of_slot(NOON, UUID(str(schedule)))
    different = {of_slot(NOON, other), of_slot(NOON + timedelta(microseconds=1), schedule), made}
    assert len(different) == 3
    assert first_of(NOON) <= made < first_of(NOON + timedelta(milliseconds=1))
    assert first_of(datetime(1, 1, 1, tzinfo=UTC)) == UUID(int=0)


def test_an_id_that_is_derived_has_the_time_of_its_parent() -> None:
    parents = [uuid7() for _ in range(100)]
    children = [child(parent, 7) for parent in parents]
    assert children == [child(parent, 7) for parent in parents] == sorted(set(children))
    assert {(one.version, one.variant) for one in children} == {(7, RFC_4122)}
    assert child(parents[0], 8) != child(parents[0], 7)
    assert [one.int >> 64 for one in children] == [one.int >> 64 for one in parents]


def test_what_no_time_is_known_of_gets_a_new_id() -> None:
    parent = uuid4()
    assert child(parent, 7).version == 7
    assert child(parent, 7) != child(parent, 7)
