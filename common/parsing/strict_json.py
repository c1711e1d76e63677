"""Read JSON strictly: what a lenient parser would silently change is refused with a reason. Pure: no Django."""

import json
from typing import Any

from common.texts.refusal import TEXTS, Refusal, noop as _

DEEPEST = 32
# PostgreSQL writes out a greater one with all its digits, more than `_integer` reads.
_GREATEST = 1e18
_FIRST_TOO_LONG = 10**19
TEXTS.update(
    not_utf8=_("Byte %(number)s is not valid UTF-8."),
    json_syntax=_("%(error)s (line %(line)s, column %(column)s)."),
    json_deep=_("It is nested deeper than %(most)s levels."),
    json_name_twice=_("The name “%(name)s” is there twice."),
    json_not_a_number=_("%(name)s is not a number in JSON."),
    json_digits=_("A number has more than 19 digits."),
    json_number=_("A number is greater than %(most)s."),
    json_nul=_("A text contains the character NUL."),
    json_surrogate=_("A text contains half of a surrogate pair."),
)


class Bad(Refusal):
    """This is not JSON that can be read. The message says where and why."""


def read(raw: bytes, *, odd_numbers_as_text: bool = False) -> Any:
    """UTF-8 JSON without duplicate names, NUL, lone surrogates, or more than 32 levels. Raises Bad.

    A number that PostgreSQL or Python would not keep, such as 1e999, NaN or one of 20 digits, is refused, or becomes
    the text that was sent.
    """
    strict, lenient = (_refuse, _integer, float), (str, _integer_or_text, _float_or_text)
    constant, integer, number = lenient if odd_numbers_as_text else strict
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Bad("not_utf8", number=str(error.start)) from None
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=constant, parse_int=integer, parse_float=number
        )
    except json.JSONDecodeError as error:
        raise Bad("json_syntax", error=error.msg, line=str(error.lineno), column=str(error.colno)) from None
    except RecursionError:
        raise Bad("json_deep", most=DEEPEST) from None
    return check(value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(fields := dict(pairs)) < len(pairs):
        seen: set[str] = set()
        for name, _value in pairs:
            if name in seen:
                raise Bad("json_name_twice", name=name[:80].encode("utf-8", "replace").decode())
            seen.add(name)
    return fields


def _refuse(name: str) -> Any:
    raise Bad("json_not_a_number", name=name)


def _integer(digits: str) -> int:
    if len(digits) > 19:
        raise Bad("json_digits")
    return int(digits)


def _integer_or_text(digits: str) -> int | str:
    return int(digits) if len(digits) <= 19 else digits


def _float_or_text(digits: str) -> float | str:
    return number if abs(number := float(digits)) <= _GREATEST else digits


def _check_number(number: float) -> None:
    most = _FIRST_TOO_LONG - 1 if isinstance(number, int) else _GREATEST
    if not abs(number) <= most:  # nor NaN
        raise Bad("json_number", most=f"{_GREATEST:g}")


def check(value: Any, depth: int = 0) -> Any:
    """The value, if it is what `read` could have read; also for values that something has computed. Raises Bad."""
    if depth > DEEPEST:
        raise Bad("json_deep", most=DEEPEST)
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            _check_text(name)
            check(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            check(inner, depth + 1)
    elif isinstance(value, int | float):
        _check_number(value)
    return value


def _check_text(text: str) -> None:
    if "\0" in text:
        raise Bad("json_nul")
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise Bad("json_surrogate")
