"""Values of pages, as shops write them."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jobs.reading import pages

INPUTS = Path(__file__).with_name("inputs")
CASES = [case for case in json.loads((INPUTS / "cases.json").read_text()) if case["file"].endswith(".html")]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['file']}: {case['why']}" for case in CASES])
def test_prices_of_the_kinds_that_others_misread(case: dict[str, Any]) -> None:
    found = pages.value((INPUTS / case["file"]).read_bytes(), "text/html", "html", case["selector"], "")
    assert found is not None and found["number"] is not None and Decimal(found["number"]) == Decimal(case["number"])


@pytest.mark.parametrize(
    ("html", "number"),
    [
        ("$1,299<sup>99</sup>", "1299.99"),
        ("1.299<sup>95</sup> €", "1299.95"),
        ("19,<sup>99</sup>", "19.99"),
        ("<span>$</span>19 <sup> 99 </sup>", "19.99"),
        ("12 m<sup>2</sup>", "12"),
    ],
)
def test_raised_cents_are_a_fraction(html: str, number: str) -> None:
    found = pages.value(f"<p class=p>{html}</p>".encode(), "text/html", "html", ".p", "")
    assert found is not None and found["number"] == number


@pytest.mark.parametrize(
    "html",
    [
        "<span style='color:red; display: none'>99</span>12,50 €",
        "<b hidden>7</b>12,50 €",
        "<s>49,99 €</s> 12,50 €",
        "<del>49,99 €</del><ins>12,50 €</ins>",
    ],
)
def test_what_is_not_shown_or_struck_out_does_not_count(html: str) -> None:
    found = pages.value(f"<p class=p>{html}</p>".encode(), "text/html", "html", ".p", "")
    assert found is not None and found["number"] == "12.5"


def test_what_is_struck_out_counts_where_nothing_else_is_there() -> None:
    found = pages.value(b"<p class=p><s>49.99 $</s></p>", "text/html", "html", ".p", "")
    assert found is not None and found["number"] == "49.99"


def test_the_pages_language_helps() -> None:
    def read(language: str) -> tuple[str | None, str | None]:
        page = f'<!doctype html><html class="x" lang="{language}"><p class=p>1.299 €</p>'
        found = pages.value(page.encode(), "text/html", "html", ".p", "")
        assert found is not None and (found["text"], found["unit"]) == ("1.299 €", "EUR")
        return found["number"], found["other"]

    assert read("de-AT") == ("1299", None)
    assert read("es_MX") == ("1.299", "1299")
    assert read("") == ("1299", "1.299")
