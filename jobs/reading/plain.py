"""HTML as plain text. It runs in a child process, which bounds its time and memory."""

import re
from typing import Any

from lxml import etree

from common.parsing.budget import OverBudget

_LONGEST = 20_000
_DEEPEST = 2_048
"""Elements inside each other that libxml2 reads."""
# What follows "<" must be a name of HTML: "Vec<T>" and "a <b and c> d" are not markup, "<b>" and "<br/>" are.
_NAMES = (
    "a|abbr|b|blockquote|body|br|center|code|del|div|em|figure|font|h[1-6]|head|hr|html|html-blob|i|img|ins|li|link|meta|"
    "ol|p|pre|s|small|span|strike|strong|style|sub|sup|table|tbody|td|th|tr|tt|u|ul"
)
# A lone "<b>" is named: markup has an end, an attribute, or a name that needs none.
_MARKUP = re.compile(
    rf"<!--|</(?:{_NAMES})\s*>|<(?:{_NAMES})\s[^<>]*=[^<>]*>|<(?:br|hr|img|li|p|td|tr)\s*/?>", re.IGNORECASE
)
# Elements whose text is not shown, and those that stand within a line.
_HIDDEN = ("script", "style", "template", "noscript", "head")
_NOT_SHOWN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
# A price that is no longer asked, and what a screen reader says of it.
_STRUCK = ("del", "s", "strike")
_STRUCK_STYLE = re.compile(r"text-decoration(?:-line)?\s{0,9}:[^;]{0,60}\bline-through")
_FORMER = "old|was|original|former|previous|before"
_STRUCK_CLASS = re.compile(
    rf"line-?through|\bstrike(?!-?price)|crossed-?out|(?<![a-z])(?:{_FORMER})[_-]{{0,2}}price"
    rf"|price[_-]{{0,2}}(?:{_FORMER})(?![a-z])",
    re.IGNORECASE,
)
_SPOKEN = re.compile(r"\b(?:screen-reader|sr-only|visually-?hidden|offscreen)")
# fmt: off
_INLINE = frozenset((
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "em", "font", "i", "img", "ins", "kbd", "label",
    "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
))
# fmt: on
_LINKED = ("http://", "https://", "mailto:", "tel:")
_SUP, _SUP_END = "\x02", "\x03"
# Cents that are raised or small instead of marked: "$19" with a small "99".
_RAISED = re.compile(
    rf"([0-9]{{1,20}}(?:[.,' ][0-9]{{3}}){{0,6}}){_SUP_END}?(\s?[€$£])?\s?{_SUP}\s*([0-9]{{2}})"
    rf"(?=[^0-9){_SUP_END}]{{0,9}}{_SUP_END})"
)
_CENTS = re.compile(
    r"(?:^|[\s_-])(?:cents?|centimes|centavos|pence|grosze|dec|decimals?|fraction(?:al)?|superscript)(?:$|[\s_-])",
    re.IGNORECASE,
)
# The tenth of a cent of fuel, and the number of a note.
_TENTH = re.compile(rf"(?<=[.,][0-9]{{2}}){_SUP}9{_SUP_END}")
_NOTE = re.compile(rf"(?:(?<=[0-9€$£¥₽₺円元원])|(?<=kr|zł|Kč|Ft)){_SUP}(?:[0-9]|\(?[0-9]{{1,2}}\)){_SUP_END}")


def is_html(text: str) -> bool:
    return _MARKUP.search(text) is not None


def of_html(html: str, *, links: bool = True) -> str:
    """The text, a line for each block; addresses of links follow their words in brackets."""
    root = tree(html[:_LONGEST])
    return "" if root is None else of_element(root, links=links)


def tree(html: str) -> Any:
    """The root element; None where nothing is HTML. Raises OverBudget for what is nested too deeply."""
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = etree.HTML(html.encode("utf-8", "replace"), parser)
    except etree.LxmlError:
        return None
    if (last := parser.error_log.last_error) is not None and "depth" in last.message:
        raise OverBudget("depth", _DEEPEST)
    return root


def of_element(element: Any, *, links: bool = False, is_value: bool = False) -> str:
    """`is_value`: what stands raised or small behind digits is their fraction, and what is struck out is left out."""
    text = _Text(element, links, is_value)
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, one in walk:
        if event == "end":
            text.end(one)
        elif not text.begin(one):
            walk.skip_subtree()
    marked = "".join(text.parts)
    marked = _NOTE.sub("", _TENTH.sub("\N{SUPERSCRIPT NINE}", marked))
    joined = _RAISED.sub(lambda match: f"{match[1]}{',' if '.' in match[1] else '.'}{match[3]}{match[2] or ''}", marked)
    lines = (" ".join(line.split()) for line in joined.replace(_SUP, "").replace(_SUP_END, "").splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Text:
    """The text of an element, in parts that follow from where elements begin and end."""

    def __init__(self, element: Any, links: bool, is_value: bool) -> None:
        self.parts = [""]
        self._element, self._links, self._is_value = element, links, is_value
        self._starts: list[int] = []

    def begin(self, one: Any) -> bool:
        """Whether what is in it is shown."""
        self._border(one.tag)
        if self._is_value and _is_raised(one):
            self._add(_SUP)
        self._starts.append(len(self.parts))
        if one is not self._element and (_is_hidden(one) or (self._is_value and _is_former(one))):
            return False
        self._add(one.text)
        return True

    def end(self, one: Any) -> None:
        start = self._starts.pop()
        if self._links and one.tag == "a":
            self._add(_link((one.get("href") or "").strip(), "".join(self.parts[start:]).strip()))
        if self._is_value and _is_raised(one):
            self._add(_SUP_END)
        self._border(one.tag)
        if one is not self._element:
            self._add(one.tail)

    def _add(self, text: str | None) -> None:
        if text:
            self.parts.append(text)

    def _border(self, tag: str) -> None:
        """Blocks stand on lines of their own, paragraphs with an empty one between."""
        if tag not in _INLINE and (tag == "p" or self.parts[-1] != "\n"):
            self.parts.append("\n")


def _is_hidden(one: Any) -> bool:
    is_marked = one.get("hidden") is not None or _NOT_SHOWN.search(one.get("style", "")) is not None
    return is_marked or one.tag in _HIDDEN


def _is_raised(one: Any) -> bool:
    return one.tag in ("sup", "small") or _CENTS.search(one.get("class", "")) is not None


def _is_former(one: Any) -> bool:
    previous = one.getprevious()
    is_spoken = previous is not None and previous.tag in _STRUCK and _SPOKEN.search(one.get("class", "")) is not None
    is_struck = _STRUCK_STYLE.search(one.get("style", "")) or _STRUCK_CLASS.search(one.get("class", ""))
    return is_spoken or one.tag in _STRUCK or is_struck is not None


def _link(href: str, words: str) -> str:
    """The address behind the words of a link; "" where it says nothing more."""
    if words == href or not href.startswith(_LINKED):
        return ""
    return f" ({href})" if words else href
