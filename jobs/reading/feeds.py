"""The entries of feeds: RSS, Atom, CDF by the package feedparser, and JSON Feed. Bytes in, plain values out.

It runs in a child process, which bounds its time and memory. Nothing is loaded.
"""

import hashlib
import html
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import Any
from urllib.parse import urljoin

import feedparser
from feedparser.mixin import _FeedParserMixin

from common.texts import xml_text
from common.texts.refusal import TEXTS, Refusal, noop as _
from jobs.reading import plain
from jobs.reading.charset import decode, storable

MOST = 200
"""Entries of one feed that count, at most: the newest."""
LONGEST = 300
"""Characters of a title."""
_LONGEST_LINK = 1_000
_LONGEST_TEXT = 5_000
_LONGEST_EXCERPT = 120
# Values of one character or word; what names other entities may grow without end.
_ENTITY = re.compile(
    r"<!ENTITY(?!\s+\w{1,40}\s+(?:\"(?:[^\"&%<]{0,40}|&#\w{1,8};)\"|'(?:[^'&%<]{0,40}|&#\w{1,8};)')\s*>)"
)
# Halves of emojis, as careless programs write them; no parser reads them.
_HALVES = re.compile(
    r"(?:&#(?:x0*d[89a-f][0-9a-f]{2}|0*(?:5529[6-9]|55[3-9]\d\d|56\d{3}|57[0-2]\d\d|573[0-3]\d|5734[0-3]));)+", re.I
)
_REFERENCE = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)"
    r"|&(?:(?P<named>#1[2-5]\d|#[xX][89][0-9a-fA-F]|[A-Za-z][A-Za-z0-9]{1,31});|#\d{1,7};|#[xX][0-9a-fA-F]{1,6};)?",
    re.DOTALL,
)
_ENTRY_BEGIN, _ENTRY_END = (re.compile(rf"<{end}(?:\w+:)?(?:item|entry)[\s>]") for end in ("", "/"))
_ENDS_WHOLE = re.compile(r"(?:</[^<>]*|/)>\s*\Z")
# The names of feedparser's handlers are private; they are as in 6.0.14.
# An identity counts as it is written: relative to nothing, it is not an address.
_FeedParserMixin.can_be_relative_uri.remove("id")


def _tolerant(handler: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(handler)
    def handle(*arguments: Any) -> Any:
        try:
            return handler(*arguments)
        except (LookupError, TypeError, ValueError, ArithmeticError):
            return None

    return handle


# An element that feedparser fails at, such as a chapter without a start, is left out alone.
for _name in dir(_FeedParserMixin):
    if _name.startswith(("_start_", "_end_")):
        setattr(_FeedParserMixin, _name, _tolerant(getattr(_FeedParserMixin, _name)))
_RSS_11 = re.compile(r"https?://purl\.org/net/rss1\.1#")
_DATES = ("published", "created", "updated")
TEXTS.update(feed_entities=_("It declares entities."), not_a_feed=_("It is neither RSS, Atom nor JSON Feed."))
_JSON_FEED = ("https://jsonfeed.org/version/", "http://jsonfeed.org/version/")


class NotAFeed(Refusal):
    """This cannot be read as a feed."""


@dataclass(slots=True)
class _Item:
    """An entry as it stands in the feed. `date` sorts; `name` and `excerpt` are what it is called by."""

    identity: str
    link: str
    name: str
    excerpt: str
    date: str

    def __post_init__(self) -> None:
        """References and escapes may name what no database holds."""
        for name in ("identity", "link", "name", "excerpt"):
            setattr(self, name, storable(getattr(self, name)))


def read(body: bytes, content_type: str, url: str) -> dict[str, Any]:
    """Return the `title` of the feed, whose relative links begin at `url`, and its `entries`. Raises NotAFeed.

    `dropped`: how many more it has than count. The `key` of an entry tells it from the others; it has a `title`, and a
    `link`, "" for none.
    """
    text = decode(body, content_type).lstrip()
    title, items = _of_json(text) if text.startswith("{") else _of_xml(text, url)
    shared = _shared(items)
    entries = _newest([(item.date, _entry(item, url, shared)) for item in items])
    return {"title": storable(title), "entries": entries[:MOST], "dropped": len(entries[MOST:])}


def _of_xml(text: str, url: str) -> tuple[str, list[_Item]]:
    if _ENTITY.search(text):
        raise NotAFeed("feed_entities")
    # RSS 1.1 is RSS 1.0 with other names.
    text = _RSS_11.sub("http://purl.org/rss/1.0/", _HALVES.sub(_joined, text))
    headers = {"content-type": "application/xml; charset=utf-8"}
    if "xml:base" in text:  # else links stay as they are written
        headers["content-location"] = url
    result = feedparser.parse(
        io.BytesIO(_REFERENCE.sub(_reference, xml_text.FORBIDDEN.sub(" ", text)).encode()),
        response_headers=headers,
        sanitize_html=False,
        resolve_relative_uris=False,
    )
    version = result.get("version") or ""
    # Of tag soup it reads what it can; a page has no entries.
    if not result.entries and (not version or result.bozo):
        raise NotAFeed("not_a_feed")
    entries = result.entries[:-1] if result.bozo and _is_cut(text) else result.entries
    return _words(result.feed, "title", version), [_item(entry, version) for entry in entries]


def _is_cut(text: str) -> bool:
    """Whether it ends within a part of its last entry, which is another one when it is whole."""
    rest = _ENTRY_END.split(text)[-1]
    return _ENTRY_BEGIN.search(rest) is not None and _ENDS_WHOLE.search(rest) is None


def _joined(match: re.Match[str]) -> str:
    """Two halves are one; any other is what no text can hold."""
    numbers = [int(one[1:], 16) if one[0] in "xX" else int(one) for one in re.findall(r"#(\w+)", match[0])]
    return "".join(map(chr, numbers)).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _reference(match: re.Match[str]) -> str:
    """Write names of HTML, numbers of Windows-1252 and a bare "&" as XML knows them: "?a=1&copy=2" has no "©"."""
    if (name := match["named"]) is None:
        return "&amp;" if match[0] == "&" else match[0]
    if name in ("lt", "gt", "amp", "quot", "apos"):
        return match[0]
    meant = html.unescape(match[0])
    return f"&amp;{name};" if meant == match[0] else "".join(f"&#{ord(letter)};" for letter in meant)


def _item(entry: Mapping[str, Any], version: str) -> _Item:
    identity, link = _value(entry, "id"), _value(entry, "link")
    if not link or link == identity:
        link = _address(identity) or next((_value(one, "href") for one in entry.get("links") or ()), "")
    text = next(iter(entry.get("content") or ()), None) or entry.get("summary_detail") or {}
    is_text = version.startswith("atom") and text.get("type") == "text/plain"
    excerpt = _excerpt(_value(text, "value"), is_text)
    return _Item(identity, link, _words(entry, "title", version), excerpt, _date(entry))


def _value(of: Mapping[str, Any], name: str) -> str:
    return str(of.get(name) or "").strip()


def _date(entry: Mapping[str, Any]) -> str:
    """In UTC; "" for none that is in the calendar."""
    for name in _DATES:
        if f"{name}_parsed" in entry.keys():  # noqa: SIM118 - its own
            with suppress(TypeError, ValueError):
                return f"{datetime(*entry[f'{name}_parsed'][:6]):%Y-%m-%dT%H:%M:%S}"  # noqa: DTZ001 - UTC
    return ""


def _address(identity: str) -> str:
    """A number is not an address, whatever `isPermaLink` says."""
    return identity if identity.startswith(("http://", "https://", "/")) else ""


def _words(holder: Mapping[str, Any], name: str, version: str) -> str:
    """A text of one line. RSS says nothing of its type: its escaped characters are often escaped twice."""
    text = str(holder.get(name) or "")[:_LONGEST_TEXT]
    kind = (holder.get(f"{name}_detail") or {}).get("type", "text/plain")
    if "html" in kind:
        text = plain.of_html(text, links=False)
    elif not version.startswith("atom"):
        text = html.unescape(text)
    return _line(text)


def _excerpt(text: str, is_text: bool) -> str:
    """Return the title of an entry that has none: the beginning of its text."""
    text = text[:_LONGEST_TEXT]
    if not is_text:
        text = plain.of_html(text, links=False) if plain.is_html(text) else html.unescape(text)
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST_EXCERPT else words[:_LONGEST_EXCERPT].rsplit(" ", 1)[0] + " …"


def _of_json(text: str) -> tuple[str, list[_Item]]:
    try:
        result = json.loads(text)
    except ValueError:
        result = None
    items = result.get("items") if isinstance(result, dict) else None
    if not isinstance(items, list) or not str(result.get("version")).startswith(_JSON_FEED):
        raise NotAFeed("not_a_feed")
    return _line(result.get("title")), [_json_item(one) for one in items if isinstance(one, dict)]


def _json_item(item: Mapping[str, Any]) -> _Item:
    texts = ("summary", "content_text", "content_html")
    text = next((name for name in texts if isinstance(item.get(name), str) and item[name]), "")
    identity = str(item["id"]) if isinstance(item.get("id"), str | int) else ""
    link = item.get("url") or item.get("external_url") or _address(identity)
    return _Item(
        identity,
        link.strip() if isinstance(link, str) else "",
        _line(html.unescape(title) if isinstance(title := item.get("title"), str) else ""),
        _excerpt(item.get(text, ""), text == "content_text"),
        _json_date(item),
    )


def _json_date(item: Mapping[str, Any]) -> str:
    """In UTC, also where no zone is said; "" for none that is in the calendar."""
    with suppress(ValueError, OverflowError):
        date = datetime.fromisoformat(str(item.get("date_published") or item.get("date_modified") or ""))
        return f"{(date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
    return ""


def _line(value: Any) -> str:
    return " ".join(value.split())[:LONGEST] if isinstance(value, str) else ""


def _names(item: _Item) -> list[str]:
    """The key of an entry: its identity, else its link and title, else its text, else its date, too."""
    names = [item.identity] if item.identity else []
    if item.link or item.name:
        names += [f"{item.link}\n{item.name}", f"{item.link}\n{item.name}\n{item.excerpt}"]
    else:
        names.append(f"{item.identity}\n{item.excerpt}")
    return [*names, f"{names[-1]}\n{item.date}"]


def _shared(items: list[_Item]) -> set[str]:
    """The names that several entries have, of different links or texts, or without a link of different dates."""
    pairs = {
        (name, item.link, item.name, item.excerpt, "" if item.link else item.date)
        for item in items
        for name in _names(item)
    }
    return {name for name, count in Counter(name for name, *_ in pairs).items() if count > 1}


def _entry(item: _Item, url: str, shared: set[str]) -> dict[str, str]:
    link = item.link if len(item.link) <= _LONGEST_LINK else ""
    names = _names(item)
    named = next((name for name in names if name not in shared), names[-1])
    key = hashlib.sha256(named.encode()).hexdigest()[:24]
    return {"key": key, "title": item.name or item.excerpt, "link": _absolute(url, link)}


def _absolute(url: str, link: str) -> str:
    try:
        link = f"https://{link}" if link.startswith("www.") else link
        absolute = urljoin(url, link).replace(" ", "%20") if link else ""
    except ValueError:
        return ""
    return absolute if absolute.startswith(("http://", "https://")) and len(absolute) <= _LONGEST_LINK else ""


def _newest(dated: list[tuple[str, dict[str, str]]]) -> list[dict[str, str]]:
    """Each entry once, newest first if all have dates; else as the feed lists them."""
    if all(date for date, _ in dated):
        dated = sorted(dated, key=lambda one: one[0], reverse=True)
    return list({entry["key"]: entry for _, entry in reversed(dated)}.values())[::-1]
