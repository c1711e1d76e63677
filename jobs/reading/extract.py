"""Find a value in a page: by JMESPath in JSON, by a CSS selector in HTML, by a pattern in text. Pure, and bounded."""

import json
from typing import Any

import re2

from common.parsing import expressions
from common.parsing.budget import Budget
from common.texts.refusal import Refusal, noop as _
from jobs.reading import selector
from jobs.reading.charset import storable

LONGEST = 20_000
"""Characters of what may be found."""
# RE2 takes linear time and this much memory at most. Larger programs could need minutes for 2 MB.
_LARGEST_PROGRAM = 800
_OPTIONS = re2.Options()
_OPTIONS.max_mem = 1024 * 1024
_OPTIONS.log_errors = False


def check(how: str, expression: str) -> None:
    """Raises Refusal for an expression that cannot be used. `how` is "json", "html" or "text"."""
    if how == "json":
        expressions.compiled(expression)
    elif how == "html":
        selector.compiled(expression)
    else:
        _pattern(expression)


def find(how: str, expression: str, page: str, budget: Budget) -> str | None:
    """Return the text that is found; None for nothing. Raises Refusal."""
    if how == "json":
        found = _in_json(expression, page, budget)
    elif how == "html":
        found = selector.find(expression, page)
    else:
        found = _in_text(expression, page)
    if found is not None and len(found) > LONGEST:
        raise Refusal(
            _("%(count)s characters were found, and at most %(longest)s are kept: choose a smaller part."),
            count=len(found),
            longest=LONGEST,
        )
    return storable(found.strip()) or None if found else None


def _in_json(expression: str, page: str, budget: Budget) -> str | None:
    budget.items(page.count(","))
    try:
        document = json.loads(page, parse_constant=_no_number)
    except ValueError:
        raise Refusal(_("It is not JSON.")) from None
    found: Any = expressions.find(expression, document, budget)
    if found is None or isinstance(found, str):
        return found
    return json.dumps(found, ensure_ascii=False, sort_keys=True)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _in_text(expression: str, page: str) -> str | None:
    """The group of the pattern, where it has one, else all that matches."""
    pattern = _pattern(expression)
    if (found := pattern.search(page)) is None:
        return None
    text: str | None = found.group(min(pattern.groups, 1))
    return text


def _pattern(expression: str) -> Any:
    expressions.check_length(expression)
    try:
        pattern = re2.compile(expression, _OPTIONS)
    except re2.error as error:
        said = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else "?"
        raise expressions.Invalid(
            _("This is not a pattern of RE2 (github.com/google/re2/wiki/Syntax): %(said)s."), said=said
        ) from None
    if pattern.groups > 1:
        raise expressions.Invalid(_("Use one group, around what you want; write (?:…) for the others."))
    if pattern.programsize > _LARGEST_PROGRAM:
        raise expressions.Invalid(_("This pattern is too complex. Make it shorter, with fewer repetitions."))
    return pattern
