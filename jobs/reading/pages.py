"""What is parsed of a page in a child process: bytes in, plain values out. Pure."""

from __future__ import annotations

from common.budget import Budget
from jobs.reading import extract
from jobs.reading.charset import decode
from jobs.reading.numbers import number, shown


def value(body: bytes, content_type: str, how: str, expression: str, mark: str) -> tuple[str, str | None] | None:
    """Return the text that is found and the number in it; None for nothing. Raises Refusal."""
    budget = Budget(seconds=4, characters=20_000_000, items=2_000_000)
    text = extract.find(how, expression, decode(body, content_type), budget)
    if text is None:
        return None
    found = number(text, mark)
    return text, None if found is None else shown(found)
