"""Patterns, conditions and texts of rules."""

from __future__ import annotations

from typing import Any

import pytest

from events.pure import matching
from events.pure.matching import Condition
from events.reasons import EventCode
from notifications.messages import text

ORDER: dict[str, Any] = {
    "type": "order.paid",
    "source": "shop",
    "data": {
        "amount": 129.5,
        "currency": "EUR",
        "vip": True,
        "items": [{"name": "Lamp"}],
        "note": None,
        "big": "12",
        "tags": [7, "gift"],
    },
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
        ("data.amount", "above", 129.5, False),
        ("data.amount", "below", 129.5, False),
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
        ("data.tags", "contains", "gift", True),
        ("data.tags", "contains", "7", True),
        ("data.note", "exists", None, True),
        ("source", "equals", "shop", True),
    ],
)
def test_a_condition_compares_a_field(field: str, operator: str, value: Any, holds: bool) -> None:
    reason = matching.unmet([Condition(field, operator, value)], ORDER)
    assert (reason is None) is holds
    if reason is not None:
        assert reason.code == EventCode.UNMET


def test_a_condition_without_a_value_reads_as_a_sentence() -> None:
    reason = matching.unmet([Condition("data.currency", "equals", "")], {"data": {"currency": "EUR"}})
    assert str(reason) == "data.currency is EUR; the rule asks that it is (empty)."


@pytest.mark.parametrize("value", [1234567890123456789, "1234567890123456789"])
def test_ids_of_many_digits_are_compared_exactly(value: Any) -> None:
    def holds(operator: str, id: Any) -> bool:
        return matching.unmet([Condition("data.id", operator, value)], {"data": {"id": id}}) is None

    assert holds("equals", 1234567890123456789)
    assert not holds("equals", 1234567890123456788)
    assert holds("below", 1234567890123456788)
    assert holds("above", "1234567890123456790")


@pytest.mark.parametrize("field", ["data.missing", "data.items.1", "data.items.-1", "data.amount.x", "data.items.²"])
def test_a_missing_field_is_named(field: str) -> None:
    reason = matching.unmet([Condition(field, "exists")], ORDER)
    assert reason is not None
    assert (reason.code, reason.params) == (EventCode.MISSING, {"field": field})


def test_texts_are_filled_in_once_and_only_with_fields_of_the_event() -> None:
    sneaky = ORDER | {"data": {"a": "{data.b}", "b": "secret", "n": 3, "o": {"x": 1}}}
    said = matching.fill("{type}: {data.a} {data.n} {data.o} {data.none} {other} {data.a.__class__} { type }", sneaky)
    assert said == 'order.paid: {data.b} 3 {"x": 1} … {other} … { type }'


def test_a_value_is_written_once_and_no_more_of_it_than_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    event = ORDER | {"data": {"a": [{"x": number} for number in range(10_000)]}}
    written: list[int] = []
    shown = matching.shown

    def counted(value: Any, most: int) -> str:
        written.append(len(shown(value, most)))
        return shown(value, most)

    monkeypatch.setattr(matching, "shown", counted)
    said = matching.fill("{data.a} {data.a.0} {data.a.00} " * 390, event)
    assert written == [1_000, 8]
    assert len(said) < text.MAX_BODY + 2_000


def test_a_long_text_is_cut_inside_its_value() -> None:
    event = ORDER | {"data": {"a": {"b": "ü" * 5_000}, "c": "x" * 5_000}}
    assert matching.fill("{data.a}", event) == '{"b": "' + "ü" * 993
    assert matching.fill("{data.c}", event) == "x" * 1_000


def test_all_conditions_of_an_event_together_compare_so_many_values() -> None:
    event = ORDER | {"data": {"many": list(range(40_000))}}
    budget = matching.budget_of_event()
    reasons = [matching.unmet([Condition("data.many", "contains", "none")], event, budget) for _ in range(20)]
    assert [reason and reason.code for reason in reasons] == [EventCode.UNMET] * 12 + [EventCode.TOO_COSTLY] * 8


def test_a_text_has_at_most_a_hundred_placeholders() -> None:
    assert matching.check("{data.amount}" * 100) == []
    assert len(matching.check("{data.amount}" * 101)) == 1


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
        "data.tags.0",
        "data.tags.1",
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
