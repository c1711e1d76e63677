"""Expressions of JMESPath (jmespath.org) over JSON that came from outside. Pure.

An expression is a person's: it may use few functions and make few copies, so that none costs more than its input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jmespath
from django.utils.translation import gettext as _
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult

LONGEST = 500
_MOST_NODES = 60
_MOST_COPIES = 64
_FUNCTIONS = {
    *("abs", "avg", "ceil", "contains", "ends_with", "floor", "join", "keys", "length", "max", "min", "not_null"),
    *("reverse", "sort", "starts_with", "sum", "to_number", "type", "values"),
}


class Invalid(ValueError):
    """The expression cannot be used. The message is for its author."""


def compiled(expression: str) -> ParsedResult:
    """Raises Invalid."""
    if len(expression) > LONGEST:
        raise Invalid(
            _("This is %(count)s characters long; at most %(longest)s fit.")
            % {"count": len(expression), "longest": LONGEST}
        )
    return _compiled(expression)


@lru_cache(maxsize=1_000)
def _compiled(expression: str) -> ParsedResult:
    try:
        found = jmespath.compile(expression)
    except JMESPathError as error:
        raise Invalid(_("This is no JMESPath expression: %(error)s") % {"error": str(error).splitlines()[0]}) from None
    except RecursionError:
        raise Invalid(_("This expression is nested too deeply.")) from None
    nodes = list(_nodes(found.parsed))
    copies = 1
    for node in nodes:
        if node["type"] == "function_expression" and node["value"] not in _FUNCTIONS:
            raise Invalid(
                _("The function %(name)s() is not available. There are %(names)s.")
                % {"name": node["value"], "names": ", ".join(sorted(_FUNCTIONS))}
            )
        if node["type"] in ("multi_select_list", "multi_select_dict"):
            copies *= max(1, len(node["children"]))
    if len(nodes) > _MOST_NODES or copies > _MOST_COPIES:
        raise Invalid(_("This expression is too complex. Make it shorter."))
    return found


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += [child for child in one["children"] if isinstance(child, Mapping)]


def find(expression: str, document: Any) -> Any:
    """What the expression finds; None for nothing. Raises Invalid."""
    try:
        return compiled(expression).search(document)
    except JMESPathError as error:
        raise Invalid(str(error).splitlines()[0]) from None
    except (RecursionError, TypeError, ValueError, ArithmeticError) as error:
        raise Invalid(_("This cannot be evaluated here (%(error)s).") % {"error": type(error).__name__}) from None
