"""JSON Schemas that people write for the data of events: read one, and check data against it. Pure.

Drafts 2020-12 and 7. A schema is user input: nothing is fetched, patterns are RE2's, what costs more than a linear pass
is replaced or refused, and every keyword spends from a budget. Import this module late: the library takes 0.4 s.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from datetime import datetime
from fractions import Fraction
from itertools import islice
from typing import Any

from django.utils.text import get_text_list
from django.utils.translation import gettext as _, gettext_noop
from jsonschema import Draft7Validator, Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry

from common.context import holding
from common.parsing import patterns, strict_json
from common.parsing.budget import Budget, OverBudget
from common.parsing.expressions import Invalid
from events.pure.types import Misfit

LARGEST = 32 * 1024
"""Bytes of a schema."""
_MOST_SUBSCHEMAS = 1_000
_MOST_ITEMS = 500_000
_SECONDS = 0.5
_SECONDS_HANDLING = 0.1
_SECONDS_SMALL = 0.02
_MOST_PROBLEMS = 5
_LONGEST_VALUE = 100

_budget: ContextVar[Budget] = ContextVar("budget")


class Unusable(ValueError):
    """A text that is not a usable schema. `problems` are sentences for its author, with their paths."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems[0])
        self.problems = problems


def new_budget() -> Budget:
    """For all data that one call brings."""
    return Budget(seconds=_SECONDS, items=_MOST_ITEMS)


def budget_of_event() -> Budget:
    """For an event that a worker handles: of many, each has its own."""
    return Budget(seconds=_SECONDS_HANDLING, items=_MOST_ITEMS)


def small_budget(events: int = 1) -> Budget:
    """For so much data of schemas that have cost too much lately."""
    return Budget(seconds=min(_SECONDS, events * _SECONDS_SMALL), items=_MOST_ITEMS)


def read(text: str) -> Any:
    """A schema, ready for `misfit`. Raises Unusable."""
    if (size := len(text.encode("utf-8", "replace"))) > LARGEST:
        kib = {"size": -(-size // 1024), "most": LARGEST // 1024}
        raise Unusable([_("This is %(size)s KiB long; at most %(most)s KiB are taken.") % kib])
    try:
        schema = strict_json.read(text.encode("utf-8", "replace"))
    except strict_json.Bad as error:
        raise Unusable([_("This is not JSON. %(error)s") % {"error": error}]) from None
    if not isinstance(schema, dict):
        raise Unusable([_('Write an object, such as {"type": "object", "required": ["order_id"]}.')])
    named = schema.pop("$schema", _NEWEST)
    schema.pop("$id", None)
    if (draft := _DRAFTS.get(named.rstrip("#") if isinstance(named, str) else "")) is None:
        raise Unusable([_("$schema: Use the draft 2020-12 or 7: %(names)s.") % {"names": ", ".join(_DRAFTS)}])
    parts = _not_a_schema(draft, schema) or _unusable_parts(draft, schema)
    if problems := list(islice(parts, _MOST_PROBLEMS)):
        raise Unusable(problems)
    ready = draft(schema, registry=Registry(), format_checker=_FORMATS)
    if (tried := misfit(ready, {}, budget_of_event())) and tried.keyword == "cost":
        raise Unusable([_("Checking {} against this schema does not end. Look for a “$ref” that leads to itself.")])
    return ready


def misfit(schema: Any, data: Any, budget: Budget) -> Misfit | None:
    """The first place where data does not fit a schema that `read` has returned; None if it fits."""
    try:
        error = next(_errors(schema, data, budget), None)
    except (OverBudget, RecursionError):
        return Misfit("data", "cost", _("Checking it against its schema costs too much. Simplify the schema."))
    return None if error is None else Misfit(_path("data", error), str(error.validator or "false"), _problem(error))


def _errors(schema: Any, data: Any, budget: Budget) -> Iterator[ValidationError]:
    with holding(_budget, budget):
        yield from schema.iter_errors(data)


def _not_a_schema(draft: Any, schema: Mapping[str, Any]) -> list[str]:
    """The place where the schema does not fit the schema of schemas."""
    rules = draft(draft.META_SCHEMA, registry=Registry())
    try:
        errors = list(islice(_errors(rules, schema, new_budget()), _MOST_PROBLEMS))
    except (OverBudget, RecursionError):
        return [_("This schema is too complex. Make it smaller, with fewer levels.")]
    return sorted(_at_path(_path("", error), _problem_of_schema(error)) for error in errors)


def _problem_of_schema(error: ValidationError) -> str:
    if list(error.absolute_path)[-1:] == ["type"]:
        return _("Write one of %(names)s, or a list of these.") % {"names": ", ".join(_TYPES)}
    return _problem(error)


def _at_path(path: str, problem: str) -> str:
    return f"{path}: {problem}" if path else problem


def _path(root: str, error: ValidationError) -> str:
    return ".".join(filter(None, [root, *(_short(str(step)) for step in error.absolute_path)]))


# Where schemas have schemas: as the value, in a list, and by names.
_ONE = {"items", "additionalItems", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"}
_LIST = {"items", "allOf", "anyOf", "oneOf", "prefixItems"}
_NAMED = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
_NOT_TAKEN = {
    *("$id", "$schema", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"),
    *("unevaluatedItems", "unevaluatedProperties"),
}


def _subschemas(draft: Any, schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each with its path, in the places that this draft knows; the whole one first."""
    names = draft.VALIDATORS.keys() | {"then", "else", "definitions"} | ({"$defs"} if draft is _DRAFT_2020 else set())
    waiting: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while waiting:
        path, one = waiting.pop()
        yield path, one
        for keyword, value in one.items() if isinstance(one, dict) else ():
            if keyword in names:
                waiting += [((*path, keyword, *inside), inner) for inside, inner in _schemas_in(keyword, value)]


def _schemas_in(keyword: str, value: Any) -> list[tuple[tuple[str, ...], Any]]:
    if keyword in _NAMED and isinstance(value, dict):
        return [((name,), inner) for name, inner in value.items() if not isinstance(inner, list)]
    if keyword in _LIST and isinstance(value, list):
        return [((str(number),), inner) for number, inner in enumerate(value)]
    return [((), value)] if keyword in _ONE else []


def _unusable_parts(draft: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    result = list(islice(_subschemas(draft, schema), _MOST_SUBSCHEMAS + 1))
    if len(result) > _MOST_SUBSCHEMAS:
        yield _("This schema has more than %(most)s parts. Make it smaller.") % {"most": _MOST_SUBSCHEMAS}
        return
    pointers = {_pointer(path) for path, _one in result}
    for path, one in result:
        if not isinstance(one, dict):
            continue
        place = ".".join(path)
        for keyword in _NOT_TAKEN & one.keys():
            yield _at_path(place, _("“%(keyword)s” is not supported. Leave it out.") % {"keyword": keyword})
        # The library decodes escapes with “%”.
        if "$ref" in one and (one["$ref"] not in pointers or "%" in one["$ref"]):
            problem = _("“$ref” must lead to a part of this schema, such as #/$defs/address. Nothing else is fetched.")
            yield _at_path(place, problem)
        yield from (_at_path(place, problem) for problem in _wrong_patterns(one))


def _wrong_patterns(one: Mapping[str, Any]) -> Iterator[str]:
    for pattern in [*([one["pattern"]] if "pattern" in one else []), *one.get("patternProperties", ())]:
        try:
            patterns.compiled(pattern)
        except Invalid as error:
            yield str(error)


def _pointer(path: tuple[str, ...]) -> str:
    return "#" + "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


def _spending(keyword: Any) -> Any:
    """Spend a step, and the items of what it compares, before a keyword is applied."""

    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        sizes = (len(one) for one in (value, instance) if isinstance(one, list | dict))
        _budget.get().items(1 + sum(sizes))
        return keyword(validator, value, instance, schema)

    return apply


def _matches(pattern: str, text: str) -> bool:
    budget = _budget.get()
    budget.characters(len(text))
    budget.clock()
    return patterns.compiled(pattern).search(text) is not None


def _pattern_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    for pattern, inner in value.items() if isinstance(instance, dict) else ():
        for name, one in instance.items():
            if _matches(pattern, name):
                yield from validator.descend(one, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    for name in instance if isinstance(instance, dict) else ():
        if name in schema.get("properties", ()):
            continue
        if any(_matches(pattern, name) for pattern in schema.get("patternProperties", ())):
            continue
        if value is False:
            yield ValidationError(name)
        else:
            yield from validator.descend(instance[name], value, path=name)


def _comparable(value: Any) -> Any:
    """With each number that JSON Schema takes for the same written in one way: 1 for 1.0."""
    if isinstance(value, dict):
        return {name: _comparable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_comparable(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _has_no_twins(validator: Any, value: Any, instance: Any) -> bool:
    items = instance if value and isinstance(instance, list) else []
    _budget.get().clock()
    return len({json.dumps(_comparable(one), sort_keys=True) for one in items}) == len(items)


def _is_multiple(validator: Any, value: Any, instance: Any) -> bool:
    return not validator.is_type(instance, "number") or not Fraction(repr(instance)) % Fraction(repr(value))


def _fitting(validator: Any, schemas: Iterable[Any], instance: Any, most: int) -> int:
    """How many of the schemas it fits, up to so many."""
    return len(list(islice((1 for one in schemas if validator.evolve(schema=one).is_valid(instance)), most)))


def _where(fits: Callable[[Any, Any, Any], bool]) -> Any:
    """The keyword of which the data is a misfit unless `fits(validator, value, instance)`."""

    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if not fits(validator, value, instance):
            yield ValidationError("")

    return apply


# Those of the library search by Python's patterns, compare each with each, write out all that they have found, or
# divide floats, so that 19.99 is not a multiple of 0.01.
_OURS = {
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "pattern": _where(lambda validator, value, instance: not isinstance(instance, str) or _matches(value, instance)),
    "uniqueItems": _where(_has_no_twins),
    "multipleOf": _where(_is_multiple),
    "anyOf": _where(lambda validator, value, instance: _fitting(validator, value, instance, 1) == 1),
    "oneOf": _where(lambda validator, value, instance: _fitting(validator, value, instance, 2) == 1),
}


def _bounded(draft: Any) -> Any:
    return extend(draft, {name: _spending(check) for name, check in (draft.VALIDATORS | _OURS).items()})


_FORMATS = FormatChecker(formats=("date", "email", "ipv4", "ipv6", "uuid"))


@_FORMATS.checks("date-time", raises=ValueError)  # type: ignore[untyped-decorator]
def _is_instant(value: Any) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


_DRAFT_2020 = _bounded(Draft202012Validator)
_NEWEST = "https://json-schema.org/draft/2020-12/schema"
_DRAFTS = {_NEWEST: _DRAFT_2020, "http://json-schema.org/draft-07/schema": _bounded(Draft7Validator)}

_TYPES = {
    "string": gettext_noop("text"),
    "number": gettext_noop("a number"),
    "integer": gettext_noop("a whole number"),
    "boolean": gettext_noop("true or false"),
    "object": gettext_noop("an object"),
    "array": gettext_noop("a list"),
    "null": gettext_noop("null"),
}
_TEXTS = {
    "type": gettext_noop("This must be %(value)s."),
    "required": gettext_noop("“%(name)s” is missing."),
    "additionalProperties": gettext_noop("“%(name)s” is not one of its fields."),
    "enum": gettext_noop("This must be one of %(value)s."),
    "const": gettext_noop("This must be %(value)s."),
    "pattern": gettext_noop("This does not match the pattern %(value)s."),
    "format": gettext_noop("This is not in the format %(value)s."),
    "minLength": gettext_noop("This needs at least %(value)s characters."),
    "maxLength": gettext_noop("This may have at most %(value)s characters."),
    "minimum": gettext_noop("This must be at least %(value)s."),
    "maximum": gettext_noop("This must be at most %(value)s."),
    "exclusiveMinimum": gettext_noop("This must be greater than %(value)s."),
    "exclusiveMaximum": gettext_noop("This must be less than %(value)s."),
    "minItems": gettext_noop("This needs at least %(value)s items."),
    "maxItems": gettext_noop("This may have at most %(value)s items."),
    "uniqueItems": gettext_noop("Two of these items are the same."),
    "anyOf": gettext_noop("This fits none of the alternatives."),
    "oneOf": gettext_noop("This must fit exactly one of the alternatives."),
}
_OTHERWISE = gettext_noop("This does not fit “%(keyword)s” of its schema.")


def _problem(error: ValidationError) -> str:
    keyword, value = str(error.validator or "false"), error.validator_value
    if keyword == "type":
        shown = get_text_list(
            [_(_TYPES.get(one, one)) for one in ([value] if isinstance(value, str) else value)], _("or")
        )
    else:
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    name = next(one for one in value if one not in error.instance) if keyword == "required" else error.message
    return _(_TEXTS.get(keyword, _OTHERWISE)) % {"value": _short(shown), "name": _short(name), "keyword": keyword}


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
