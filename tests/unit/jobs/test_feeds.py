"""Feeds as sites write them, and as they should not."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from common.parsing import pool
from common.parsing.pool import parsed
from common.texts.refusal import Refusal
from jobs.reading import feeds
from jobs.reading.feeds import MOST, NotAFeed

URL = "https://example.org/blog/feed"
RSS = """<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//Netscape//DTD" "http://my.netscape.com/rss-0.91.dtd">
<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Blog &amp; co</title><image><title>Logo</title></image>
<atom:link rel="self" href="https://example.org/rss"/>
<item><title>One &lt;b&gt;bold&lt;/b&gt; R&amp;amp;D</title><link>/1</link><guid isPermaLink="false">g1</guid>
<pubDate>Mon, 23 Nov 2026 10:00:00 GMT</pubDate><media:title>no</media:title></item>
<item><title><![CDATA[Two]]></title><guid>https://example.org/2</guid><pubDate>Tue, 24 Nov 2026 10:00 +0100</pubDate>
</item><item><description>Three</description><dc:date>2026-11-25T00:00:00Z</dc:date></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title type="text">A</title><entry><id>urn:1</id>
<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">X <b>y</b></div></title><link rel="edit" href="/e"/>
<link href="/a"/><updated>2026-01-01T00:00:00Z</updated>
<source><id>other</id><title>src</title></source></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="x"><title>R</title></channel>
<item rdf:about="https://example.org/9"><title>T</title></item></rdf:RDF>"""


def read(text: str, url: str) -> dict[str, Any]:
    return feeds.read(text.encode(), "", url)


@pytest.mark.parametrize(
    ("text", "title", "entries"),
    [
        (
            RSS,
            "Blog & co",
            [("Three", ""), ("Two", "https://example.org/2"), ("One bold R&D", "https://example.org/1")],
        ),
        (ATOM, "A", [("X y", "https://example.org/a")]),
        (RDF, "R", [("T", "https://example.org/9")]),
        ("\n<rss><channel><item><title>a & b</title></item>", "", [("a & b", "")]),
        ("<rss/>", "", []),
        ("<rss><item><title>x</title><link>javascript:alert(1)</link></item></rss>", "", [("x", "")]),
        ("<rss><item><title>x</title><link>http://[</link></item></rss>", "", [("x", "")]),
        ("<rss><item/><item/></rss>", "", [("", "")]),
    ],
)
def test_a_feed_is_read(text: str, title: str, entries: list[tuple[str, str]]) -> None:
    feed = read(text, URL)
    assert (feed["title"], [(entry["title"], entry["link"]) for entry in feed["entries"]]) == (title, entries)


def test_an_entry_is_known_by_its_id_else_by_its_link_and_title() -> None:
    def key(inner: str) -> str:
        return read(f"<rss><item>{inner}</item></rss>", URL)["entries"][0]["key"]

    assert key("<guid>1</guid><title>a</title>") == key("<guid>1</guid><title>b</title>")
    assert key("<link>/1</link><title>a</title>") == key("<title>a</title><link>/1</link><category>new</category>")
    assert key("<link>/1</link><title>a</title>") != key("<link>/1</link><title>b</title>")
    assert key("<description>a</description>") != key("<description>b</description>")


def test_the_newest_entries_count_whatever_their_order() -> None:
    dates = [f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z" for n in range(300)]
    items = [f"<item><title>{n}</title><pubDate>{date}</pubDate></item>" for n, date in enumerate(dates)]
    feed = read(f"<rss>{''.join(items)}</rss>", URL)
    assert (len(feed["entries"]), feed["entries"][0]["title"]) == (MOST, "299")
    undated = read(f"<rss><item><title>first</title></item>{''.join(items)}</rss>", URL)
    assert (len(undated["entries"]), undated["entries"][0]["title"]) == (MOST, "first")


BOMB = (
    "<!DOCTYPE rss [<!ENTITY a 'xxxxxxxxxx'>"
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]><rss><title>&j;</title></rss>"
)
STRANGE = ["", "hello", "<!doctype html><p>x", "<html><body/></html>", '{"a": 1}', "<rss>" + "<a>" * 300, BOMB]
OUTSIDE = '<!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/passwd">]><rss><item><title>&a;</title></item></rss>'


@pytest.mark.parametrize("half", ["&#xD83D;", "&#xde00;", "&#55357;", "&#57343;"])
def test_half_of_an_emoji_spoils_no_other_entry(half: str) -> None:
    feed = read(f"<rss><item><title>a{half}b</title></item><item><title>whole</title></item></rss>", URL)
    assert [entry["title"] for entry in feed["entries"]] == ["a\N{REPLACEMENT CHARACTER}b", "whole"]


@pytest.mark.parametrize(
    "part",
    [
        "<psc:chapters><psc:chapter title='Intro'/></psc:chapters>",
        "<gml:pos>1 2</gml:pos>",
        "<georss:where><gml:Point srsName='EPSG:none'><gml:pos>1 2</gml:pos></gml:Point></georss:where>",
        "<textInput><media:player/><link>x</link></textInput>",
        "<pubDate>0000-00-00</pubDate>",
    ],
)
def test_an_element_that_the_parser_fails_at_is_left_out_alone(part: str) -> None:
    names = "psc='http://podlove.org/simple-chapters' xmlns:gml='http://www.opengis.net/gml' "
    names += "xmlns:georss='http://www.georss.org/georss' xmlns:media='http://search.yahoo.com/mrss/'"
    items = f"<item><title>A</title>{part}<link>/a</link></item><item><title>B</title></item>"
    feed = feeds.read(f"<rss version='2.0' xmlns:{names}><channel>{part}{items}</channel></rss>".encode(), "", URL)
    assert [entry["title"] for entry in feed["entries"]] == ["A", "B"]


def test_a_reference_that_the_parser_cannot_read_ends_the_feed_there() -> None:
    assert (
        len(read("<rss><item><title>a</title></item><item><title>b&#xD800 c</title></item></rss>", URL)["entries"]) < 3
    )


@pytest.mark.parametrize("text", [*STRANGE, OUTSIDE])
def test_what_is_no_feed_or_declares_entities_is_refused(text: str) -> None:
    with pytest.raises(NotAFeed) as refused:
        read(text, URL)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    "text",
    [
        "<rss><item>" + "<a/>" * 400_000,
        "<rss>" + "<item/>" * 280_000,
        "<rss>" + "<item><title>x</title></item>" * 70_000,
        "<rss><item><title>" + "&lt;a" * 400_000,
        "<rss><item><title>" + "x<b/>" * 400_000,
        "<rss><item><link>" + "a" * 2_000_000,
        "<rss " + " ".join(f"xmlns:a{n}='u{n}'" for n in range(90_000)) + ">",
    ],
    ids=range(7),
)
def test_a_feed_that_costs_too_much_is_ended_alone(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SECONDS", 1.0)  # four of them take over six
    with suppress(Refusal):
        assert len(parsed(feeds.read, text.encode(), "", URL)["entries"]) <= MOST


INPUTS = Path(__file__).with_name("inputs")
CASES = json.loads((INPUTS / "cases.json").read_text())
FEEDS = [case for case in CASES if case["file"].endswith(".xml")]


@pytest.mark.parametrize("case", FEEDS, ids=[f"{case['file']}: {case['why']}" for case in FEEDS])
def test_feeds_of_the_kinds_that_readers_report(case: dict[str, Any]) -> None:
    entries = feeds.read((INPUTS / case["file"]).read_bytes(), "", URL)["entries"]
    assert (len(entries), entries[0]["title"], entries[0]["link"]) == (case["n"], case["title"], case["link"])
    assert len({entry["key"] for entry in entries}) == case["n"]


RSS_11 = """<Channel xmlns="http://purl.org/net/rss1.1#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 rdf:about="https://example.org/"><title>Eleven</title><items rdf:parseType="Collection">
<item rdf:about="https://example.org/1"><title>One</title><link>https://example.org/1</link></item></items></Channel>"""
JSON_FEED = """{"version": "https://jsonfeed.org/version/1.1", "title": "Json", "items": [
{"id": "1", "content_html": "<p>Hello <b>you</b></p>", "url": "/1", "date_published": "2026-01-01T00:00:00Z"},
{"id": 2, "title": "Second", "external_url": "https://example.com/", "date_published": "2026-01-02T00:00:00Z"}]}"""
SIMPLE_ENTITY = (
    '<!DOCTYPE rss [<!ENTITY nbsp "&#160;">]><rss><channel><item><title>a&nbsp;b</title></item></channel></rss>'
)


@pytest.mark.parametrize(
    ("text", "title", "entries"),
    [
        (RSS_11, "Eleven", [("One", "https://example.org/1")]),
        (JSON_FEED, "Json", [("Second", "https://example.com/"), ("Hello you", "https://example.org/1")]),
        (SIMPLE_ENTITY, "", [("a b", "")]),
    ],
)
def test_rarer_kinds_of_feeds_are_read(text: str, title: str, entries: list[tuple[str, str]]) -> None:
    feed = read(text, URL)
    assert (feed["title"], [(entry["title"], entry["link"]) for entry in feed["entries"]]) == (title, entries)


def test_entries_of_one_guid_are_told_apart_by_their_links_then_by_their_texts() -> None:
    def keys(*items: str) -> int:
        inner = "".join(f"<item><guid isPermaLink='false'>N/A</guid>{item}</item>" for item in items)
        return len({entry["key"] for entry in read(f"<rss><channel>{inner}</channel></rss>", URL)["entries"]})

    assert keys("<link>https://e.org/1</link>", "<link>https://e.org/2</link>") == 2
    assert keys("<title>a</title>", "<title>b</title>") == 2
    assert keys("<description>a</description>", "<description>b</description>") == 2
    assert keys("<link>https://e.org/1</link>", "<link>https://e.org/1</link>") == 1
    home = "<link>https://e.org/</link>"
    assert keys(f"{home}<title>a</title>", f"{home}<title>b</title>") == 2
    assert keys(*(f"{home}<title>a</title><description>{text}</description>" for text in "ab")) == 2
    assert keys(*(f"<title>a</title><pubDate>2{day} Nov 2026 10:00:00 GMT</pubDate>" for day in "34")) == 2


def test_entries_without_a_guid_are_told_apart_by_their_texts_where_their_titles_are_the_same() -> None:
    def keys(*items: str) -> int:
        inner = "".join(f"<item>{item}</item>" for item in items)
        return len({entry["key"] for entry in read(f"<rss><channel>{inner}</channel></rss>", URL)["entries"]})

    for link in ("", "<link>https://e.org/</link>"):
        assert keys(*(f"{link}<title>Update</title><description>{text}</description>" for text in "abb")) == 2


@pytest.mark.parametrize(
    "rest",
    [
        "<title>thr",
        "<title><![CDATA[thr",
        "<title>three</tit",
        "<title>",
        "<title>three</title><link>https://e.org/",
        "<guid>https://e.org/th",
        "<title>three</title><description>a <b",
        "<enclosure url='https://e.org/th",
    ],
)
def test_an_entry_that_was_cut_off_within_a_part_waits_until_it_is_whole(rest: str) -> None:
    whole = "<rss version='2.0'><channel><title>R</title><item><title>one</title></item><item><title>two</title></item>"
    for item in ("<item>", "<item xmlns:a='b'>"):
        assert [entry["title"] for entry in read(f"{whole}{item}{rest}", URL)["entries"]] == ["one", "two"]


@pytest.mark.parametrize("character", ["&#0;", "&amp;#0;", "&#x0;"])
def test_no_text_has_a_character_that_a_database_cannot_hold(character: str) -> None:
    item = "".join(f"<{name}>a{character}b</{name}>" for name in ("title", "link", "guid", "description"))
    assert "\0" not in str(
        read(f"<rss version='2.0'><channel><title>{character}</title><item>{item}</item></channel></rss>", URL)
    )
    escapes = r"\u0000 \ud83d"
    fields = ", ".join(f'"{name}": "a {escapes}"' for name in ("id", "url", "title", "summary"))
    feed = read(f'{{"version": "https://jsonfeed.org/version/1", "title": "{escapes}", "items": [{{{fields}}}]}}', URL)
    assert str(feed).isprintable() and str(feed).encode()


def atom(inner: str, head: str = "") -> str:
    return f'<feed xmlns="http://www.w3.org/2005/Atom"{head}><title>A</title><entry><id>1</id>{inner}</entry></feed>'


def rss(inner: str, head: str = "") -> str:
    return f"<rss version='2.0'{head}><channel><title>R</title><item>{inner}</item></channel></rss>"


BASE = ' xml:base="https://other.example/blog/"'
# A feed, and the title and link of its first entry.
KINDS = {
    "xml:base of the feed": (atom('<title>a</title><link href="x"/>', BASE), "a", "https://other.example/blog/x"),
    "xml:base of the entry": (
        atom("<title>a</title>").replace("<entry>", f"<entry{BASE}>").replace("</entry>", '<link href="/x"/></entry>'),
        "a",
        "https://other.example/x",
    ),
    "no base: the feed's own address": (atom('<title>a</title><link href="x"/>'), "a", "https://example.org/blog/x"),
    "an entry after one with a base of its own": (
        atom('<title>a</title><link href="x"/>').replace(
            "<entry>", f'<entry{BASE}><title>b</title><link href="/y"/></entry><entry>'
        ),
        "a",
        "https://example.org/blog/x",
    ),
    "after content with a base": (
        atom(f'<content type="html"{BASE}>&lt;a href="y">a&lt;/a></content><title>a</title><link href="x"/>'),
        "a",
        "https://example.org/blog/x",
    ),
    "an identity beside a base is no link": (atom("<title>a</title>", BASE), "a", ""),
    'type="text" names tags': (atom('<title type="text">a &lt;b&gt; c</title>'), "a <b> c", ""),
    'type="html" has tags': (atom('<title type="html">a &lt;b&gt;b&lt;/b&gt; &amp;amp; c</title>'), "a b & c", ""),
    "a title without a type": (atom("<title>Vec&lt;T&gt; &amp;amp; co</title>"), "Vec<T> &amp; co", ""),
    "a namespace by https": (
        atom('<title>a</title><link href="/x"/>').replace("http://www.w3", "https://www.w3"),
        "a",
        "https://example.org/x",
    ),
    "RSS 1.0 by https": (
        '<rdf:RDF xmlns:rdf="https://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="https://purl.org/rss/1.0/">'
        "<item><title>T</title><link>https://example.org/9</link></item></rdf:RDF>",
        "T",
        "https://example.org/9",
    ),
    "RSS 1.1 by https": (RSS_11.replace("http://purl", "https://purl"), "One", "https://example.org/1"),
    "without title, with text": (rss("<description>Hello &lt;b&gt;you&lt;/b&gt;</description>"), "Hello you", ""),
    "Mastodon": (
        rss(
            "<guid isPermaLink='true'>https://m.example/1</guid>"
            "<description>&lt;p&gt;Hi &lt;a href='x'&gt;#you&lt;/a&gt;</description>"
        ),
        "Hi #you",
        "https://m.example/1",
    ),
    "numbers of Windows-1252": (rss("<title>it&#146;s &#x93;so&#148; &#133;</title>"), "it’s “so” …", ""),
    "an emoji in two halves": (rss("<title>a &#55357;&#56832;&#xD83D;&#xDE01; b</title>"), "a 😀😁 b", ""),
    "entities of HTML": (rss("<title>caf&eacute; &mdash; &nbsp;x</title>"), "café — x", ""),
    "a bare &": (rss("<title>a &amp b</title><link>https://e.org/?a=1&b=2</link>"), None, "https://e.org/?a=1&b=2"),
    "a bare & before what names a letter": (
        rss("<title>AT&T, Q&A &chips;</title><link>https://e.org/?a=1&copy=2&lt=3&q=4</link>"),
        "AT&T, Q&A &chips;",
        "https://e.org/?a=1&copy=2&lt=3&q=4",
    ),
    "a bare & in a guid": (rss("<title>a</title><guid>https://e.org/?p=1&q=2</guid>"), "a", "https://e.org/?p=1&q=2"),
    "a bare & in CDATA": (rss("<title><![CDATA[a & b &eacute;]]></title>"), "a & b é", ""),
    "a control character": (rss("<title>a\x01b</title>"), "a b", ""),
    "text that names tags": (atom("<summary>use &lt;b&gt; and &lt;p&gt;</summary>"), "use <b> and <p>", ""),
    "a description that names a tag": (rss("<description>use &lt;b&gt; here</description>"), "use <b> here", ""),
    "CDATA with tags": (rss("<title><![CDATA[<b>a</b> & b]]></title>"), "a & b", ""),
    "a prefix": (
        "<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:entry><a:title>t</a:title><a:link href='/x'/></a:entry>"
        "</a:feed>",
        "t",
        "https://example.org/x",
    ),
    "the alternate of several links": (
        atom(
            '<title>a</title><link rel="self" href="/s"/><link rel="alternate" href="/x"/><link rel="edit" href="/e"/>'
        ),
        "a",
        "https://example.org/x",
    ),
    "a space in a link": (rss("<title>a</title><link>https://e.org/a b</link>"), "a", "https://e.org/a%20b"),
    "a line end in a link": (rss("<title>a</title><link>https://e.org/\na</link>"), "a", "https://e.org/a"),
    "white space around": (
        rss("<title>\n  a\n  b </title><link>\n https://e.org/1 \n</link>"),
        "a b",
        "https://e.org/1",
    ),
    "text before it": ("\n\n  " + rss("<title>a</title>"), "a", ""),
    "cut off": (rss("<title>a</title>").partition("</item>")[0], "a", ""),
    "JSON Feed without titles": (
        '{"version": "https://jsonfeed.org/version/1", "items": [{"id": "1", "content_text": "Hello", "url": "/1"}]}',
        "Hello",
        "https://example.org/1",
    ),
    "JSON Feed by http, with an address as id and an empty summary": (
        '{"version": "http://jsonfeed.org/version/1", "items":'
        ' [{"id": "https://e.org/1", "summary": "", "content_text": "a <b> c"}]}',
        "a <b> c",
        "https://e.org/1",
    ),
}


@pytest.mark.parametrize("why", KINDS)
def test_feeds_are_read_as_their_authors_mean_them(why: str) -> None:
    text, title, link = KINDS[why]
    first = read(text, URL)["entries"][-1]
    assert first["link"] == link
    assert title is None or first["title"] == title


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "iso-8859-1", "windows-1252"])
def test_a_feed_has_any_charset(encoding: str) -> None:
    declared = "" if encoding.startswith("utf") else f'<?xml version="1.0" encoding="{encoding}"?>'
    raw = (declared + rss("<title>Zahnärztin</title>")).encode(encoding)
    assert feeds.read(raw, "", URL)["entries"][0]["title"] == "Zahnärztin"
    assert feeds.read(raw, "application/rss+xml; charset=utf-8" if "utf-8" in encoding else "", URL)["entries"]


@pytest.mark.parametrize(
    ("entry", "link"),
    [
        ("<enclosure url='https://cdn.example.org/1.mp3' type='audio/mpeg'/>", "https://cdn.example.org/1.mp3"),
        ("<link>www.example.org/1</link>", "https://www.example.org/1"),
    ],
)
def test_an_entry_leads_somewhere(entry: str, link: str) -> None:
    feed = read(
        f"<rss><channel><item><title>1</title><guid isPermaLink='false'>1</guid>{entry}</item></channel></rss>", URL
    )
    assert [one["link"] for one in feed["entries"]] == [link]


def test_a_title_of_json_feed_may_have_references_of_html() -> None:
    [entry] = read('{"version": "https://jsonfeed.org/version/1.1", "items": [{"title": "Q&amp;A"}]}', URL)["entries"]
    assert entry["title"] == "Q&A"
