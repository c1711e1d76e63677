"""The text that a CSS selector finds in a page. Pure.

The page is read as a stream, without a tree, and each element is compared with each part of the selector once. So time
grows with the page's length alone. Selectors that must look ahead, such as :last-child, are not available.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cssselect import SelectorError, parse
from cssselect.parser import (
    Attrib,
    Class,
    CombinedSelector,
    Element,
    Function,
    FunctionalPseudoElement,
    Hash,
    Negation,
    Pseudo,
    parse_series,
)
from lxml import etree

from common.budget import Budget
from common.refusal import Refusal
from common.refusal import noop as _

LONGEST = 500
MOST_STEPS = 24
_CHUNK = 64 * 1024
_DEEPEST = 1_000
_SUP, _SUP_END = "\x02", "\x03"
_RAISED = re.compile(rf"([0-9]{{1,20}}(?:[.,' ][0-9]{{3}}){{0,6}})\s?{_SUP}\s*([0-9]{{2}})\s*{_SUP_END}")
# Elements whose text is not shown, and those around whose text there is no space.
_HIDDEN = frozenset(("script", "style", "template", "noscript"))
# fmt: off
_INLINE = frozenset((
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "em", "font", "i", "ins", "kbd", "label", "mark", "q", "s",
    "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr",
))
# fmt: on


class Invalid(Refusal):
    """The selector cannot be used. The message is for its author."""


class TooDeep(Refusal):
    """The page's elements are nested too deeply."""


@dataclass(slots=True)
class _Open:
    """An element whose end has not come. Sets of steps are bits: those that match it, it or one around it, the child
    before, and any child so far.
    """

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    place: int = 0
    place_of_tag: int = 0
    here: int = 0
    around: int = 0
    last: int = 0
    before: int = 0
    children: int = 0
    children_of_tag: dict[str, int] = field(default_factory=dict)


_Test = Callable[[_Open], bool]


@dataclass(frozen=True, slots=True)
class _Step:
    """A part between two combinators. `combinator`: how the step before relates to it, "" where there is none."""

    combinator: str
    tests: tuple[_Test, ...]
    is_last: bool


@dataclass(frozen=True, slots=True)
class Selector:
    """`attribute`: whose value is wanted instead of the text, by `::attr(name)`."""

    steps: tuple[_Step, ...]
    attribute: str

    @property
    def ends(self) -> int:
        """The last steps, as bits."""
        return sum(1 << bit for bit, step in enumerate(self.steps) if step.is_last)


@lru_cache(maxsize=1_000)
def compiled(selector: str) -> Selector:
    """Raises Invalid."""
    if len(selector) > LONGEST:
        raise Invalid(
            _("This is %(count)s characters long; at most %(longest)s fit."), count=len(selector), longest=LONGEST
        )
    try:
        found = parse(selector)
    except (SelectorError, RecursionError):
        raise Invalid(_("This is no CSS selector. Write one such as .price or #offer > span.")) from None
    steps, attributes = [], set()
    for one in found:
        attributes.add(_attribute(one.pseudo_element))
        steps += _steps(one.parsed_tree)
    if len(steps) > MOST_STEPS:
        raise Invalid(
            _("This selector has %(count)s parts; at most %(most_steps)s fit."), count=len(steps), most_steps=MOST_STEPS
        )
    if len(attributes) > 1:
        raise Invalid(_("Use the same ::attr(…) at the end of each selector in the list."))
    return Selector(tuple(steps), attributes.pop())


def find(selector: str, page: str, budget: Budget) -> str | None:
    """Return the text of the first element that matches, or its attribute; None where none does.

    Raises Invalid, TooDeep and OverBudget.
    """
    reader = _Reader(compiled(selector), budget)
    parser = etree.HTMLParser(target=reader, encoding="utf-8")
    raw = page.encode()
    try:
        for start in range(0, len(raw), _CHUNK):
            parser.feed(raw[start : start + _CHUNK])
            budget.clock()
        parser.close()
    except _Complete:
        pass
    except etree.LxmlError:
        return None  # nothing in it is HTML
    return reader.found()


def _fraction(match: re.Match[str]) -> str:
    """Cents that are raised instead of marked: "$19" with a small "99"."""
    return f"{match[1]}{',' if '.' in match[1] else '.'}{match[2]}"


class _Complete(Exception):
    """All that is wanted has been read."""


class _Reader:
    """Takes the events of lxml's parser."""

    def __init__(self, selector: Selector, budget: Budget) -> None:
        self._selector, self._ends, self._budget = selector, selector.ends, budget
        self._open = [_Open("")]
        self._text: list[str] | None = None
        self._from = self._hidden = 0

    def found(self) -> str | None:
        if self._text is None:
            return None
        text = _RAISED.sub(_fraction, "".join(self._text)).replace(_SUP, "").replace(_SUP_END, "")
        return " ".join(text.split())

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        parent = self._open[-1]
        if tag == "tr" and parent.tag == "table":
            self.start("tbody", {})  # as browsers do, whose selectors people copy
            parent = self._open[-1]
        if len(self._open) > _DEEPEST:
            raise TooDeep(_("It has more than %(deepest)s elements inside each other."), deepest=_DEEPEST)
        self._budget.items()
        parent.children += 1
        parent.children_of_tag[tag] = of_tag = parent.children_of_tag.get(tag, 0) + 1
        one = _Open(tag, attributes, parent.children, of_tag)
        one.here = matches = self._matches(one, parent)
        one.around = parent.around | matches
        parent.last, parent.before = matches, parent.before | matches
        self._open.append(one)
        if self._text is not None:
            self._hidden += tag in _HIDDEN
            self._space(tag)
            if tag == "sup":
                self._text.append(_SUP)
        elif matches & self._ends:
            self._begin(attributes)

    def end(self, tag: str) -> None:
        while len(self._open) > 1:
            one = self._open.pop()
            if self._text is not None:
                self._hidden -= one.tag in _HIDDEN and len(self._open) > self._from
                self._space(one.tag)
                if one.tag == "sup":
                    self._text.append(_SUP_END)
                if len(self._open) == self._from:
                    raise _Complete
            if one.tag == tag:
                return

    def data(self, text: str) -> None:
        if self._text is not None and not self._hidden:
            self._text.append(text)

    def close(self) -> None:
        """Asked for by lxml."""

    def _begin(self, attributes: Mapping[str, str]) -> None:
        self._text, self._from = [], len(self._open) - 1
        if self._selector.attribute:
            self._text = [attributes.get(self._selector.attribute, "")]
            raise _Complete

    def _space(self, tag: str) -> None:
        if self._text is not None and tag not in _INLINE:
            self._text.append(" ")

    def _matches(self, one: _Open, parent: _Open) -> int:
        # By combinator: the steps that may match, because the one before them did.
        related = {
            "": -1,
            " ": parent.around << 1,
            ">": parent.here << 1,
            "+": parent.last << 1,
            "~": parent.before << 1,
        }
        matches, bit = 0, 1
        for step in self._selector.steps:
            if related[step.combinator] & bit:
                for test in step.tests:
                    if not test(one):
                        break
                else:
                    matches |= bit
            bit <<= 1
        return matches


def _attribute(pseudo: Any) -> str:
    match pseudo:
        case None:
            return ""
        case FunctionalPseudoElement(name="attr", arguments=[argument]) if argument.type == "IDENT":
            return str(argument.value).lower()
    raise Invalid(_("The only pseudo-element is ::attr(name), such as meta[itemprop=price]::attr(content)."))


def _steps(tree: Any) -> list[_Step]:
    """The steps of one selector, from the outermost element to its own."""
    steps: list[_Step] = []
    while True:
        combinator, inner = "", tree
        if isinstance(tree, CombinedSelector):
            combinator, inner, tree = tree.combinator, tree.subselector, tree.selector
        steps.insert(0, _Step(combinator, tuple(_tests(inner)), not steps))
        if not combinator:
            return steps


def _tests(tree: Any) -> list[_Test]:
    """What an element must be like for a compound selector."""
    match tree:
        case Element(element=None):
            return []
        case Element(element=tag):
            name = str(tag).lower()
            return [lambda one: one.tag == name]
        case Hash(selector=inner, id=id):
            return [*_tests(inner), lambda one: one.attributes.get("id") == id]
        case Class(selector=inner, class_name=name):
            return [*_tests(inner), lambda one: name in one.attributes.get("class", "").split()]
        case Attrib(selector=inner, attrib=name, operator=operator, value=value):
            wanted = "" if value is None else str(value.value)
            return [*_tests(inner), lambda one: _compare(one.attributes.get(name.lower()), operator, wanted)]
        case Negation(selector=inner, subselector=excluded):
            tests = _tests(excluded)
            return [*_tests(inner), lambda one: not all(test(one) for test in tests)]
        case Pseudo(selector=inner, ident="first-child"):
            return [*_tests(inner), lambda one: one.place == 1]
        case Pseudo(selector=inner, ident="first-of-type"):
            return [*_tests(inner), lambda one: one.place_of_tag == 1]
        case Function(selector=inner, name="nth-child" | "nth-of-type" as name, arguments=arguments):
            step, first = _series(arguments)
            by_tag = name == "nth-of-type"
            return [*_tests(inner), lambda one: _is_nth(one.place_of_tag if by_tag else one.place, step, first)]
    raise Invalid(
        _(
            "This selector is not available. Use names, #id, .class, [attribute=value], :not(), :first-child, "
            ":first-of-type, :nth-child() and :nth-of-type()."
        )
    )


def _series(arguments: Any) -> tuple[int, int]:
    try:
        return parse_series(arguments)
    except ValueError:
        raise Invalid(_("Write a place such as :nth-child(2) or :nth-child(2n+1).")) from None


def _is_nth(place: int, step: int, first: int) -> bool:
    if step == 0:
        return place == first
    return (place - first) % step == 0 and (place - first) // step >= 0


def _compare(value: str | None, operator: str, wanted: str) -> bool:
    if value is None or operator == "exists":
        return value is not None
    match operator:
        case "=":
            return value == wanted
        case "!=":
            return value != wanted
        case "~=":
            return wanted in value.split()
        case "|=":
            return value == wanted or value.startswith(f"{wanted}-")
        case "^=":
            return bool(wanted) and value.startswith(wanted)
        case "$=":
            return bool(wanted) and value.endswith(wanted)
    return bool(wanted) and wanted in value
