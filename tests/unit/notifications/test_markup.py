"""Marks in a person's text: what is read, what stays as typed, what no value can become, and how it is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies

from demo.receivers import HTTPReceiver
from notifications import providers
from notifications.messages import markup, text
from notifications.messages.message import Destination
from notifications.providers.base import Limits, render
from tests.network import make_message, services_at

RICH = "Buy **milk & _oat_ milk** at [the <shop>](https://example.org/a_b?x=1&y=2):\n- two\n* three"

WRITTEN = {
    markup.PLAIN: "Buy milk & oat milk at the <shop>: https://example.org/a_b?x=1&y=2:\n- two\n* three",
    markup.HTML: (
        "Buy <strong>milk &amp; <em>oat</em> milk</strong> at "
        '<a href="https://example.org/a_b?x=1&amp;y=2">the &lt;shop&gt;</a>:\n• two\n• three'
    ),
    markup.MARKDOWN: "Buy **milk & _oat_ milk** at [the <shop>](https://example.org/a_b?x=1&y=2):\n- two\n- three",
}

AS_TYPED = [
    "2 * 3 * 4 and ** 5 **",
    "snake_case_name and __init__ and _",
    "https://example.org/_x_/**y** and https://example.org/[a](https://example.org/b)",
    "[no address](javascript:alert(1)) [x](ftp://example.org) [](https://example.org)",
    "[https://bank.example](https://evil.example)",
    "# head\n> quote\n```code``` `x`\n1. one\n-two\n---",
    "a **b\nc** _d\ne_",
    "a  b\n\n\n   c &amp; \\*\\*d\\*\\*",
]


@pytest.mark.parametrize("style", WRITTEN)
def test_a_service_is_told_of_each_mark_in_its_own_way(style: markup.Style) -> None:
    assert markup.write(RICH, style) == WRITTEN[style]


@pytest.mark.parametrize("typed", AS_TYPED)
def test_all_other_text_stays_as_it_is_typed(typed: str) -> None:
    assert not markup.has_marks(typed)
    assert markup.write(typed, markup.MARKDOWN) == typed


LINK = "[x](https://evil.example)"
VALUES = [
    "**x**",
    "_x_",
    LINK,
    "- x",
    "* x",
    "*",
    "_",
    LINK[2:],
    LINK[3:],
    "[",
    "x]",
    "**",
]


@pytest.mark.parametrize("template", ["{}", "a {} b", "{}{}", "*{}*", "_{}_", "[{}](https://example.org)", "[x]{}"])
def test_no_value_that_is_filled_in_becomes_a_mark(template: str) -> None:
    own = markup.has_marks(template.replace("{}", "value"))
    for value in VALUES:
        filled = template.replace("{}", text.literal(value))
        assert filled.replace("\N{WORD JOINER}", "") == template.replace("{}", value)
        assert own or not markup.has_marks(filled), (template, value)
        assert "evil" not in "".join(mark["url"] or "" for mark in markup._marks(filled))


@pytest.mark.parametrize(
    "value", ["plain", "a_b", "2 * 3", "https://example.org/_a_?b=[1](2)", "(see) [1], 50 % - done"]
)
def test_a_value_without_marks_stays_as_it_is(value: str) -> None:
    assert text.literal(value) == value


@given(strategies.text("*_[]() -\nab:/h\N{WORD JOINER}", max_size=60), strategies.integers(3, 60))
def test_a_cut_leaves_no_mark_open(typed: str, limit: int) -> None:
    body = f"**bold {typed} words** [here](https://example.org) _{typed}_"
    rendered = render(make_message(subject="", body=body, may_have_marks=True), Limits(body=limit), style=markup.HTML)
    if rendered.has_marks:
        assert rendered.body.text.count("<strong>") == rendered.body.text.count("</strong>")
        assert rendered.body.text.count("<a ") == rendered.body.text.count("</a>")
        assert rendered.body.length <= max(limit, 20)


def test_a_cut_in_bold_text_closes_it_and_one_in_a_link_leaves_it_out() -> None:
    def cut(body: str, limit: int) -> str:
        message = make_message(subject="", body=body, may_have_marks=True)
        return render(message, Limits(body=limit), style=markup.MARKDOWN).body.text

    assert cut("**one two three four**", 15) == "**one two th…**"
    assert cut("one **two _three four_**", 19) == "one **two _thre…_**"
    assert cut("one [two three](https://example.org)", 20) == "one…"


DESTINATIONS: dict[str, tuple[Destination, Any]] = {
    "telegram": (
        Destination({"chat": "1"}, {"token": "123456:" + "a" * 35}),
        {
            "text": 'Ferns &amp; co\n\n<b>@\N{WORD JOINER}all &lt;b&gt;</b> <a href="https://example.org/?a=1&amp;b=2">more</a>',
            "parse_mode": "HTML",
        },
    ),
    "slack": (
        Destination({"ending": "B000"}, {"webhook": "T00000/B00000/" + "a" * 24}),
        {
            "text": "Ferns &amp; co\n\n*@all &lt;b&gt;* <https://example.org/?a=1&amp;b=2|more>",
            "mrkdwn": True,
        },
    ),
    "matrix": (
        Destination({"url": "", "room": "!a:b"}, {"token": "a" * 20}),
        {
            "body": "Ferns & co\n\n@all <b> more: https://example.org/?a=1&b=2",
            "format": "org.matrix.custom.html",
            "formatted_body": (
                "Ferns &amp; co<br><br><strong>@all &lt;b&gt;</strong> "
                '<a href="https://example.org/?a=1&amp;b=2">more</a>'
            ),
        },
    ),
}


@pytest.mark.parametrize("kind", DESTINATIONS)
def test_a_service_gets_marks_and_everything_else_as_typed(kind: str, receiver: HTTPReceiver) -> None:
    destination, wanted = DESTINATIONS[kind]
    if "url" in destination.address:
        destination = Destination({**destination.address, "url": receiver.origin}, destination.secrets)
    body = "**@all <b>** [more](https://example.org/?a=1&b=2)"
    message = make_message(subject="Ferns & co", body=body, may_have_marks=True)
    with services_at(receiver.origin):
        providers.get(kind).send(message, destination)
        providers.get(kind).send(make_message(subject="Ferns & co", body=body), destination)
    marked, bare = (json.loads(request.body) for request in receiver.requests)
    assert {name: marked[name] for name in wanted} == wanted
    assert "parse_mode" not in bare and not bare.get("mrkdwn") and "formatted_body" not in bare


PICTURE = "https://example.org/chart.png"
SHOWN: dict[str, tuple[Destination, dict[str, Any]]] = {
    "telegram": (DESTINATIONS["telegram"][0], {"link_preview_options": {"url": PICTURE}}),
    "slack": (DESTINATIONS["slack"][0], {"attachments": [{"fallback": PICTURE, "image_url": PICTURE}]}),
    "discord": (
        Destination({"ending": "1234"}, {"webhook": "123456789012345678/" + "a" * 60}),
        {"embeds": [{"title": "Ferns", "description": f"[Chart]({PICTURE})", "image": {"url": PICTURE}}]},
    ),
    "ntfy": (
        Destination({"url": "", "priority": 3}, {"topic": "ferns"}),
        {"attach": PICTURE, "message": f"Chart: {PICTURE}"},
    ),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_a_service_that_can_show_a_picture_gets_its_address(kind: str, receiver: HTTPReceiver) -> None:
    destination, wanted = SHOWN[kind]
    if "url" in destination.address:
        destination = Destination({**destination.address, "url": receiver.origin}, destination.secrets)
    with services_at(receiver.origin):
        for may_have_marks in (True, False):
            message = make_message(subject="Ferns", body=f"![Chart]({PICTURE})", may_have_marks=may_have_marks)
            providers.get(kind).send(message, destination)
    marked, bare = (json.loads(request.body) for request in receiver.requests)
    assert {name: marked[name] for name in wanted} == wanted
    assert not any(bare.get(name) == value for name, value in wanted.items())


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        (f"See ![Chart]({PICTURE}) and ![b](https://example.org/b.png)", PICTURE),
        (f"[Chart]({PICTURE})", ""),
        (f"Look![here]({PICTURE})", ""),
        ("![Chart](http://example.org/chart.png)", ""),
        (f"![Chart](https://example.org/{'a' * 500})", ""),
    ],
)
def test_only_a_marked_https_address_is_a_picture(typed: str, address: str) -> None:
    assert markup.picture(typed) == address


def test_a_picture_is_a_link_where_none_is_shown() -> None:
    assert markup.write(f"See ![Chart]({PICTURE})", markup.PLAIN) == f"See Chart: {PICTURE}"
    assert "<img" not in markup.as_page(f"![Chart]({PICTURE})")
