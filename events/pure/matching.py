"""Whether an event fits a rule, and the texts that a rule makes of it. Pure: user text is data."""

import json
import re
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.utils.translation import gettext as _

from common.parsing.budget import Budget, OverBudget
from events.pure import types
from events.reasons import OPERATORS, EventCode
from notifications.messages import text
from work.reasons import Reason

DEEPEST = 8
PLACES = ("type", "source", "time", "id", "correlation_id")
COUNT = "count"
"""The placeholder of how many events are told; 1 outside of a digest."""
_STEP = r"[A-Za-z0-9_-]{1,64}"
PATH = re.compile(rf"data(?:\.{_STEP}){{1,{DEEPEST}}}")
TYPE = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", re.ASCII)
WHOLE_TYPE = re.compile(rf"\A(?:{TYPE.pattern})\Z", re.ASCII)
"""For fields of forms, which search."""
PATTERN = re.compile(rf"\*|{TYPE.pattern}|[a-z0-9_-]+(\.[a-z0-9_-]+)*\.\*", re.ASCII)

_PLACEHOLDER = re.compile(rf"\{{({'|'.join((*PLACES, COUNT))}|{PATH.pattern})\}}")
LIKE_A_PLACEHOLDER = re.compile(r"\{([A-Za-z][^{}\s]{0,400})\}")
LONGEST_VALUE = 1_000
_MOST_FIELDS = 30
_MOST_COMPARED = 500_000
_WRITER = json.JSONEncoder(ensure_ascii=False)


MISSING = object()
"""There is no such field."""


@dataclass(frozen=True, slots=True)
class Condition:
    """`field` is a path such as `data.amount`, or one of `PLACES`; `operator` is one of `OPERATORS`."""

    field: str
    operator: str
    value: Any = None


def is_field(path: str) -> bool:
    return path in PLACES or PATH.fullmatch(path) is not None


def read_conditions(stored: Any) -> list[Condition]:
    """The conditions of a rule's row. Raises ValueError for damaged ones."""
    try:
        conditions = [Condition(**one) for one in stored] if isinstance(stored, list) else None
    except TypeError:
        conditions = None
    if conditions is None or not all(isinstance(one.field, str) and one.operator in OPERATORS for one in conditions):
        raise ValueError("These conditions are damaged.")
    return conditions


def fits_pattern(pattern: str, type: str) -> bool:
    """`order.*` fits `order.paid` and `order.item.sold`; `*` all types but Carillon's own.

    Otherwise, each message of a rule for everything would cause the next ones.
    """
    if pattern == "*":
        return not types.is_reserved(type)
    return pattern == type or (pattern.endswith(".*") and type.startswith(pattern[:-1]))


def find(envelope: Mapping[str, Any], path: str) -> Any:
    """The value at a path such as `data.items.0.name`; `MISSING` where there is none."""
    value: Any = envelope
    for step in path.split("."):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, Sequence) and not isinstance(value, str) and step.isascii() and step.isdigit():
            if len(step) > 9 or int(step) >= len(value):
                return MISSING
            value = value[int(step)]
        else:
            return MISSING
    return value


def budget_of_event() -> Budget:
    return Budget(items=_MOST_COMPARED)


def unmet(conditions: Sequence[Condition], envelope: Mapping[str, Any], budget: Budget | None = None) -> Reason | None:
    """The first condition that the event does not fulfil, as a reason; None if it fulfils all.

    `budget` is that of all rules for the event.
    """
    budget = budget or budget_of_event()
    for condition in conditions:
        if (actual := find(envelope, condition.field)) is MISSING:
            return Reason(EventCode.MISSING, field=condition.field)
        try:
            holds = _holds(actual, condition, budget)
        except OverBudget:
            return Reason(EventCode.TOO_COSTLY, field=condition.field)
        if not holds:
            return Reason(
                EventCode.UNMET,
                field=condition.field,
                found=shown(actual, 80),
                operator=condition.operator,
                value=shown(condition.value, 80),
            )
    return None


def _holds(actual: Any, condition: Condition, budget: Budget) -> bool:
    budget.clock()
    match condition.operator:
        case "exists":
            return True
        case "equals":
            return _equal(actual, condition.value)
        case "differs":
            return not _equal(actual, condition.value)
        case "contains":
            if isinstance(actual, str):
                return shown(condition.value).casefold() in actual.casefold()
            return isinstance(actual, Sequence | Mapping) and _contains(actual, condition.value, budget)
    left, right = _number(actual), _number(condition.value)
    if left is None or right is None:
        return False
    return left > right if condition.operator == "above" else left < right


def _contains(actual: Iterable[Any], value: Any, budget: Budget) -> bool:
    for one in actual:
        budget.items()
        if _equal(one, value):
            return True
    return False


def _equal(actual: Any, value: Any) -> bool:
    """As JSON values; a form gives texts, which equal what reads the same."""
    if isinstance(actual, bool) or isinstance(value, bool) or not isinstance(actual, int | float):
        wanted = shown(value)
        return shown(actual, len(wanted) + 1) == wanted
    return _number(actual) == _number(value)


def _number(value: Any) -> int | float | None:
    """Whole numbers stay exact: two ids of 19 digits may be the same float."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return value
    try:
        return int(value) if value.removeprefix("-").isdigit() else float(value)
    except ValueError:
        return None


def shown(value: Any, most: int = sys.maxsize) -> str:
    """The first `most` characters of a JSON value as people read it; no more than these are written."""
    if isinstance(value, str):
        return value[:most]
    written, length = [], 0
    for part in _WRITER.iterencode(value):
        written.append(part)
        if (length := length + len(part)) >= most:
            break
    return "".join(written)[:most]


def fill(template: str, envelope: Mapping[str, Any], *, literal: bool = False) -> str:
    """Fill in `{type}`, `{data.x}` and the like; “…” where the event has no such field, all else as typed.

    Each value is written once, also where several paths lead to it. `literal`: no value becomes bold or a link.
    """
    values = {COUNT: 1} | dict(envelope)
    written: dict[int, str] = {id(MISSING): "…"}

    def value(match: re.Match[str]) -> str:
        field = find(values, match[1])
        if id(field) not in written:
            filled = shown(field, LONGEST_VALUE)
            written[id(field)] = text.literal(filled) if literal else filled
        return written[id(field)]

    return text.replace(_PLACEHOLDER, template, value)


def missing(template: str, envelope: Mapping[str, Any]) -> list[str]:
    """The fields that a text names and the event does not have, each once."""
    named = dict.fromkeys(match[1] for match in _PLACEHOLDER.finditer(template))
    return [path for path in named if path != COUNT and find(envelope, path) is MISSING]


def fields(data: Mapping[str, Any]) -> list[str]:
    """The paths of the first values in an event's data that rules and texts can name."""
    paths: list[str] = []
    ahead: deque[tuple[str, Any]] = deque([("data", data)])
    while ahead and len(paths) < _MOST_FIELDS:
        path, value = ahead.popleft()
        if isinstance(value, Mapping | list):
            items = value.items() if isinstance(value, Mapping) else enumerate(value)
            inner = ((f"{path}.{step}", one) for step, one in islice(items, _MOST_FIELDS))
            ahead += [(path, one) for path, one in inner if PATH.fullmatch(path)]
        else:
            paths.append(path)
    return paths


def check(template: str) -> list[str]:
    """One sentence for each of the first ten placeholders that no event can fill, or for too many of them."""
    words = (match[1] for match in LIKE_A_PLACEHOLDER.finditer(template))
    wrong = (word for word in words if word != COUNT and not is_field(word))
    return text.too_many(LIKE_A_PLACEHOLDER, template) or [_problem(word) for word in islice(wrong, text.MAX_PROBLEMS)]


def _problem(word: str) -> str:
    if word.startswith("data."):
        problem = _("{%(word)s} cannot be read: use at most %(deepest)s names of letters, digits, “_” and “-”.")
        return problem % {"word": word[:80], "deepest": DEEPEST}
    known = ", ".join(f"{{{name}}}" for name in (*PLACES, COUNT))
    problem = _("{%(word)s} is not a placeholder. Use %(known)s, or {data.…} for a field of its data.")
    return problem % {"word": word[:80], "known": known}
