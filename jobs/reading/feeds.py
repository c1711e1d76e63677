"""The entries of feeds: RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0. Pure: no Django, it runs in a child process.

A feed is read as a stream, without a tree, and as far as it is well-formed. Nothing is loaded, and one that declares
entities is refused.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin

from lxml import etree

from common.budget import Budget
from common.refusal import Refusal
from common.refusal import noop as _
from jobs.reading.charset import decode

MOST = 200
"""How many entries of one feed count: the newest."""
LONGEST = 300
"""Characters of a title."""
_CHUNK = 64 * 1024
_DEEPEST = 200
_LONGEST_LINK = 1_000
_LONGEST_TEXT = 5_000
_MOST_READ = 2_000

_DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
_NAMESPACES = {
    "",
    "http://www.w3.org/2005/Atom",
    "http://purl.org/atom/ns#",
    "http://purl.org/rss/1.0/",
    "http://my.netscape.com/rdf/simple/0.9/",
    "http://backend.userland.com/rss2",
    _DUBLIN_CORE,
}
_ROOTS = {"rss", "feed", "RDF"}
_DATES = ("published", "pubDate", "issued", "date", "updated", "modified")
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>")
# Halves of an emoji, as careless programs write them; the parser raises UnicodeError for them.
_HALF = re.compile(
    r"&#(?:x0*d[89a-f][0-9a-f]{2}|0*(?:5529[6-9]|55[3-9]\d\d|56\d{3}|57[0-2]\d\d|573[0-3]\d|5734[0-3]));", re.I
)
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"


class NotAFeed(Refusal):
    """This cannot be read as a feed. The message says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`key` tells it from the others of its feed; `title` and `link` are "" where there is none."""

    key: str
    title: str
    link: str


@dataclass(frozen=True, slots=True)
class Feed:
    title: str
    entries: list[Entry]


def read(body: bytes, content_type: str, url: str) -> Feed:
    """Return the feed, whose relative links begin at `url`. Raises NotAFeed and OverBudget."""
    text, budget = decode(body, content_type), Budget(seconds=4, items=500_000)
    if "<!ENTITY" in text:
        raise NotAFeed(_("It declares entities."))
    reader, raw = _Reader(budget), _HALF.sub("\N{REPLACEMENT CHARACTER}", text.lstrip()).encode()
    parser = etree.XMLParser(
        target=reader, encoding="utf-8", resolve_entities=False, no_network=True, recover=True, remove_comments=True
    )
    try:
        for start in range(0, len(raw), _CHUNK):
            parser.feed(raw[start : start + _CHUNK])
            budget.clock()
        parser.close()
    except (etree.LxmlError, UnicodeError):
        pass  # what came before it counts
    if not reader.is_feed:
        raise NotAFeed(_("It is neither RSS nor Atom."))
    return Feed(_plain(reader.title), _newest([_entry(one, url) for one in reader.entries]))


@dataclass(slots=True)
class _Reader:
    """Takes the events of lxml's parser: the texts of the children of each entry, by their names."""

    budget: Budget
    is_feed: bool = False
    title: str = ""
    entries: list[dict[str, str]] = field(default_factory=list)
    _path: list[str] = field(default_factory=list)
    _entry_at: int = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.budget.items()
        namespace, _brace, name = tag.rpartition("}")
        name = name if namespace[1:] in _NAMESPACES or not self._path else f"{namespace}}}{name}"
        self._path.append(name)
        depth = len(self._path)
        if depth == 1:
            self.is_feed = name in _ROOTS
        if not self.is_feed or depth > _DEEPEST:
            raise NotAFeed(_("It is neither RSS nor Atom."))
        if not self._entry_at and name in ("item", "entry") and len(self.entries) < _MOST_READ:
            self._entry_at = depth
            self.entries.append({"about": attributes.get(_ABOUT, "")})
        elif name == "link" and depth - 1 == self._entry_at > 0 and attributes.get("rel", "alternate") == "alternate":
            self.entries[-1].setdefault("link", attributes.get("href", ""))

    def end(self, tag: str) -> None:
        if len(self._path) == self._entry_at:
            self._entry_at = 0
        if self._path:
            self._path.pop()

    def data(self, text: str) -> None:
        if self._entry_at:
            if len(self._path) > self._entry_at:
                entry, name = self.entries[-1], self._path[self._entry_at]
                if len(said := entry.get(name, "")) < _LONGEST_TEXT:
                    entry[name] = said + text[:_LONGEST_TEXT]
        elif self._path[1:] in (["title"], ["channel", "title"]) and len(self.title) < _LONGEST_TEXT:
            self.title += text[:_LONGEST_TEXT]

    def close(self) -> None:
        """Asked for by lxml."""


def _entry(found: Mapping[str, str], url: str) -> tuple[datetime | None, Entry]:
    title, link = _plain(found.get("title", "")), found.get("link", "").strip()
    identity = (found.get("guid") or found.get("id") or found["about"]).strip()
    if not link and identity.startswith(("http://", "https://")):
        link = identity
    named = identity or f"{link}\n{title}" if link or title else "\n".join(found.values())
    key = hashlib.sha256(named.encode()).hexdigest()[:24]
    return _date(found), Entry(key, title, _absolute(url, link))


def _absolute(url: str, link: str) -> str:
    try:
        absolute = urljoin(url, link) if link else ""
    except ValueError:
        return ""
    return absolute if absolute.startswith(("http://", "https://")) and len(absolute) <= _LONGEST_LINK else ""


def _newest(dated: list[tuple[datetime | None, Entry]]) -> list[Entry]:
    """Each entry once, newest first if all have dates; else as the feed lists them."""
    if all(date for date, _ in dated):
        dated = sorted(dated, key=lambda one: str(one[0]), reverse=True)
    return list({entry.key: entry for _, entry in reversed(dated)}.values())[::-1][:MOST]


def _date(found: Mapping[str, str]) -> datetime | None:
    text = next((found[name].strip() for name in _DATES if found.get(name)), "")
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = parse(text)
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None


def _plain(text: str) -> str:
    """Titles are often HTML, escaped once or twice."""
    return " ".join(_MARKUP.sub(" ", html.unescape(text)).split())[:LONGEST]
