"""Find a value in a page: by JMESPath in JSON, by a CSS selector in HTML, by a pattern in text. Pure, and bounded."""

import json
import re
from typing import Any
from unicodedata import normalize

from common.parsing import expressions, patterns
from common.parsing.budget import Budget
from common.texts.refusal import TEXTS, Refusal, noop as _
from jobs.reading import selector
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
TEXTS.update(
    found_too_much=_("%(count)s characters were found, and at most %(longest)s are kept: choose a smaller part."),
    not_json=_("It is not JSON: choose another way to read it."),
    pattern_groups=_("Use one group, around what you want; write (?:…) for the others."),
)


def check(how: str, expression: str) -> None:
    """Raises Refusal for an expression that cannot be used. `how` is "json", "html" or "text"."""
    if how == "json":
        expressions.compiled(expression)
    elif how == "html":
        selector.compiled(expression)
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
        result = selector.find(expression, page)
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
        raise expressions.Invalid("pattern_groups")
    return pattern
