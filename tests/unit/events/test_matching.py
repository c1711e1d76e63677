"""Patterns, conditions and texts of rules."""

from __future__ import annotations

from typing import Any

import pytest

from events import matching
from events.matching import Condition
from events.reasons import Code

ORDER: dict[str, Any] = {
    "type": "order.paid",
    "source": "shop",
    "data": {"amount": 129.5, "currency": "EUR", "vip": True, "items": [{"name": "Lamp"}], "note": None, "big": "12"},
}


@pytest.mark.parametrize(
    ("pattern", "type", "fits"),
    [
        ("*", "order.paid", True),
        ("*", "delivery.dead", False),
        ("delivery.*", "delivery.dead", True),
        ("order.*", "order.paid", True),
        ("order.*", "order.item.sold", True),
        ("order.paid", "order.paid", True),
        ("order.*", "orders.paid", False),
        ("order.*", "order", False),
        ("order", "order.paid", False),
    ],
)
def test_a_pattern_is_a_type_or_its_beginning(pattern: str, type: str, fits: bool) -> None:
    assert matching.fits_pattern(pattern, type) is fits


@pytest.mark.parametrize(
    ("field", "operator", "value", "holds"),
    [
        ("data.amount", "above", 100, True),
        ("data.amount", "above", "100", True),
        ("data.amount", "below", 100, False),
        ("data.big", "above", 9, True),
        ("data.currency", "above", 1, False),
        ("data.currency", "equals", "EUR", True),
        ("data.amount", "equals", "129.50", True),
        ("data.vip", "equals", True, True),
        ("data.vip", "equals", "true", True),
        ("data.vip", "equals", 1, False),
        ("data.note", "equals", None, True),
        ("data.currency", "differs", "USD", True),
        ("data.currency", "contains", "eu", True),
        ("data.items.0.name", "equals", "Lamp", True),
        ("data.items", "contains", "Lamp", False),
        ("data.note", "exists", None, True),
        ("source", "equals", "shop", True),
    ],
)
def test_a_condition_compares_a_field(field: str, operator: str, value: Any, holds: bool) -> None:
    reason = matching.unmet([Condition(field, operator, value)], ORDER)
    assert (reason is None) is holds
    if reason is not None:
        assert reason.code == Code.UNMET


@pytest.mark.parametrize("field", ["data.missing", "data.items.1", "data.items.-1", "data.amount.x", "data.items.²"])
def test_a_missing_field_is_named(field: str) -> None:
    reason = matching.unmet([Condition(field, "exists")], ORDER)
    assert reason is not None
    assert (reason.code, reason.params) == (Code.MISSING, {"field": field})


def test_texts_are_filled_in_once_and_only_with_fields_of_the_event() -> None:
    sneaky = ORDER | {"data": {"a": "{data.b}", "b": "secret", "n": 3, "o": {"x": 1}}}
    said = matching.fill("{type}: {data.a} {data.n} {data.o} {data.none} {other} {data.a.__class__} { type }", sneaky)
    assert said == 'order.paid: {data.b} 3 {"x": 1} … {other} … { type }'


def test_placeholders_that_no_event_can_fill_are_named() -> None:
    assert matching.check("{data.amount} {type} {a b} {}") == []
    [unknown] = matching.check("{amount}")
    assert "{amount}" in unknown
    assert "{data." in unknown
    [deep] = matching.check("{data" + ".x" * 50 + "}")
    assert str(matching.DEEPEST) in deep


@pytest.mark.parametrize("pattern", ["*", "order.*", "order.item.*", "order.paid", "a-b_c.9"])
def test_a_pattern_that_some_type_fits_is_one(pattern: str) -> None:
    assert matching.PATTERN.fullmatch(pattern)


@pytest.mark.parametrize("pattern", ["", "order", "order.", ".*", "**", "order.*.paid", "Order.paid", "ö.x", "a b.c"])
def test_a_pattern_that_no_type_fits_is_none(pattern: str) -> None:
    assert not matching.PATTERN.fullmatch(pattern)


def test_the_fields_of_an_event_are_those_that_a_placeholder_can_name() -> None:
    assert matching.fields(ORDER["data"]) == [
        "data.amount",
        "data.currency",
        "data.vip",
        "data.note",
        "data.big",
        "data.items.0.name",
    ]
    assert matching.fields({"not a name": 1, "a": {"b c": 2, "d": []}}) == []
    deep: Any = 1
    for _ in range(30):
        deep = {"x": deep}
    assert matching.fields({"deep": deep, "wide": {f"n{number}": number for number in range(500)}})[0] == "data.wide.n0"
    assert len(matching.fields({f"n{number}": {"x": [1] * 100} for number in range(100)})) == 30


def test_fields_that_a_text_names_and_an_event_lacks_are_listed_once() -> None:
    assert matching.missing("{data.x} {data.x} {data.amount} {other} {time}", ORDER) == ["data.x", "time"]


@pytest.mark.parametrize(
    "stored",
    [None, "x", {}, [None], [{"field": 3, "operator": "exists"}], [{"field": "data.x", "operator": "is"}], [{}]],
)
def test_damaged_conditions_are_refused(stored: Any) -> None:
    with pytest.raises(ValueError, match="damaged"):
        matching.read_conditions(stored)


def test_numbers_are_decided_by_value_and_never_raise() -> None:
    for value in ("1e999", "nan", "", [], {}, None, True):
        matching.unmet([Condition("data.amount", "above", value)], ORDER)
        matching.unmet([Condition("data.amount", "equals", value)], ORDER)
