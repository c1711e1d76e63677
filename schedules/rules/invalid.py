"""The error for a rule that is refused, and the budget of work beyond which one is."""

from collections.abc import Callable
from typing import Any

from schedules.rules.refusals import sentence

# One unit takes just under a microsecond. Counted, not timed: a slow machine takes the same rules as a fast one.
BUDGET = 40_000


class InvalidRule(ValueError):
    """`code` and `params` are for programs; as a string it is a sentence of `refusals`, in the active language.

    `field` is the wrong parameter: a key of the rule's data, or "kind", "timezone", "starts", "ends" or "excluded".
    """

    def __init__(self, field: str, code: str, **params: Any) -> None:
        super().__init__(field, code)
        self.field, self.code, self.params = field, code, params
        # Further errors of the same rule.
        self.others: list[InvalidRule] = []

    def __str__(self) -> str:
        return sentence(self.code, self.params)


def all_of(**reads: Callable[[], Any]) -> dict[str, Any]:
    """Call all and return their results by name. Raises the first InvalidRule, with the others in its `others`."""
    values: dict[str, Any] = {}
    errors: list[InvalidRule] = []
    for name, read in reads.items():
        try:
            values[name] = read()
        except InvalidRule as error:
            errors += [error, *error.others]
    if errors:
        errors[0].others = errors[1:]
        raise errors[0]
    return values


class Work:
    """The rest of the budget for one parse or one search, so that no rule can keep a page or the beat busy."""

    __slots__ = ("left",)

    def __init__(self, left: int = BUDGET) -> None:
        self.left = left

    def spend(self, units: int, field: str = "rule") -> None:
        """Raises InvalidRule(field) when nothing is left."""
        self.left -= units
        if self.left < 0:
            raise InvalidRule(field, "too_costly")
