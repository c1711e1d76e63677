"""Bold, italics, links and lists in texts that people write. Read here once, written as each service shows them. Pure.

Only `**bold**`, `_italic_`, `[text](https://…)` and lines that begin with `- ` are read, so that all other text stays
as it is typed. `![text](https://…)` is a picture where a service shows one, else a link; Carillon never fetches it. In
a web address nothing is read, and the text of a link names no other address.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html import escape as html_escape

from django.utils.safestring import SafeString, mark_safe

from notifications.messages.text import addresses, as_html

# A joiner (U+2060) beside a mark makes it plain text: see `text.literal`.
_MARK = re.compile(
    r"\*\*(?=[^\s*\u2060])(?P<bold>[^*\n]*(?<=[^\s\u2060]))\*\*(?!\*)"
    r"|(?<![\w\u2060])_(?=[^\s_\u2060])(?P<italic>[^_\n]*(?<=[^\s\u2060]))_(?!\w)"
    r"|(?:(?<!\w)!)?\[(?P<label>(?:(?!://)[^\[\]\n]){1,300})\]\((?P<url>https?://[^\s()<>\"|]{1,2000})\)"
    r"|(?m:^)(?P<indent> {0,8})[-*] (?=\S)",
    re.IGNORECASE,
)
_LONGEST_PICTURE = 500
"""Characters, so that it fits into what browsers get."""
# What every mark has one of.
_SIGNS = ("**", "_", "](", "- ", "* ")


@dataclass(frozen=True, slots=True)
class Style:
    """How a service writes marks. `bold`, `italic` and `link` take escaped text; `escape` is for text that has marks,
    where None means the provider's own. `bullet` begins a line of a list; "" leaves it as typed.
    """

    bold: Callable[[str], str] = str
    italic: Callable[[str], str] = str
    link: Callable[[str, str], str] = "{}: {}".format
    bullet: str = ""
    escape: Callable[[str], str] | None = None


PLAIN = Style()
MARKDOWN = Style(bold="**{}**".format, italic="_{}_".format, link="[{}]({})".format, bullet="- ")
HTML = Style(
    bold="<strong>{}</strong>".format,
    italic="<em>{}</em>".format,
    link=lambda text, url: f'<a href="{html_escape(url)}">{text}</a>',
    bullet="• ",
    escape=as_html,
)


def picture(text: str) -> str:
    """The address of its first picture, or ""."""
    urls = (mark["url"] for mark in _marks(text) if mark["url"] and mark[0][0] == "!")
    return next((url for url in urls if url.startswith("https://") and len(url) <= _LONGEST_PICTURE), "")


def has_marks(text: str) -> bool:
    return next(_marks(text), None) is not None


def write(text: str, style: Style = PLAIN, escape: Callable[[str], str] = str) -> str:
    """Return the text as a service shows it; `escape` is for what has no marks, if the style has none."""
    escape = style.escape or escape
    parts, done = [], 0
    for mark in _marks(text):
        parts.append(escape(text[done : mark.start()]))
        done = mark.end()
        if mark["bold"] is not None:
            parts.append(style.bold(write(mark["bold"], style, escape)))
        elif mark["italic"] is not None:
            parts.append(style.italic(write(mark["italic"], style, escape)))
        elif mark["url"] is not None:
            parts.append(style.link(escape(mark["label"]), mark["url"]))
        else:
            parts.append(mark["indent"] + style.bullet if style.bullet else escape(mark[0]))
    return "".join([*parts, escape(text[done:])])


def as_page(text: str, escape: Callable[[str], str] = as_html) -> SafeString:
    """Return HTML, in which only marks and web addresses are tags."""
    return mark_safe(write(text, replace(HTML, escape=escape)))  # noqa: S308 - all is escaped


def closed(text: str, position: int) -> tuple[int, str]:
    """Return where to cut instead of at `position`, and what closes the marks that are open there."""
    for mark in _marks(text):
        if mark.start() < position < mark.end():
            if mark.lastgroup not in ("bold", "italic"):
                return mark.start(), ""
            start, end = mark.span(mark.lastgroup)
            closing = text[end : mark.end()]
            if position >= end:
                return end, closing
            inner, more = closed(text[start:end], max(0, position - start))
            return (start + inner, more + closing) if inner else (mark.start(), "")
    return position, ""


def _marks(text: str) -> Iterator[re.Match[str]]:
    if not any(sign in text for sign in _SIGNS):
        return  # nearly all texts
    within, position = list(addresses(text)), 0
    while (mark := _MARK.search(text, position)) is not None:
        inside = next((end for start, end in within if start < mark.start() < end), None)
        if inside is None:
            yield mark
        position = mark.end() if inside is None else inside
