"""Find a value in a page: by JMESPath in JSON, by a CSS selector in HTML, by a pattern in text. Pure, and bounded."""

import html
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from unicodedata import normalize

from cssselect import ExpressionError, HTMLTranslator, Selector, SelectorError, parse
from cssselect.parser import Element, FunctionalPseudoElement, Negation, Token, parse_series
from lxml import etree

from common.parsing import expressions, patterns
from common.parsing.budget import Budget
from common.parsing.expressions import Invalid, check_length
from common.texts.refusal import TEXTS, Refusal, noop as _
from jobs.reading import plain
from jobs.reading.charset import decode, storable
from jobs.reading.numbers import read, shown

LONGEST = 20_000
"""Characters of what may be found."""
# Soft hyphens, spaces of no width, and marks of direction: a text that somebody types has none.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
# What Gerrit and others put before JSON, so that no page runs it as a script.
_GUARD = re.compile(r"\A\s*\)\]\}',?\s*")
_LANGUAGE = re.compile(
    rb"<html[^>]{0,500}?\slang\s*=\s*[\"']?([A-Za-z]{2}(?:[-_][A-Za-z]{2}(?![A-Za-z]))?)", re.IGNORECASE
)
# Attributes that say what an element without a text is: microdata, a field of a form, stars, a picture.
_INSTEAD = ("content", "value", "datetime", "aria-label", "alt", "title")
# In XML, what stands in these is text.
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_IS_XML = re.compile(r"\s*<\?xml(?!.{0,1000}<html)", re.DOTALL | re.IGNORECASE)
# A browser's selectors find nothing inside these: what stands there is a pattern, or for those without scripts.
_NOT_FOUND = ("template", "noscript")
_IN_BRACKETS = r"((?:[^()\"']|\"[^\"]*\"|'[^']*'|\([^()]*\))*)\)"
_LIST = re.compile(
    rf":(not|is|where|matches)\({_IN_BRACKETS}|(?<=-child\()([^()]*\sof\s+)(?![0-9]){_IN_BRACKETS}", re.IGNORECASE
)
_LONGEST_PATH = 10_000
TEXTS.update(
    found_too_much=_("%(count)s characters were found, and at most %(longest)s are kept: choose a smaller part."),
    not_json=_("It is not JSON: choose another way to read it."),
    selector_syntax=_("This is not a CSS selector. Write one such as .price or #offer > span."),
    selector_attributes=_("Use the same ::attr(…) at the end of each selector in the list."),
    selector_pseudo=_("The only pseudo-element is ::attr(name), such as meta[itemprop=price]::attr(content)."),
    pattern_groups=_("Use one group, around what you want; write (?:…) for the others."),
)


def check(how: str, expression: str) -> None:
    """Raises Refusal for an expression that cannot be used. `how` is "json", "html" or "text"."""
    if how == "json":
        expressions.compiled(expression)
    elif how == "html":
        compiled(expression)
    else:
        _pattern(expression)


def value(body: bytes, content_type: str, how: str, expression: str, mark: str) -> dict[str, str | None] | None:
    """Parse a page in a child process: the `text` that is found, the `number` in it, how else that may be read
    (`other`), and its `unit`. None for nothing. Raises Refusal.
    """
    budget = Budget(seconds=4, characters=20_000_000, items=2_000_000)
    if (text := find(how, expression, decode(body, content_type), budget)) is None:
        return None
    declared = _LANGUAGE.search(body[:4_000])
    language = declared[1].decode().lower().replace("_", "-") if declared else ""
    if (result := read(text, mark, language)) is None:
        return {"text": text, "number": None, "other": None, "unit": ""}
    other = None if result.other is None else shown(result.other)
    return {"text": text, "number": shown(result.value), "other": other, "unit": result.unit}


def find(how: str, expression: str, page: str, budget: Budget) -> str | None:
    """Return the text that is found; None for nothing. Raises Refusal."""
    if how == "json":
        result = _in_json(expression, page, budget)
    elif how == "html":
        result = _in_html(expression, page)
    else:  # the group of the pattern, where it has one, else all that matches
        pattern = _pattern(expression)
        match = pattern.search(page)
        result = match and match.group(min(pattern.groups, 1))
    if result is not None and len(result) > LONGEST:
        raise Refusal("found_too_much", count=len(result), longest=LONGEST)
    return storable(normalize("NFC", _INVISIBLE.sub("", result)).strip()) or None if result else None


def _in_json(expression: str, page: str, budget: Budget) -> str | None:
    budget.items(page.count(","))
    try:
        document = json.loads(_GUARD.sub("", page, count=1), parse_constant=_no_number)
    except ValueError:
        raise Refusal("not_json") from None
    result: Any = expressions.find(expression, document, budget)
    if result is None or isinstance(result, str):
        return result
    return json.dumps(result, ensure_ascii=False, sort_keys=True)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _pattern(expression: str) -> Any:
    pattern = patterns.compiled(expression)
    if pattern.groups > 1:
        raise Invalid("pattern_groups")
    return pattern


def _of_type(context: Any, from_end: bool = False) -> float:
    """The place of an element among its siblings of the same name, which XPath cannot say without the name."""
    node = context.context_node
    return 1.0 + sum(1 for _one in node.itersiblings(node.tag, preceding=not from_end))


def _where(condition: str) -> Any:
    return lambda _translator, xpath: xpath.add_condition(condition)


def _nth(place: str) -> Any:
    return lambda _translator, xpath, function: _at(xpath, place, function.arguments)


def _at(xpath: Any, place: str, arguments: Sequence[Token]) -> Any:
    step, first = parse_series(arguments)
    if not step:
        return xpath.add_condition(f"{place} = {first}")
    return xpath.add_condition(f"({place} - {first}) mod {step} = 0 and ({place} - {first}) div {step} >= 0")


class _Translator(HTMLTranslator):
    """Refuses what no stored page has, and knows lists and places that cssselect does not, as browsers do."""

    def __init__(self) -> None:
        super().__init__()
        self._lists: list[str] = []

    def parsed(self, selector: str) -> list[Selector]:
        """cssselect reads few lists within a selector: each becomes ":any-of(n)", ":none-of(n)" or "2 of n"."""
        count = 1
        while count:
            selector, count = _LIST.subn(self._numbered, selector)
        return parse(selector)

    def _numbered(self, match: re.Match[str]) -> str:
        self._lists.append(match[2] or match[4] or "")
        head = match[3] or f":{'none' if match[1].lower() == 'not' else 'any'}-of("
        return f"{head}{len(self._lists) - 1})"

    def pseudo_never_matches(self, xpath: Any) -> Any:
        raise ExpressionError("a page that is stored has none")

    xpath_visited_pseudo = xpath_hover_pseudo = xpath_active_pseudo = pseudo_never_matches
    xpath_focus_pseudo = xpath_target_pseudo = pseudo_never_matches
    xpath_any_link_pseudo = HTMLTranslator.xpath_link_pseudo
    xpath_first_of_type_pseudo, xpath_last_of_type_pseudo = _where("of_type() = 1"), _where("of_type(true()) = 1")
    xpath_only_of_type_pseudo = _where("of_type() = 1 and of_type(true()) = 1")
    xpath_nth_of_type_function, xpath_nth_last_of_type_function = _nth("of_type()"), _nth("of_type(true())")

    def xpath_nth_child_function(self, xpath: Any, function: Any, last: bool = False, *_others: Any) -> Any:
        arguments, siblings = function.arguments, f"{'following' if last else 'preceding'}-sibling::*"
        if [str(one.value).lower() for one in arguments[-2:-1]] == ["of"]:
            xpath = self.xpath_any_of_function(xpath, function)
            arguments, siblings = arguments[:-2], f"{siblings}[not({self._none_of(function)})]"
        return _at(xpath, f"(count({siblings}) + 1)", arguments)

    def xpath_any_of_function(self, xpath: Any, function: Any) -> Any:
        return xpath.add_condition(f"not({self._none_of(function)})")

    def xpath_none_of_function(self, xpath: Any, function: Any) -> Any:
        return xpath.add_condition(self._none_of(function))

    def _none_of(self, function: Any) -> str:
        """The condition that an element matches none of a list, whose number is the last argument."""
        several = self.parsed(self._lists[int(function.arguments[-1].value)])
        conditions = [self.xpath_negation(Negation(Element(), one.parsed_tree)).condition for one in several]
        if any(one.pseudo_element for one in several) or sum(map(len, conditions)) > _LONGEST_PATH:
            raise ExpressionError("it has a pseudo-element, or lists within lists within lists")
        return " and ".join(conditions)


@lru_cache(maxsize=1_000)
def compiled(selector: str) -> tuple[etree.XPath, str]:
    """The path to the elements, and the attribute whose value is wanted instead of the text. Raises Invalid."""
    check_length(selector)
    translator = _Translator()
    try:
        result = translator.parsed(selector)
        attributes = {_attribute(one.pseudo_element) for one in result}
        path = "|".join(map(translator.selector_to_xpath, result))
        compiled_path = etree.XPath(path, extensions={(None, "of_type"): _of_type})
    except (SelectorError, ValueError, IndexError, RecursionError, etree.XPathError):
        raise Invalid("selector_syntax") from None
    if len(attributes) > 1:
        raise Invalid("selector_attributes")
    return compiled_path, attributes.pop()


def _in_html(selector: str, page: str) -> str | None:
    """Return the text of the first element that matches, or its attribute; None where none does. Raises Invalid.

    One inside a template counts where no other matches.
    """
    path, attribute = compiled(selector)
    if is_xml := _IS_XML.match(page):
        page = _CDATA.sub(lambda match: html.escape(match[1]), page)
    if (root := plain.tree(page)) is None:
        return None
    if not is_xml:
        _correct(root)
    if not (elements := path(root)):
        return None
    element = next((one for one in elements if next(one.iterancestors(*_NOT_FOUND), None) is None), elements[0])
    if attribute:
        text = element.get(attribute, "")
    else:  # somebody may want the price before, which is struck out
        text = plain.of_element(element, is_value=True) or plain.of_element(element)
        text = text or next(filter(None, map(element.get, _INSTEAD)), "")
    return " ".join(text.split())


def _correct(root: Any) -> None:
    """Make the tree that browsers do, whose selectors people copy: rows in bodies, nothing in what has no end."""
    for table in root.xpath("descendant-or-self::table[tr]"):
        rows, body = table.xpath("tr"), etree.Element("tbody")
        rows[0].addprevious(body)
        body.extend(rows)
    for one in [*root.iter("source", "wbr", "track", "embed")]:
        text, one.text = one.text or "", None
        for child in reversed(one):
            one.addnext(child)
        one.tail = text + (one.tail or "")


def _attribute(pseudo: Any) -> str:
    match pseudo:
        case None:
            return ""
        case FunctionalPseudoElement(name="attr", arguments=[argument]) if argument.type == "IDENT":
            return str(argument.value).lower()
    raise Invalid("selector_pseudo")
