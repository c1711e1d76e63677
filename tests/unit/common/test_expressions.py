"""Expressions over JSON: what they find, and what they may cost."""

from __future__ import annotations

import time
from typing import Any

import pytest

from common.parsing import expressions
from common.parsing.budget import Budget
from common.texts.refusal import Refusal

DOCUMENT: dict[str, Any] = {
    "headers": {"x-github-event": "push"},
    "body": {"action": "opened", "items": [{"price": 3}, {"price": 4}], "n": "7"},
}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("body.action", "opened"),
        ('headers."x-github-event"', "push"),
        ("join('.', ['github', body.action])", "github.opened"),
        ("{sum: sum(body.items[].price), n: to_number(body.n)}", {"sum": 7, "n": 7}),
        ("body.items[?price > `3`].price | [0]", 4),
        ("body.nothing", None),
        ("'order.paid'", "order.paid"),
        ("to_string(body.items[0])", '{"price":3}'),
        ('to_string(`["\u00fc"]`)', '["ü"]'),
        ("map(&price, body.items)", [3, 4]),
        ("max_by(body.items, &price)", {"price": 4}),
        ("merge(body.items[0], {tax: `1`})", {"price": 3, "tax": 1}),
    ],
)
def test_an_expression_finds_a_value(expression: str, found: Any) -> None:
    assert expressions.find(expression, DOCUMENT, Budget()) == found


@pytest.mark.parametrize(
    "expression",
    [
        "body.",
        "body[",
        "unknown(body)",
        "x" * 501,
        "[" * 200 + "]" * 200,
        "{a:@,b:@}" + "|{a:@,b:@}" * 30,
        "[@,@][]" + "|[@,@][]" * 30,
        "join('', [@,@])" + "|join('', [@,@])" * 20,
        "[to_string(@),to_string(@)]" + "|[to_string(@),to_string(@)]" * 15,
        "to_string([@])" + "|to_string([@])" * 25,
        "merge({a:@}, {b:@})" + "|merge({a:@}, {b:@})" * 20,
        "map(&[@,@], [@,@])" + "|map(&[@,@], @)" * 20,
        "[@,@]" + "|sort_by([@,@][], &to_string(@))" * 20,
        "sort_by(body.items, &@)",
        "&body",
        "{body: &body}",
        "min_by(`[1, 2]`, &to_string(&@))",
        "to_number('1e999')",
        "[to_number('NaN')]",
        "sum(body)",
        "join('', body.items)",
        "sort(body.items)",
        "",
    ],
)
def test_what_cannot_be_used_says_so_at_once(expression: str) -> None:
    began = time.process_time()
    with pytest.raises(Refusal) as refused:
        expressions.find(expression, DOCUMENT, Budget())
    assert str(refused.value)
    assert time.process_time() - began < 1.0
