"""What expressions find in pages, and that no page and no expression takes long."""

import resource
import time

import pytest

from common.parsing import pool
from common.parsing.budget import Budget, OverBudget
from common.parsing.pool import parsed
from common.texts.refusal import Refusal
from jobs.reading import extract

PAGE = r"""<!doctype html><meta itemprop=price content="19.99"><title>T</title>
<div id=main class="a b"><p>One<p>Two <b>bold</b>
<table><tr><td>1<td>2<tr><td>3</table>
<ul><li>x<li class="md:flex y">y<li>z</ul>
<span class=price data-old="29">1<sup>99</sup> €<script>bad()</script><style>.x{}</style></span></div>"""


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (".price", "1.99 €"),
        (".price::attr(data-old)", "29"),
        ("meta[itemprop=price]::attr(content)", "19.99"),
        ("#main > p:nth-child(2)", "Two bold"),
        ("p + p b", "bold"),
        ("table > tbody > tr:nth-child(2) > td", "3"),
        ("li:nth-of-type(2n+1)", "x"),
        ("li ~ li", "y"),
        (r".md\:flex", "y"),
        ("li:not(.y):not(:first-child)", "z"),
        ("LI:first-of-type", "x"),
        ("[class~=b] ul li", "x"),
        ("[class^=md] , title", "T"),
        ("#main", "One Two bold 1 2 3 x y z 1.99 €"),
        (".nothing", None),
        ("ul > p", None),
        ("td p", None),
        ("li:last-child", "z"),
        ("ul:has(.y) li:nth-last-child(2)", "y"),
        (".y:nth-of-type(2)", "y"),
        (".y:nth-of-type(2n+1)", None),
        (".y:nth-last-of-type(2)", "y"),
        (".y:last-of-type, .none:only-of-type", None),
        ("ul :not(.y, :first-child)", "z"),
        ("li:not(:not(.y))", "y"),
        ("li:is(:not(.y, :first-child), b)", "z"),
        (":is(p > b, .none)", "bold"),
        (":where(ul):has(> .y) :is(li:last-child)", "z"),
        ("li:nth-child(2 of :not(.y))", "z"),
        ("li:nth-last-child(even of .y, li:last-child)", "y"),
        ("li:NTH-CHILD(2 OF .y)", None),
        ("[data-old]:any-link", None),
    ],
)
def test_a_selector_finds_the_text_of_the_first_match(selector: str, found: str | None) -> None:
    assert extract.find("html", selector, PAGE, Budget()) == found


@pytest.mark.parametrize(
    ("how", "expression", "page", "found"),
    [
        ("json", "offers[0].price", '{"offers": [{"price": 19.9}]}', "19.9"),
        ("json", "a", '{"a": " text "}', "text"),
        ("json", "a", '{"a": {"c": 1, "b": [true, null]}}', '{"b": [true, null], "c": 1}'),
        ("json", "a", '{"a": null}', None),
        ("json", "a", '{"a": ""}', None),
        ("json", "a", ")]}'\n" + '{"a": 1}', "1"),
        (
            "html",
            ".p",
            "<template><i class=p>{{ price }}</i></template><noscript><i class=p>1</i></noscript><i class=p>2</i>",
            "2",
        ),
        ("html", "picture > img::attr(src)", "<picture><source src=a><source src=b><img src=c></picture>", "c"),
        ("html", "p > b", "<p>1<wbr>29<wbr>9<b>5</b> x", "5"),
        ("html", "p", "<p>1<wbr>29<wbr>9<b>5</b> x", "12995 x"),
        ("html", "price", '<?xml version="1.0"?><a><price><![CDATA[12 & 5]]></price></a>', "12 & 5"),
        ("html", "source", '<?xml version="1.0"?><rss><item><source url="u">News</source></item></rss>', "News"),
        ("html", "p", '<?xml version="1.0"?><html><p>a<![CDATA[b]]></p></html>', "a"),
        ("html", "noscript .p", "<noscript><i class=p>1</i></noscript><i class=p>2</i>", "1"),
        ("html", ".p", "<template shadowrootmode=open><i class=p>1</i></template>", "1"),
        ("json", "a", r'{"a": "x\u0000\ud800"}', "x��"),
        ("text", "Price: ([0-9.,]+)", "Name: x\nPrice: 1,5 €", "1,5"),
        ("text", "Pr[a-z]+", "Name: x\nPrice: 1,5 €", "Price"),
        ("text", "(?i)SOLD", "sold out", "sold"),
        ("text", "(x)?Price", "Price", None),
        ("text", "Nothing", "Price", None),
    ],
)
def test_an_expression_finds_a_value(how: str, expression: str, page: str, found: str | None) -> None:
    assert extract.find(how, expression, page, Budget()) == found


@pytest.mark.parametrize(
    ("how", "expression"),
    [
        *(("html", bad) for bad in ("", "a[", "li:unknown", "::text", "p:nth-child(x)", "p:nth-of-type(x)")),
        *(("html", bad) for bad in ("a:hover", "a::attr(x), b", "p:any-of(0)", "x" * 501, "(" * 400, ":not(" * 100)),
        *(
            ("html", bad)
            for bad in ("p:not(a, ::attr(x))", ":not()", "p:nth-child(2 of)", ":nth-child(1 of " * 29 + "p" + ")" * 29)
        ),
        *(("json", bad) for bad in ("", "a[", "to_text(@)", "x" * 501)),
        *(("text", bad) for bad in ("(", "(?R)?a", r"(a)\1", "(?=x)y", "a{100000000}", "(a)(b)", "x" * 501)),
        *(("text", bad) for bad in ("(((a{0,100}){0,100}){0,100})", "(?:a?b?){300}(x)", r"\pL{100}")),
    ],
)
def test_an_expression_that_cannot_be_used_says_so_at_once(how: str, expression: str) -> None:
    began = time.process_time()
    with pytest.raises(Refusal) as refused:
        extract.check(how, expression)
    assert str(refused.value)
    assert time.process_time() - began < 2


MEGABYTES = 2_000_000
HOSTILE = {
    "nested": "<div>" * 400_000,
    "siblings": "<div></div>" * 180_000,
    "deep": ("<div>" * 250 + "</div>" * 250) * 720,
    "open": "<b><i>" * 330_000,
    "attributes": "<div " + "a " * 900_000 + ">",
    "names": "".join(f"<a{number}>" for number in range(200_000)),
    "nothing but signs": "<" * MEGABYTES,
    "a text": "<p>" + "x" * MEGABYTES,
}


@pytest.mark.parametrize("selector", ["p:nth-child(3)", "div div div div p.x ~ div", "div:has(b:nth-of-type(2n)) ~ p"])
@pytest.mark.parametrize("page", HOSTILE)
def test_no_page_hangs_a_selector(page: str, selector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SECONDS", 0.5)
    try:
        assert parsed(extract.value, HOSTILE[page].encode(), "", "html", selector, "") is None
    except OverBudget as refused:
        assert refused.what in ("seconds", "megabytes", "depth")


@pytest.mark.parametrize("pattern", ["(?:a+)+b", "(a|a)*b", "(?:a?){99}a{99}b", "(?:a?b?){100}(x)", r"(?s).*.*.*(x)"])
def test_no_pattern_hangs(pattern: str) -> None:
    began = time.process_time()
    assert extract.find("text", pattern, "a" * MEGABYTES, Budget()) is None
    assert time.process_time() - began < 6


@pytest.mark.parametrize(
    ("how", "expression", "page"),
    [
        ("json", "a", "not JSON"),
        ("json", "a", "{" * 10 + '"a":NaN' + "}" * 10),
        ("json", "a", '{"a":' + "9" * 10_000 + "}"),
        ("json", "a", "[" + "1," * 300_000 + "1]"),
        ("json", "a", '{"a":"' + "x" * 30_000 + '"}'),
        ("html", "p", "<p>" + "x" * 30_000),
        ("text", "x+", "x" * 30_000),
    ],
)
def test_a_page_that_cannot_be_read_says_why(how: str, expression: str, page: str) -> None:
    with pytest.raises(Refusal) as refused:
        extract.find(how, expression, page, Budget())
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("how", "page"), [("json", "[" * 200_000), ("json", '{"a":' * 9_000), ("html", "<div>" * 9_000)]
)
def test_what_is_nested_too_deeply_is_refused_with_the_limit(how: str, page: str) -> None:
    with pytest.raises(OverBudget) as refused:
        parsed(extract.value, page.encode(), "", how, "a", "")
    assert refused.value.what == "depth"


@pytest.mark.parametrize("how", ["html", "text"])
@pytest.mark.parametrize("page", ["", " ", "<", "\0", "&", "<!--", "<![CDATA["])
def test_an_empty_page_has_nothing(how: str, page: str) -> None:
    assert extract.find(how, "p", page, Budget()) is None


COPIES = ",".join("@" * 8)


@pytest.mark.parametrize(
    "expression",
    [
        f"[{COPIES}] | [{COPIES}]",
        f"[{COPIES}][] | [{COPIES}][]",
        "{a:@,b:@}" + "|{a:@,b:@}" * 8,
        "[@,@]" + "|[@,@]" * 12 + "|length(@)",
        f"[*].[{COPIES}].[{COPIES}][][]",
        f"[*].join('', [{COPIES}])",
        "[*].[`[" + ",".join("1" * 200) + "]`][][]",
        f"([{COPIES}] | [{COPIES}]) == ([{COPIES}] | [{COPIES}])",
        f"[{COPIES}] | sort([][]) | reverse(@)",
    ],
)
def test_no_expression_makes_more_than_its_budget(expression: str) -> None:
    page = "[" + ",".join(f'"{"x" * 90}"' for _ in range(20_000)) + "]"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(OverBudget) as refused:
        extract.find("json", expression, page, Budget(characters=2_000_000, items=100_000))
    assert refused.value.what in ("items", "characters")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB
