"""What is parsed of a page in a child process: bytes in, plain values out. Pure."""

import re

from common.budget import Budget
from jobs.reading import extract
from jobs.reading.charset import decode
from jobs.reading.numbers import mark_of, number, shown

_LANGUAGE = re.compile(rb"<html[^>]{0,500}?\slang\s*=\s*[\"']?([A-Za-z]{2})", re.IGNORECASE)


def value(body: bytes, content_type: str, how: str, expression: str, mark: str) -> tuple[str, str | None] | None:
    """Return the text that is found and the number in it; None for nothing. Raises Refusal."""
    budget = Budget(seconds=4, characters=20_000_000, items=2_000_000)
    text = extract.find(how, expression, decode(body, content_type), budget)
    if text is None:
        return None
    found = number(text, mark or mark_of(text, _language(body)))
    return text, None if found is None else shown(found)


def _language(body: bytes) -> str:
    """Of a page, as its first element declares it."""
    found = _LANGUAGE.search(body[:4_000])
    return found[1].decode().lower() if found else ""
