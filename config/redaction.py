"""The last line of defence of the logs: what looks like a secret is blotted out, whoever wrote it.

Carillon's own lines hold none by construction; those of libraries, with the traces of their errors, may quote an
address or a header.
"""

from __future__ import annotations

import logging
import re

_BLOT = "•••"
_PATTERNS = [
    # user and password in an address
    (re.compile(r"(?<=://)[^\s/@'\"]+@"), f"{_BLOT}@"),
    # a query: nobody needs its values to follow what happened, and any of them may be a token
    (re.compile(r"([?&][\w.\-\[\]]+=)[^\s&'\"#]+"), rf"\1{_BLOT}"),
    (
        re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?(?:[a-z]+\s+)?|\b(?:bearer|basic)\s+)[\w+/=.~-]{8,}"),
        rf"\1{_BLOT}",
    ),
    (re.compile(r"whsec_[\w+/=]+"), f"whsec_{_BLOT}"),
    (re.compile(r"(?<=bot)\d+:[\w-]{20,}|\b\d{5,}:[\w-]{30,}"), _BLOT),
    (re.compile(r"(?i)(/api/webhooks/\d+/)[\w-]+"), rf"\1{_BLOT}"),
    (re.compile(r"(?i)(/services/)[\w/]{9,}"), rf"\1{_BLOT}"),
    # what PostgreSQL quotes of a statement that failed, and of the row: up to its next part or the end of the error
    (
        re.compile(
            r"(?s)\b((?:DETAIL|CONTEXT|QUERY|STATEMENT|LINE \d+):\s).*?"
            r"(?=\n(?:DETAIL|HINT|CONTEXT|QUERY|STATEMENT|LINE \d+):"
            r"|\n\n?(?:The above exception|During handling|Traceback )|\Z)"
        ),
        rf"\1{_BLOT}",
    ),
    # links of ours that act for whoever holds them
    (
        re.compile(
            r"(/account/(?:password/reset/key|confirm-email)/|/address/refuse/|/answer/|/unsubscribe/)[\w:=%.~-]+"
        ),
        rf"\1{_BLOT}",
    ),
]


def redact(text: str) -> str:
    """Return `text` without userinfo, query values, Authorization, known kinds of tokens and keys of our own links."""
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


class Formatter(logging.Formatter):
    """Formats a whole record, its trace included, and redacts what came of it."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
