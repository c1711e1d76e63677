from __future__ import annotations

import pickle

import pytest

from common.parsing.budget import Budget, OverBudget


def test_what_is_spent_together_counts_together() -> None:
    budget = Budget(items=10, characters=10)
    budget.items(6)
    budget.characters(10)
    budget.items(4)
    with pytest.raises(OverBudget) as refusal:
        budget.items()
    assert (refusal.value.what, refusal.value.most) == ("items", 10)
    with pytest.raises(OverBudget) as refusal:
        budget.characters(1)
    assert (refusal.value.what, refusal.value.most) == ("characters", 10)


def test_a_loop_that_spends_items_ends_at_its_seconds() -> None:
    budget = Budget(seconds=0.01, items=10**12)
    with pytest.raises(OverBudget) as refusal:
        while True:
            budget.items()
    assert (refusal.value.what, refusal.value.most) == ("seconds", 0.01)


def test_the_refusal_names_its_limit_also_after_a_process() -> None:
    refusal = pickle.loads(pickle.dumps(OverBudget("items", 1_000)))  # noqa: S301 - its own
    assert (refusal.what, refusal.most) == ("items", 1_000)
    assert "1,000" in str(refusal)
