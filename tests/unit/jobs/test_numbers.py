"""The numbers of pages."""

from decimal import Decimal

import pytest

from jobs.reading.numbers import mark_of, number, shown

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
    "1.299,- €": "1299",
    "1.299,\u2013 €": "1299",
    "99,-": "99",
    "CHF 1’299.\u2014": "1299",
    "1\u2009299,50 €": "1299.5",
    "1\u2007299 €": "1299",
    "\u0661\u066c\u0662\u0663\u0664\u066b\u0665\u0666 \u0631.\u0633": "1234.56",
    "\u0967\u0968\u0969.\u096a\u096b": "123.45",
    "\uff11\uff0c\uff12\uff13\uff14\u5186": "1234",
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


@pytest.mark.parametrize(
    ("text", "language", "read"),
    [
        ("1.234 €", "de", 1234),
        ("1.234 €", "en", Decimal("1.234")),
        ("1.234 €", "", Decimal("1.234")),
        ("1.234 kr", "", 1234),
        ("$1,234", "de", 1234),
        ("1,234 kg", "de", Decimal("1.234")),
        ("1,5", "en", Decimal("1.5")),
    ],
)
def test_in_doubt_the_unit_or_the_language_of_the_page_says_which_mark_it_is(
    text: str, language: str, read: Decimal
) -> None:
    assert number(text, mark_of(text, language)) == read
