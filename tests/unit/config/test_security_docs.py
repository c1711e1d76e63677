"""The tables of security name tests that exist, and say what is met."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", ["asvs.md", "security.md"])
def test_every_test_that_a_table_names_exists(name: str) -> None:
    """`test_x.py` alone stands beside another one: it is in any folder of tests."""
    named = set(re.findall(r"`((?:tests/|admin/)?[\w/]*test_\w+\.py)`", (_CHECKOUT / "docs" / name).read_text()))
    assert len(named) > 30
    assert [one for one in named if not list((_CHECKOUT / "tests").rglob(one.removeprefix("tests/")))] == []


def test_the_table_of_asvs_has_every_requirement_once_and_few_exceptions() -> None:
    text = (_CHECKOUT / "docs" / "asvs.md").read_text()
    states: dict[str, str] = {}
    for requirements, state in re.findall(r"^\| (\d[^|]*) \| (met|partly|not|n/a) \|", text, re.M):
        for first, last in re.findall(r"(\d+\.\d+\.\d+)(?: to (\d+\.\d+\.\d+))?", requirements):
            section, number = first.rsplit(".", 1)
            for each in range(int(number), int((last or first).rsplit(".", 1)[1]) + 1):
                assert f"{section}.{each}" not in states
                states[f"{section}.{each}"] = state
    counts = {state: list(states.values()).count(state) for state in ("met", "partly", "not", "n/a")}
    assert f"All {len(states)} requirements: {counts['met']} met, {counts['partly']} partly, " in text
    assert (len(states), counts["not"], counts["partly"] <= 10) == (253, 0, True)
