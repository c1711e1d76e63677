"""Rules in words, in other languages than English."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import translation

from schedules.rules import parse


@pytest.mark.parametrize(
    ("expression", "kind", "data"),
    [
        ("0 9 * * *", "daily", {"time": "09:00"}),
        ("30 8 * * 1-5", "weekly", {"time": "08:30", "days": [0, 1, 2, 3, 4]}),
        ("30 8 * * 0,4", "weekly", {"time": "08:30", "days": [3, 6]}),
        ("0 9 5 * *", "monthly", {"time": "09:00", "day": 5}),
        ("0 9 L * *", "monthly", {"time": "09:00", "day": "last"}),
    ],
)
def test_a_common_cron_expression_reads_as_the_plain_rule(expression: str, kind: str, data: dict[str, Any]) -> None:
    with translation.override("de"):
        described = parse("cron", {"expression": expression}, "Europe/Berlin").describe()
        assert described.startswith(parse(kind, data, "Europe/Berlin").describe())
        assert expression in described


@pytest.mark.parametrize("expression", ["17 */7 * 2,3 *", "0 9 13 * 5", "*/5 8-17 * * *", "0 9 * * 1#2"])
def test_another_cron_expression_is_not_said_in_english(expression: str) -> None:
    rule = parse("cron", {"expression": expression}, "UTC")
    in_english = rule.describe()
    with translation.override("es"):
        described = rule.describe()
    assert expression in described
    assert in_english.split(",")[0] not in described


def test_a_rule_of_each_readers_clock_names_no_zone() -> None:
    rule = parse("weekly", {"time": "09:00", "days": [0]}, "Pacific/Kiritimati")
    assert rule.describe(readers=True) == "Every Monday at 09:00 on each reader’s clock"
