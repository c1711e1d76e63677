"""Read JSON strictly: what a lenient parser would silently change is refused with a reason. Pure: no Django."""

import json
from typing import Any

from common.texts.refusal import Refusal, noop as _

DEEPEST = 32
# PostgreSQL writes out a greater one with all its digits, more than `_integer` reads.
_GREATEST = 1e18
_FIRST_TOO_LONG = 10**19


class Bad(Refusal):
    """This is not JSON that can be read. The message says where and why."""


def read(raw: bytes, *, odd_numbers_as_text: bool = False) -> Any:
    """UTF-8 JSON without duplicate names, NUL, lone surrogates, or more than 32 levels. Raises Bad.

    A number that PostgreSQL or Python would not keep, such as 1e999, NaN or one of 20 digits, is refused, or becomes
    the text that was sent.
    """
    constant, integer, number = (str, _integer_or_text, _float_or_text) if odd_numbers_as_text else _STRICT
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Bad(_("Byte %(number)s is not valid UTF-8."), number=str(error.start)) from None
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=constant, parse_int=integer, parse_float=number
        )
    except json.JSONDecodeError as error:
        raise Bad(
            _("%(error)s (line %(line)s, column %(column)s)."),
            error=error.msg,
            line=str(error.lineno),
            column=str(error.colno),
        ) from None
    except RecursionError:
        raise Bad(_("It is nested deeper than %(most)s levels."), most=DEEPEST) from None
    return check(value)


def check(value: Any) -> Any:
    """The value, if it is what `read` could have read; for values that something has computed. Raises Bad."""
    _check(value, 0)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(fields := dict(pairs)) < len(pairs):
        seen: set[str] = set()
        for name, _value in pairs:
            if name in seen:
                raise Bad(_("The name “%(name)s” is there twice."), name=name[:80].encode("utf-8", "replace").decode())
            seen.add(name)
    return fields


def _constant(name: str) -> Any:
    raise Bad(_("%(name)s is not a number in JSON."), name=name)


def _integer(digits: str) -> int:
    if len(digits) > 19:
        raise Bad(_("A number has more than 19 digits."))
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    _check_number(number)
    return number


def _integer_or_text(digits: str) -> int | str:
    return int(digits) if len(digits) <= 19 else digits


def _float_or_text(digits: str) -> float | str:
    return number if abs(number := float(digits)) <= _GREATEST else digits


_STRICT = (_constant, _integer, _float)


def _check_number(number: float) -> None:
    most = _FIRST_TOO_LONG - 1 if isinstance(number, int) else _GREATEST
    if not abs(number) <= most:  # nor NaN
        raise Bad(_("A number is greater than %(most)s."), most=f"{_GREATEST:g}")


def _check(value: Any, depth: int) -> None:
    if depth > DEEPEST:
        raise Bad(_("It is nested deeper than %(most)s levels."), most=DEEPEST)
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise Bad(_("The name of a field is not a text."))
            _check_text(name)
            _check(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check(inner, depth + 1)
    elif isinstance(value, int | float):
        _check_number(value)
    elif value is not None:
        raise Bad(_("This is not a value of JSON."))


def _check_text(text: str) -> None:
    if "\0" in text:
        raise Bad(_("A text contains the character NUL."))
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise Bad(_("A text contains half of a surrogate pair."))
