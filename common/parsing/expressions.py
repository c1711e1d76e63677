"""Expressions of JMESPath (jmespath.org) over JSON that came from outside. Pure: no Django, also for a child process.

An expression is a person's: it is short, and what it makes is spent from a budget while it is made.
"""

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from jmespath.parser import ParsedResult
from jmespath.visitor import TreeInterpreter

from common.parsing.budget import Budget
from common.texts.refusal import TEXTS, Refusal, noop as _

LONGEST = 500
_MOST_NODES = 60
_FUNCTIONS = {
    *("abs", "avg", "ceil", "contains", "ends_with", "floor", "join", "keys", "length", "map", "max", "max_by"),
    *("merge", "min", "min_by", "not_null", "reverse", "sort", "sort_by", "starts_with", "sum", "to_array"),
    *("to_number", "to_string", "type", "values"),
}
TEXTS.update(
    expression_long=_("This is %(count)s characters long; at most %(longest)s fit."),
    expression_syntax=_("This is not a JMESPath expression: %(error)s"),
    expression_deep=_("This expression is nested too deeply."),
    expression_complex=_("This expression is too complex. Make it shorter."),
    expression_function=_("The function %(name)s() is not available. There are %(names)s."),
    expression_failed="%(error)s",
    expression_not_evaluated=_("This cannot be evaluated here (%(error)s)."),
    expression_number=_("This gives a number that JSON does not have (%(number)s)."),
    json_value=_("This is not a value of JSON."),
)


class Invalid(Refusal):
    """The expression cannot be used. The message is for its author."""


def check_length(expression: str) -> None:
    """Of any kind of expression. Raises Invalid."""
    if len(expression) > LONGEST:
        raise Invalid("expression_long", count=len(expression), longest=LONGEST)


def compiled(expression: str) -> ParsedResult:
    """Raises Invalid."""
    check_length(expression)
    return _compiled(expression)


@lru_cache(maxsize=1_000)
def _compiled(expression: str) -> ParsedResult:
    try:
        expression_tree = jmespath.compile(expression)
    except JMESPathError as error:
        raise Invalid("expression_syntax", error=str(error).splitlines()[0]) from None
    except RecursionError:
        raise Invalid("expression_deep") from None
    nodes: list[Mapping[str, Any]] = [expression_tree.parsed]
    for node in nodes:  # which grows
        nodes += [child for child in node["children"] if isinstance(child, Mapping)]
    if len(nodes) > _MOST_NODES:
        raise Invalid("expression_complex")
    for node in nodes:
        if node["type"] == "function_expression" and node["value"] not in _FUNCTIONS:
            raise Invalid("expression_function", name=node["value"], names=", ".join(sorted(_FUNCTIONS)))
    return expression_tree


def find(expression: str, document: Any, budget: Budget) -> Any:
    """Return what the expression finds, which is JSON; None for nothing. Raises Invalid and OverBudget."""
    interpreter = _Interpreter(budget)
    try:
        return interpreter.counted(interpreter.visit(compiled(expression).parsed, document))
    except JMESPathError as error:
        raise Invalid("expression_failed", error=str(error).splitlines()[0]) from None
    except Refusal:
        raise
    except (RecursionError, TypeError, ValueError, ArithmeticError) as error:
        raise Invalid("expression_not_evaluated", error=type(error).__name__) from None


class _Interpreter(TreeInterpreter):
    """Spends each step, and each value of what is made more than once as often as it is there.

    Only a list or object that names values again, and a literal, can hold one value several times. Since these are
    counted whole when they are made, no later step, such as [], join() or ==, can meet more than the budget.
    """

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self._budget, self._all_functions = budget, Functions()

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self._budget.items()
        result = super().visit(node, *args, **kwargs)
        if node["type"] in ("multi_select_list", "multi_select_dict", "literal"):
            return self.counted(result)
        return self._copied(result) if node["type"] in ("flatten", "slice") else result

    def visit_function_expression(self, node: Any, value: Any) -> Any:
        arguments = [self.visit(child, value) for child in node["children"]]
        match node["value"], arguments:
            case "join", [str(glue), list(parts)]:
                self._budget.characters(sum(len(glue) + len(part) for part in parts if isinstance(part, str)))
            case "to_string", [whole] if not isinstance(whole, str):
                return self._copied(json.dumps(self.counted(whole), ensure_ascii=False, separators=(",", ":")))
        for argument in arguments:
            self._copied(argument)
        return self._all_functions.call_function(node["value"], arguments)

    def _copied(self, value: Any) -> Any:
        """Spend the length of a value that is read or written through."""
        if isinstance(value, str):
            self._budget.characters(len(value))
        elif isinstance(value, list | dict):
            self._budget.items(len(value))
        return value

    def counted(self, value: Any) -> Any:
        """Spend all that is written when this is. Raises Invalid for what JSON does not have."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            self._copied(one)
            if isinstance(one, dict):
                self._budget.characters(sum(map(len, one)))
                waiting += one.values()
            elif isinstance(one, list):
                waiting += one
            elif isinstance(one, float) and not math.isfinite(one):
                raise Invalid("expression_number", number=str(one))
            elif not isinstance(one, str | int | float | None):  # "&price", which is for functions only
                raise Invalid("json_value")
        return value
