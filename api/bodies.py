"""Read JSON bodies strictly: what a lenient parser would silently change is refused with a reason."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from api.problems import Problem

LARGEST = 256 * 1024
_DEEPEST = 32
# PostgreSQL writes out a greater one with all its digits, more than `_integer` reads.
_GREATEST = 1e18


class StrictParser(Parser):
    """UTF-8 JSON without duplicate names, NUL, lone surrogates, NaN, or more than 32 levels."""

    def parse_body(self, request: HttpRequest) -> Any:
        content_type = request.content_type or "application/json"
        charset = (request.content_params or {}).get("charset", "utf-8").lower()
        if charset not in ("utf-8", "utf8") or content_type != "application/json":
            raise Problem(
                415, "not-json", "This API takes JSON only.", "Send Content-Type: application/json, in UTF-8."
            )
        if len(request.body) > LARGEST:
            raise Problem(413, "too-large", f"This body is larger than {LARGEST // 1024} KiB, the limit.", "Send less.")
        try:
            text = request.body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _bad(f"Byte {error.start} is not valid UTF-8.") from None
        try:
            value = json.loads(
                text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_float
            )
        except json.JSONDecodeError as error:
            raise _bad(f"{error.msg} (line {error.lineno}, column {error.colno}).") from None
        except RecursionError:
            raise _bad(f"It is nested deeper than {_DEEPEST} levels.") from None
        _check(value, 0)
        return value


def _bad(detail: str) -> Problem:
    return Problem(400, "bad-json", "This body is not JSON that can be read.", detail)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _bad(f"The name “{name[:80]}” is there twice.".encode("utf-8", "replace").decode())
            seen.add(name)
    return found


def _constant(name: str) -> Any:
    raise _bad(f"{name} is not a number in JSON.")


def _integer(digits: str) -> int:
    if len(digits) > 19:
        raise _bad("A number has more than 19 digits.")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if abs(number) > _GREATEST:
        raise _bad(f"A number is greater than {_GREATEST:g}.")
    return number


def _check(value: Any, depth: int) -> None:
    if depth > _DEEPEST:
        raise _bad(f"It is nested deeper than {_DEEPEST} levels.")
    if isinstance(value, str):
        if "\0" in value:
            raise _bad("A text contains the character NUL.")
        if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise _bad("A text contains half of a surrogate pair.")
    elif isinstance(value, dict):
        for name, inner in value.items():
            _check(name, depth)
            _check(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check(inner, depth + 1)
