"""HTML that stands in a text of a feed or a calendar, as plain text with its links. Pure."""

import re
from html.parser import HTMLParser

_LONGEST = 20_000
# What follows "<" must be a name of HTML: "Vec<T>" and "a <b and c> d" are no markup, "<b>" and "<br/>" are.
_NAMES = (
    "a|abbr|b|blockquote|body|br|center|code|del|div|em|figure|font|h[1-6]|head|hr|html|html-blob|i|img|ins|li|link|meta|"
    "ol|p|pre|s|small|span|strike|strong|style|sub|sup|table|tbody|td|th|tr|tt|u|ul"
)
_MARKUP = re.compile(rf"<!--|</?(?:{_NAMES})(?:\s[^<>]*)?/?>", re.IGNORECASE)
_BLOCKS = {
    "p",
    "div",
    "br",
    "li",
    "tr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "table",
    "blockquote",
    "hr",
    "pre",
}
_HIDDEN = {"style", "script", "head", "title"}


def is_html(text: str) -> bool:
    return _MARKUP.search(text) is not None


def of_html(html: str, *, links: bool = True) -> str:
    """The text, a line for each block; addresses of links follow their words in brackets."""
    reader = _Text(links)
    reader.feed(html[:_LONGEST])
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Text(HTMLParser):
    def __init__(self, links: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._links, self._hidden = links, 0
        self._href, self._began = "", 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in _BLOCKS:
            self.parts.append("\n")
        elif tag == "a" and self._links:
            self._href, self._began = (dict(attrs).get("href") or "").strip(), len(self.parts)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS:
            self.parts.append("\n")
        elif tag == "a" and self._href:
            said = "".join(self.parts[self._began :]).strip()
            if self._href.startswith(("http://", "https://", "mailto:", "tel:")) and said != self._href:
                self.parts.append(f" ({self._href})" if said else self._href)
            self._href = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)
