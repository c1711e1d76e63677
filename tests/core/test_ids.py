"""Ids made before the insert: version 7, and in the order in which they were made."""

from __future__ import annotations

import time
from uuid import RFC_4122

from common.uuid7 import uuid7


def test_ids_are_of_version_7_and_carry_the_time() -> None:
    before, made, after = time.time_ns() // 1_000_000, uuid7(), time.time_ns() // 1_000_000
    assert (made.version, made.variant) == (7, RFC_4122)
    assert before <= made.int >> 80 <= after


def test_ids_of_one_process_stand_in_the_order_in_which_they_were_made() -> None:
    made = [uuid7() for _ in range(1_000)]
    assert made == sorted(set(made))
