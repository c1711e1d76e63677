"""HTML as plain text. It runs in a child process, which bounds its time and memory."""

import re
from typing import Any

from lxml import etree

from common.parsing.budget import OverBudget

_LONGEST = 20_000
_DEEPEST = 2_048
"""Elements inside each other that libxml2 reads."""
# What follows "<" must be a name of HTML: "Vec<T>" and "a <b and c> d" are no markup, "<b>" and "<br/>" are.
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
# fmt: off
_INLINE = frozenset((
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "em", "font", "i", "img", "ins", "kbd", "label",
    "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
))
# fmt: on
_LINKED = ("http://", "https://", "mailto:", "tel:")
_SUP, _SUP_END = "\x02", "\x03"
# Cents that are raised instead of marked: "$19" with a small "99".
_RAISED = re.compile(rf"([0-9]{{1,20}}(?:[.,' ][0-9]{{3}}){{0,6}})\s?{_SUP}\s*([0-9]{{2}})\s*{_SUP_END}")


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


def of_element(element: Any, *, links: bool = False, raised: bool = False) -> str:
    """`raised`: what stands raised behind digits is their fraction."""
    parts: list[str] = [""]

    def border(tag: str) -> None:
        if tag not in _INLINE and (tag == "p" or parts[-1] != "\n"):
            parts.append("\n")

    walk = etree.iterwalk(element, events=("start", "end"))
    began: list[int] = []
    for event, one in walk:
        is_shown = one is element or one.tag not in _HIDDEN
        if event == "start":
            border(one.tag)
            if raised and one.tag == "sup":
                parts.append(_SUP)
            began.append(len(parts))
            if not is_shown:
                walk.skip_subtree()
            elif one.text:
                parts.append(one.text)
            continue
        start = began.pop()
        if links and one.tag == "a" and (href := (one.get("href") or "").strip()).startswith(_LINKED):
            said = "".join(parts[start:]).strip()
            parts.append("" if said == href else f" ({href})" if said else href)
        if raised and one.tag == "sup":
            parts.append(_SUP_END)
        border(one.tag)
        if one is not element and one.tail:
            parts.append(one.tail)
    text = _RAISED.sub(lambda match: f"{match[1]}{',' if '.' in match[1] else '.'}{match[2]}", "".join(parts))
    lines = (" ".join(line.split()) for line in text.replace(_SUP, "").replace(_SUP_END, "").splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
