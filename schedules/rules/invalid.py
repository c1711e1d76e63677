"""The error for a rule that is refused, and the budget of work beyond which one is."""

from django.utils.translation import gettext as _

from common.texts.types import StrOrPromise

# One unit takes just under a microsecond. Counted, not timed: a slow machine takes the same rules as a fast one.
BUDGET = 40_000


class InvalidRule(ValueError):
    """The message says what is wrong and what would be right, with an example.

    `field` is the wrong parameter: a key of the rule's data, or "kind", "timezone", "starts", "ends" or "excluded".
    """

    def __init__(self, field: str, message: StrOrPromise) -> None:
        super().__init__(str(message))
        self.field = field


class Work:
    """The rest of the budget for one parse or one search, so that no rule can keep a page or the beat busy."""

    __slots__ = ("left",)

    def __init__(self, left: int = BUDGET) -> None:
        self.left = left

    def spend(self, units: int, field: str = "rule") -> None:
        """Raises InvalidRule(field) when nothing is left."""
        self.left -= units
        if self.left < 0:
            raise InvalidRule(
                field,
                _(
                    "This rule takes too long to work out: it never rings, or hardly ever, or excludes too much. "
                    "Make it simpler, for example without COUNT, or split it into several reminders."
                ),
            )
