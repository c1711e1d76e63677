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
    assert found is not None and found[1] is not None and Decimal(found[1]) == Decimal(case["number"])


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
    assert found is not None and found[1] == number


def test_the_pages_language_helps() -> None:
    page = '<!doctype html><html class="x" lang="de-AT"><p class=p>1.299 €</p>'
    assert pages.value(page.encode(), "text/html", "html", ".p", "") == ("1.299 €", "1299")
