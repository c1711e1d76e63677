"""Values of pages, as shops write them."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jobs.reading import extract

INPUTS = Path(__file__).with_name("inputs")
CASES = [case for case in json.loads((INPUTS / "cases.json").read_text()) if case["file"].endswith(".html")]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['file']}: {case['why']}" for case in CASES])
def test_prices_of_the_kinds_that_others_misread(case: dict[str, Any]) -> None:
    found = extract.value((INPUTS / case["file"]).read_bytes(), "text/html", "html", case["selector"], "")
    assert found is not None and found["number"] is not None and Decimal(found["number"]) == Decimal(case["number"])


@pytest.mark.parametrize(
    ("html", "number"),
    [
        ("$1,299<sup>99</sup>", "1299.99"),
        ("1.299<sup>95</sup> €", "1299.95"),
        ("19,<sup>99</sup>", "19.99"),
        ("<span>$</span>19 <sup> 99 </sup>", "19.99"),
        ("12 m<sup>2</sup>", "12"),
        ("19<sup>99 €</sup>", "19.99"),
        ("19<sup>,99 €</sup>", "19.99"),
        ("1299<sup>1</sup> €", "1299"),
        ("1299 €<sup>1)</sup>", "1299"),
        ("12 990 kr<sup>1</sup>", "12990"),
        ("19,99<sup>2</sup> €", "19.99"),
        ("1,75<sup>9</sup> €", "1.759"),
        ("42 €<sup>99</sup>", "42.99"),
        ("42 €<sup>10)</sup>", "42"),
        ("42<small>99</small> €", "42.99"),
        ("$1,234<span class='price__decimals'>56</span>", "1234.56"),
        ("<span class=int>42</span><span class=price-cents>99</span> €", "42.99"),
        ("<i>12</i> <i>€</i> <i class=cent>,99</i>", "12.99"),
        ("<b>$</b><b class=amount__fraction>12.999</b><b class=amount__cents--superscript-24>50</b>", "12999.5"),
        ("<span>1 299</span><span class=grosze>99</span> zł", "1299.99"),
        ("<span>19<span class=a-price-decimal>.</span></span><span class=a-price-fraction>99</span>", "19.99"),
    ],
)
def test_raised_cents_are_a_fraction(html: str, number: str) -> None:
    found = extract.value(f"<p class=p>{html}</p>".encode(), "text/html", "html", ".p", "")
    assert found is not None and found["number"] == number


@pytest.mark.parametrize(
    "html",
    [
        "<span style='color:red; display: none'>99</span>12,50 €",
        "<b hidden>7</b>12,50 €",
        "<s>49,99 €</s> 12,50 €",
        "<del>49,99 €</del><ins>12,50 €</ins>",
        "<span style='color:red; text-decoration: line-through'>49,99 €</span> 12,50 €",
        "<span style='text-decoration-line:line-through'>49,99 €</span> 12,50 €",
        "<span class='text-sm line-through'>49,99 €</span><span>12,50 €</span>",
        "<span class=product__price--old>49,99 €</span><span>12,50 €</span>",
        "<i class=discount_original_price>49,99€</i><i class=discount_final_price>12,50€</i>",
        "<i class=oldPrice>49,99 €</i><i class=strike-price>12,50 €</i>",
        "<i class=gold-price>12,50 €</i>",
        "<del aria-hidden=true>49,99 €</del> <span class=screen-reader-text>Original price was: 49,99 €.</span>"
        "<ins aria-hidden=true>12,50 €</ins><span class=screen-reader-text>Current price is: 12,50 €.</span>",
        "statt 49,99 € 12,50 €",
        "UVP: €49,99 €12,50",
        "was $49.99 now $12.50",
        "Original price $49.99 Current price $12.50",
        "Ursprünglicher Preis war: 49,99 € Aktueller Preis ist: 12,50 €.",
    ],
)
def test_what_is_not_shown_or_struck_out_does_not_count(html: str) -> None:
    found = extract.value(f"<p class=p>{html}</p>".encode(), "text/html", "html", ".p", "")
    assert found is not None and found["number"] == "12.5"


def test_what_is_struck_out_counts_where_nothing_else_is_there() -> None:
    found = extract.value(b"<p class=p><s>49.99 $</s></p>", "text/html", "html", ".p", "")
    assert found is not None and found["number"] == "49.99"


def test_the_pages_language_helps() -> None:
    def read(language: str) -> tuple[str | None, str | None]:
        page = f'<!doctype html><html class="x" lang="{language}"><p class=p>1.299 €</p>'
        found = extract.value(page.encode(), "text/html", "html", ".p", "")
        assert found is not None and (found["text"], found["unit"]) == ("1.299 €", "EUR")
        return found["number"], found["other"]

    assert read("de-AT") == ("1299", None)
    assert read("es_MX") == ("1.299", "1299")
    assert read("") == ("1299", "1.299")


@pytest.mark.parametrize(
    ("html", "number"),
    [
        ("<meta class=p content='19.99'>", "19.99"),
        ("<input class=p value='19.99'>", "19.99"),
        ("<i class='p stars' aria-label='4.5 out of 5'></i>", "4.5"),
        ("<p class=p><img src=x></p>", None),
        ("<p class=p>1&shy;299,00 €", "1299"),
        ("<p class=p>1&#8203;299,00 €", "1299"),
        ("<p class=p>\u2066$\u20691,299.50", "1299.5"),
        ("<p class=p>\uff0d2.5 %", "-2.5"),
        ("<p class=p>1 EUR = 1.0875 USD", "1.0875"),
        ("<p class=p>100 JPY = 0.58 EUR", "0.58"),
        ("<p class=p>19.99 € (= 21.50 $)", "19.99"),
        ("<p class=p>1 Euro equals 1.09 dollars", "1.09"),
        ("<p class=p>1´234.56", "1234.56"),
        ("<p class=p>1‘234.56", "1234.56"),
        ("<p class=p>CHF –.95", "0.95"),
        ("<p class=p>-.95 CHF", "0.95"),
        ("<p class=p>-.95", "-0.95"),
        ("<p class=p>1.2B views", "1200000000"),
        ("<p class=p>5B", "5"),
        ("<p class=p>1,2 M de vues", "1200000"),
        ("<p class=p>3,4 tys.", "3400"),
        ("<p class=p>1.2 thousand", "1200"),
        ("<p class=p>Super E10 1,859 €/l", "1.859"),
        ("<html lang=de><p class=p>1.859 € pro Liter", "1.859"),
        ("<p class=p>Was $19.99 (3 reviews)", "19.99"),
    ],
)
def test_numbers_are_read_as_pages_write_them(html: str, number: str | None) -> None:
    found = extract.value(html.encode(), "text/html; charset=utf-8", "html", ".p", "")
    assert (found and found["number"]) == number


@pytest.mark.parametrize("text", ["aus&shy;verkauft", "aus&#8203;verkauft", "&lrm;ausverkauft", "ausverkauft&nbsp;"])
def test_a_text_has_no_characters_that_nobody_sees(text: str) -> None:
    found = extract.value(f"<p class=p>{text}".encode(), "text/html", "html", ".p", "")
    assert found is not None and found["text"] == "ausverkauft"


def test_a_text_has_its_accents_as_they_are_typed() -> None:
    found = extract.value("<p class=p>e\u0301puise\u0301".encode(), "text/html; charset=utf-8", "html", ".p", "")
    assert found is not None and found["text"] == "épuisé"
