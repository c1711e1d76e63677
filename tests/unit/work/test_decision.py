"""The decision on what is given back, and on leases that expired."""

from __future__ import annotations

from uuid import uuid4

import pytest

from events.kinds.event import EVENT
from work.engine.decision import SPREAD, decide_lost, give_back
from work.kinds import Lease
from work.reasons import NO_REASON


def test_what_is_given_back_without_a_wait_is_available_at_once() -> None:
    given = give_back(NO_REASON)
    assert (given.state, given.wait, given.wake, given.counted) == ("pending", 0.0, 0.0, False)


@pytest.mark.parametrize(("tries", "wake"), [(1, 0.0), (2, 0.25 * SPREAD)])
def test_only_work_that_was_lost_before_is_published_later(tries: int, wake: float) -> None:
    lost = decide_lost(EVENT, Lease(id=uuid4(), token=uuid4(), tries=tries), 5, 0.25)
    assert (lost.state, lost.wait, lost.wake) == ("pending", 0.0, wake)


@pytest.mark.parametrize(("tries", "state"), [(4, "pending"), (5, "dead"), (6, "dead")])
def test_work_that_is_lost_at_its_last_try_is_dead(tries: int, state: str) -> None:
    assert decide_lost(EVENT, Lease(id=uuid4(), token=uuid4(), tries=tries), 5, 0.25).state == state
