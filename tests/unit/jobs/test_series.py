"""The number of a step in a stored payload."""

from __future__ import annotations

import pytest

from jobs.checks.series import is_step


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({}, True),
        *[({"step": step}, True) for step in (0, 2)],
        *[({"step": step}, False) for step in (-1, 3, 1.0, True, "1", None)],
    ],
)
def test_only_the_numbers_of_its_three_steps_belong_to_a_series(payload: dict[str, object], expected: bool) -> None:
    assert is_step(payload, 3) is expected
