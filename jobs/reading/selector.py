"""The text that a CSS selector finds in a page. It runs in a child process, which bounds its time and memory."""

import html
import re
from functools import lru_cache
from typing import Any

from cssselect import ExpressionError, HTMLTranslator, SelectorError, parse
from cssselect.parser import FunctionalPseudoElement, parse_series
from lxml import etree

from common.parsing.expressions import Invalid, check_length
from common.texts.refusal import TEXTS, noop as _
from jobs.reading import plain

TEXTS.update(
    selector_syntax=_("This is not a CSS selector. Write one such as .price or #offer > span."),
    selector_attributes=_("Use the same ::attr(…) at the end of each selector in the list."),
    selector_pseudo=_("The only pseudo-element is ::attr(name), such as meta[itemprop=price]::attr(content)."),
)


# Attributes that say what an element without a text is: microdata, a field of a form, stars, a picture.
_INSTEAD = ("content", "value", "aria-label", "alt", "title")
# In XML, what stands in these is text.
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_IS_XML = re.compile(r"\s*<\?xml(?!.{0,1000}<html)", re.DOTALL | re.IGNORECASE)
# A browser's selectors find nothing inside these: what stands there is a pattern, or for those without scripts.
_NOT_FOUND = ("template", "noscript")


def _of_type(context: Any) -> float:
    """The place of an element among its siblings of the same name, which XPath cannot say without the name."""
    node = context.context_node
    return 1.0 + sum(1 for _one in node.itersiblings(node.tag, preceding=True))


class _Translator(HTMLTranslator):
    """Refuses what no stored page has, and knows a place by type also without a name: ".price:nth-of-type(2)"."""

    def pseudo_never_matches(self, xpath: Any) -> Any:
        raise ExpressionError("a page that is stored has none")

    xpath_visited_pseudo = xpath_hover_pseudo = xpath_active_pseudo = pseudo_never_matches
    xpath_focus_pseudo = xpath_target_pseudo = pseudo_never_matches

    def xpath_first_of_type_pseudo(self, xpath: Any) -> Any:
        return xpath.add_condition("of_type() = 1")

    def xpath_nth_of_type_function(self, xpath: Any, function: Any) -> Any:
        step, first = parse_series(function.arguments)
        if not step:
            return xpath.add_condition(f"of_type() = {first}")
        return xpath.add_condition(f"(of_type() - {first}) mod {step} = 0 and (of_type() - {first}) div {step} >= 0")


@lru_cache(maxsize=1_000)
def compiled(selector: str) -> tuple[etree.XPath, str]:
    """The path to the elements, and the attribute whose value is wanted instead of the text. Raises Invalid."""
    check_length(selector)
    try:
        result = parse(selector)
        attributes = {_attribute(one.pseudo_element) for one in result}
        path = "|".join(_Translator().selector_to_xpath(one) for one in result)
        compiled_path = etree.XPath(path, extensions={(None, "of_type"): _of_type})
    except (SelectorError, ValueError, RecursionError, etree.XPathError):
        raise Invalid("selector_syntax") from None
    if len(attributes) > 1:
        raise Invalid("selector_attributes")
    return compiled_path, attributes.pop()


def find(selector: str, page: str) -> str | None:
    """Return the text of the first element that matches, or its attribute; None where none does. Raises Invalid.

    One inside a template counts where no other matches.
    """
    path, attribute = compiled(selector)
    if _IS_XML.match(page):
        page = _CDATA.sub(lambda match: html.escape(match[1]), page)
    if (root := plain.tree(page)) is None:
        return None
    for table in root.iter("table"):  # as browsers do, whose selectors people copy
        if rows := table.xpath("tr"):
            body = etree.Element("tbody")
            rows[0].addprevious(body)
            body.extend(rows)
    if not (elements := path(root)):
        return None
    element = next((one for one in elements if next(one.iterancestors(*_NOT_FOUND), None) is None), elements[0])
    if attribute:
        text = element.get(attribute, "")
    else:  # somebody may want the price before, which is struck out
        text = plain.of_element(element, is_value=True) or plain.of_element(element)
        text = text or next(filter(None, map(element.get, _INSTEAD)), "")
    return " ".join(text.split())


def _attribute(pseudo: Any) -> str:
    match pseudo:
        case None:
            return ""
        case FunctionalPseudoElement(name="attr", arguments=[argument]) if argument.type == "IDENT":
            return str(argument.value).lower()
    raise Invalid("selector_pseudo")
