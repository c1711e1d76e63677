"""The sentences of rules."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest

from events.models import Rule
from events.rules import words


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ""),
        ({"digest_seconds": 3600}, "Gathered for 1 hour"),
        ({"digest_at": time(9, 30)}, "Gathered until 09:30"),
        ({"digest_seconds": 3600, "digest_count": 10}, "Gathered for 1 hour, or until there are 10"),
        (
            {"digest_at": time(9), "digest_count": 10, "digest_key": "data.shop"},
            "Gathered until 09:00, or until there are 10, apart for each data.shop",
        ),
    ],
)
def test_a_rule_says_how_long_it_gathers(fields: dict[str, Any], said: str) -> None:
    assert words.digest(Rule(**fields)) == said


@pytest.mark.parametrize(
    ("count", "said"), [(None, ""), (1, "At most once in 1 hour"), (3, "At most 3 times in 1 hour")]
)
def test_a_rule_says_how_often_it_fires(count: int | None, said: str) -> None:
    assert words.throttle(Rule(throttle_count=count, throttle_seconds=3600)) == said


@pytest.mark.parametrize(
    ("pattern", "source", "said"),
    [("*", "", "any event"), ("order.*", "", "order.*"), ("order.*", "shop", "order.* from shop")],
)
def test_a_rule_says_what_it_listens_to(pattern: str, source: str, said: str) -> None:
    assert words.listens_to(Rule(type_pattern=pattern, source=source)) == said
