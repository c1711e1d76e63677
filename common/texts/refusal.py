"""Refusals of code that knows no Django: a code with parameters, put into words where it is shown.

A child process that parses raises them too, so they survive pickling.
"""

import sys
from collections.abc import Mapping
from typing import Any

TEXTS: dict[str, str] = {}
"""The text of each code, with the names of its parameters. Modules that refuse add theirs."""


def noop(text: str) -> str:
    """Mark a text for the catalogue; import it as `_`."""
    return text


class Refusal(ValueError):
    """As a string it is its text, in the active language."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code, self.params = code, params

    def __str__(self) -> str:
        return words(self.code, self.params)


def words(code: str, params: Mapping[str, Any]) -> str:
    """The text of a code in the active language, where Django is in use. Also of damaged parameters."""
    text = TEXTS.get(code, code)
    if "django.utils.translation" in sys.modules:
        from django.utils.translation import gettext

        from common.texts.numbers import grouped

        text, params = gettext(text), {name: grouped(one) if type(one) is int else one for name, one in params.items()}
    try:
        return text % params if params else text
    except (KeyError, TypeError, ValueError):
        return text
