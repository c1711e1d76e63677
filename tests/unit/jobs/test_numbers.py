"""The numbers of pages."""

from decimal import Decimal

import pytest

from jobs.reading.numbers import number, shown

READ = {
    "1.234,56 €": "1234.56",
    "1,234.56": "1234.56",
    "USD 1,234.56 incl. 19 % VAT": "1234.56",
    "1 234,5 €": "1234.5",
    "1\u202f234,5 €": "1234.5",
    "1’234.50 CHF": "1234.50",
    "1.234.567": "1234567",
    "12,34,567": "1234567",
    "1.234": "1.234",
    "1,234": "1234",
    "0,234": "0.234",
    "1,23": "1.23",
    ".5": "0.5",
    "007": "7",
    "10 20": "10",
    "1.5e-05": "0.000015",
    "5e": "5",
    "-3 %": "-3",
    "− 3 %": "-3",
    "-€3": "-3",
    "change: -0.4": "-0.4",
    "A-3": "3",
    "10-12": "10",
    "Price - 5": "5",
}
NONE = ["", "none", "€", "1.2.3", "22.11.2026", "1.234,567.8", "1,2,3", "NaN", "Infinity", "1" * 41, "-", ".", "²"]


@pytest.mark.parametrize(("text", "read"), READ.items())
def test_a_number_is_read_as_it_is_written(text: str, read: str) -> None:
    assert number(text) == Decimal(read)


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_number_is_not_guessed(text: str) -> None:
    assert number(text) is None


@pytest.mark.parametrize(
    ("text", "mark", "read"),
    [
        ("1.234", ",", 1234),
        ("1,234", ".", 1234),
        ("1.234,5", ",", Decimal("1234.5")),
        ("1,5", ",", Decimal("1.5")),
        ("1,234.56", ",", None),
        ("1.234,56", ".", None),
        ("1.5", ",", None),
    ],
)
def test_a_known_decimal_mark_leaves_nothing_to_guess(text: str, mark: str, read: Decimal | None) -> None:
    assert number(text, mark) == read


def test_a_number_is_shown_without_needless_zeros() -> None:
    assert [shown(Decimal(text)) for text in ("1234.50", "100", "-0.10", "1E+3", "0.0")] == [
        *("1234.5", "100", "-0.1", "1000", "0")
    ]
