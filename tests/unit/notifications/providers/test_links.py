"""Web addresses in a text stay links on each service, whatever stands in or around them."""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import import_module
from typing import Any

import pytest

from demo.receivers import HTTPReceiver, Reply, SMTPReceiver
from demo.receivers.slack import MATTERMOST
from notifications import providers
from notifications.messages.message import Delivered, Destination
from notifications.messages.text import addresses, fit, utf16
from notifications.models import Notification
from tests.network import make_message, served, text_of
from tests.unit.notifications.providers.test_apprise import redirected
from tests.unit.notifications.providers.test_email import mail_server

ADDRESSES = [
    "https://example.org",
    "https://example.org/",
    "http://example.org/a/b.html",
    "HTTPS://Example.org/A",
    "https://github.com/o/r/issues/1#issuecomment-5",
    "https://mastodon.example/@ada/109",
    "https://example.org/@everyone",
    "https://matrix.to/#/@ada:example.org",
    "https://en.wikipedia.org/wiki/Fern_(plant)",
    "https://en.wikipedia.org/wiki/Fern_(plant)_(genus)",
    "https://example.org/a_b_c/_d_",
    "https://example.org/__init__.py",
    "https://example.org/*/x*y*z",
    "https://example.org/~ada/~~x~~y",
    "https://example.org/?a=1&b=2&copy=3",
    "https://example.org/?q=a|b||c",
    "https://example.org/?q=%20%3C%3E",
    "https://example.org/a+b,c;d=e",
    "https://example.org/?q[]=1&q[x]=2",
    "https://example.org/{id}/x",
    "https://example.org/it's/here",
    "https://example.org/a!b$c",
    "https://example.org/a:b:c",
    "https://example.org/v1.2.3/",
    "https://ada:pass@example.org/x",
    "https://example.org:8443/a",
    "http://192.168.1.20:8123/lovelace/0",
    "http://localhost:8000/",
    "http://[2001:db8::1]/",
    "https://[2001:db8::1]:8080/a#b",
    "https://bücher.example/straße?q=ä#ü",
    "https://例え.jp/道",
    "https://xn--bcher-kva.example/",
    "https://example.org/#:~:text=ferns",
    "https://example.org/a//b/../c",
    "https://example.org/" + "x" * 100,
    "https://web.archive.org/web/2026/https://example.org/a",
]
AROUND = [
    "{}",
    "See {}.",
    "Is it {}? Or {}!",
    "({})",
    "(see {}).",
    "[{}]",
    "[x]({})",
    "*{}*",
    "_{}_",
    "**{}**, ~~{}~~",
    "||{}||",
    '"{}"',
    "“{}” — „{}“…",
    "a <{}> b",
    "`{}`",
    "a\n{}\n- b",
    "@ada: {}; @bob",
    "{} {}",
]


def plain(shown: str) -> list[str]:
    """As services read links in plain text: up to a space, without punctuation at the end and closing brackets."""
    found = []
    for match in re.finditer(r"https?://[^\s<>\"`“”„…]+", shown, re.IGNORECASE):
        marks = re.search(r"[*_~|]*$", shown[: match.start()])
        assert marks
        found.append(trimmed(trimmed(match[0]).removesuffix(marks[0][::-1])))
    return found


def trimmed(link: str) -> str:
    while link[-1] in ".,;:!?'" or any(
        link[-1] == end and link.count(end) > link.count(start) for start, end in ("()", "[]", "{}")
    ):
        link = link[:-1]
    return link


MARKDOWN = re.compile(
    r"""\\(?P<escaped>[!-/:-@\[-`{-~])|<(?P<explicit>https?://[^\s>]+)>|(?P<plain>https?://[^\s<]+)|(?P<markup>[*_~`|\[\]])""",
    re.IGNORECASE,
)


def markdown(shown: str) -> list[str]:
    """As Discord reads it: an address up to a space or <, backslashes too; without punctuation at its end."""
    found = []
    for match in MARKDOWN.finditer(shown):
        assert not match["markup"], shown
        if match["explicit"]:
            found.append(match["explicit"])
        elif match["plain"]:
            found.append(re.sub(r"[.,:;\"')\]]+$", "", match["plain"]))
    return found


def anchors(page: str) -> list[str]:
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend(value or "" for name, value in attrs if (tag, name) == ("a", "href"))

    Reader().feed(page)
    return found


def posted(kind: str, read: Callable[[Any], list[str]]) -> Callable[[str], list[str]]:
    def links(body: str) -> list[str]:
        module = import_module(f"tests.unit.notifications.providers.test_{kind}")
        with served(module.ANSWER) as receiver:
            sent = providers.get(kind).send(make_message(body=body), module.destination(receiver.origin))
            assert isinstance(sent, Delivered)
        return read(json.loads(receiver.requests[0].body))

    return links


def by_apprise(url: str, read: Callable[[Any], list[str]]) -> Callable[[str], list[str]]:
    def links(body: str) -> list[str]:
        apprise = providers.get("apprise")
        with HTTPReceiver(Reply(202)) as receiver, redirected(receiver):
            apprise.send(make_message(body=body), apprise.destination({"url": url}))
        return read(json.loads(receiver.requests[0].body))

    return links


def mailed(read: Callable[[Any], list[str]]) -> Callable[[str], list[str]]:
    def links(body: str) -> list[str]:
        with SMTPReceiver() as receiver, mail_server(receiver.port):
            providers.get("email").send(make_message(body=body), Destination({"address": "ada@example.org"}))
        return read(receiver.mails[0].message)

    return links


def at_a_chat_server(body: str) -> list[str]:
    slack = providers.get("slack")
    with served(import_module("tests.unit.notifications.providers.test_slack").ANSWER) as receiver:
        slack.send(make_message(body=body), slack.destination({"url": f"{receiver.origin}{MATTERMOST}"}))
    return markdown(json.loads(receiver.requests[0].body)["text"])


SERVICES: dict[str, Callable[[str], list[str]]] = {
    "discord": posted("discord", lambda sent: markdown(sent["embeds"][0]["description"])),
    "telegram": posted("telegram", lambda sent: plain(sent["text"])),
    "slack": posted("slack", lambda sent: plain(html.unescape(sent["text"]))),
    "mattermost": at_a_chat_server,
    "matrix": posted("matrix", lambda sent: plain(sent["body"])),
    "ntfy": posted("ntfy", lambda sent: plain(sent["message"])),
    "webhook": posted("webhook", lambda sent: plain(sent["data"]["body"])),
    "mail, text": mailed(lambda mail: plain(text_of(mail, "plain"))),
    "mail, HTML": mailed(lambda mail: anchors(text_of(mail, "html"))),
    "inbox": lambda body: anchors(Notification(body=body).linked_body()),
    "Apprise, HTML": by_apprise(
        "sendgrid://SG.aplanted:carillon@example.org/ada@example.org",
        lambda sent: anchors(sent["content"][0]["value"]),
    ),
    "Apprise, Markdown": by_apprise("webex://" + "aplanted" * 10, lambda sent: markdown(sent["markdown"])),
}


@pytest.mark.parametrize("service", SERVICES)
def test_each_address_stays_a_link_whatever_stands_around_it(service: str) -> None:
    lines = [around.replace("{}", address) for address in ADDRESSES for around in AROUND]
    expected = [address for address in ADDRESSES for around in AROUND for _ in range(around.count("{}"))]
    messages = [""]
    for line in lines:
        if len(messages[-1]) + len(line) > 700:  # services cut a long one
            messages.append("")
        messages[-1] += f"{line}\n\n"
    assert [link for message in messages for link in SERVICES[service](message)] == expected


def test_pages_link_addresses_of_mail_and_hosts_without_a_scheme_too() -> None:
    page = Notification(body="www.example.org/a <b> ada@example.org https://example.org/b_(c).").linked_body()
    assert anchors(page) == ["http://www.example.org/a", "mailto:ada@example.org", "https://example.org/b_(c)"]
    assert "&lt;b&gt;" in page


def test_what_is_no_web_address_is_none() -> None:
    text = "https:// http://. ftp://example.org mailto:ada@example.org xhttps://example.org @https://example.org"
    assert list(addresses(text)) == []


def test_one_of_two_addresses_in_markup_does_not_hide_the_other() -> None:
    text = "[https://bank.example](https://evil.example)"
    assert [text[start:end] for start, end in addresses(text)] == ["https://bank.example", "https://evil.example"]


@pytest.mark.parametrize("kind", ["discord", "telegram"])
def test_a_text_that_is_cut_ends_before_an_address_rather_than_in_it(kind: str) -> None:
    body = "x " * 1_500 + "https://example.org/" + "y" * 3_000
    rendered = providers.get(kind).render(make_message(body=body), Destination({})).body
    assert rendered.cut
    assert "https" not in rendered.text
    assert fit("https://example.org/" + "y" * 300, 100, utf16).text.startswith("https://example.org/yyy")


@pytest.mark.parametrize("text", ["http://a(", "http://a)", "http://", "http://a[", "*", "http://a*.", "((http://a"])
def test_no_text_makes_the_search_slow(text: str) -> None:
    start = time.process_time()
    list(addresses(text * 20_000))
    assert time.process_time() - start < 5
