"""The decision on an answer, on what is given back, and on leases that expired."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from events.kinds.event import EVENT
from work.answers import Ambiguous, Answer, Defer, Done, Rejected, Retryable
from work.engine.decision import SPREAD, Decision, decide, decide_lost, give_back
from work.kinds import Lease
from work.reasons import NO_REASON, Reason, WorkCode
from work.retry import Policy


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


REASON = Reason(WorkCode.FAULT)
# Of three tries, which may be repeated unless its row wants to hold it.
SAMPLE: Any = SimpleNamespace(
    words=SimpleNamespace(done="done"),
    may_repeat=lambda handler, on_unknown: on_unknown != "hold",
    policy=lambda handler: Policy(3, (60, 6)),
    next_try=lambda claim, wait, reason: Defer(wait, reason),
    lost=lambda handler: REASON,
)


@pytest.mark.parametrize(
    ("answer", "tries", "on_unknown", "expected"),
    [
        (Done(REASON), 1, "", Decision("done", "done", REASON)),
        (Rejected(REASON), 1, "", Decision("dead", "rejected", REASON)),
        (Ambiguous(REASON), 1, "hold", Decision("unknown", "ambiguous", REASON)),
        (Ambiguous(REASON), 1, "", Decision("pending", "ambiguous", REASON, 60.0, 54.0)),
        (Ambiguous(REASON), 3, "", Decision("dead", "ambiguous", REASON)),
        (Retryable(REASON), 1, "hold", Decision("pending", "retryable", REASON, 60.0, 54.0)),
        (Retryable(REASON), 2, "", Decision("pending", "retryable", REASON, 6.0, 16.0)),
        (Retryable(REASON, 1000.0), 2, "", Decision("pending", "retryable", REASON, 1050.0, 1044.0)),
        (Retryable(REASON), 3, "", Decision("dead", "retryable", REASON)),
    ],
)
def test_what_follows_an_answer(answer: Answer, tries: int, on_unknown: str, expected: Decision) -> None:
    claim: Any = Lease(id=uuid4(), token=uuid4(), tries=tries, on_unknown=on_unknown)
    assert decide(SAMPLE, claim, answer, 0.5) == expected


@pytest.mark.parametrize(
    ("tries", "on_unknown", "most_tries", "state"),
    [
        (2, "", None, "pending"),
        (3, "", None, "dead"),
        (1, "", 1, "dead"),
        (3, "", 4, "pending"),
        (1, "hold", 5, "unknown"),
    ],
)
def test_what_follows_a_lost_lease(tries: int, on_unknown: str, most_tries: int | None, state: str) -> None:
    lease = Lease(id=uuid4(), token=uuid4(), tries=tries, on_unknown=on_unknown)
    lost = decide_lost(SAMPLE, lease, most_tries, 0.5)
    assert (lost.state, lost.outcome, lost.counted) == (state, "lost", True)


def test_what_is_given_back_for_a_while_is_woken_in_time() -> None:
    assert give_back(REASON, 5.0) == Decision("pending", "released", REASON, 5.0, 15.0, counted=False)
    assert give_back(REASON, 60.0) == Decision("pending", "released", REASON, 60.0, 54.0, counted=False)
