"""A small run of the crash proof; the full one is `script/bench exact`."""

from __future__ import annotations

import pytest

from bench.exact import run


@pytest.mark.django_db(transaction=True)
def test_each_slot_has_one_occurrence_whatever_is_killed_edited_or_set_back() -> None:
    verdict = run(schedules=30, slots=500, seed=1)
    assert verdict.exact, verdict
