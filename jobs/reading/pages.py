"""Parse a page in a child process: bytes in, plain values out. Pure."""

import re

from common.parsing.budget import Budget
from jobs.reading import extract
from jobs.reading.charset import decode
from jobs.reading.numbers import read, shown

_LANGUAGE = re.compile(
    rb"<html[^>]{0,500}?\slang\s*=\s*[\"']?([A-Za-z]{2}(?:[-_][A-Za-z]{2}(?![A-Za-z]))?)", re.IGNORECASE
)


def value(body: bytes, content_type: str, how: str, expression: str, mark: str) -> dict[str, str | None] | None:
    """Return the `text` that is found, the `number` in it, how else that may be read (`other`), and its `unit`.

    None for nothing. Raises Refusal.
    """
    budget = Budget(seconds=4, characters=20_000_000, items=2_000_000)
    if (text := extract.find(how, expression, decode(body, content_type), budget)) is None:
        return None
    if (result := read(text, mark, _language(body))) is None:
        return {"text": text, "number": None, "other": None, "unit": ""}
    other = None if result.other is None else shown(result.other)
    return {"text": text, "number": shown(result.value), "other": other, "unit": result.unit}


def _language(body: bytes) -> str:
    """Of a page, as its first element declares it."""
    match = _LANGUAGE.search(body[:4_000])
    return match[1].decode().lower().replace("_", "-") if match else ""
