"""Refusals of code that knows no Django: a text of the catalogue with its parameters, put into words where it is shown.

A child process that parses raises them too, so they survive pickling.
"""

import sys
from typing import Any


def noop(text: str) -> str:
    """Mark a text for the catalogue; import it as `_`."""
    return text


class Refusal(ValueError):
    """`text` has the names of `params`. As a string it is in the active language, where Django is in use."""

    def __init__(self, text: str, **params: Any) -> None:
        super().__init__(text)
        self.text, self.params = text, params

    def __str__(self) -> str:
        if "django.utils.translation" not in sys.modules:
            return self.text % self.params if self.params else self.text
        from django.utils.translation import gettext

        from common.texts.numbers import grouped

        shown = {name: grouped(value) if type(value) is int else value for name, value in self.params.items()}
        return gettext(self.text) % shown if shown else gettext(self.text)
