"""A budget of work for one question to a rule, so that no rule can keep a page or the beat busy."""

from __future__ import annotations

from schedules.rules.invalid import InvalidRule

# One unit takes just under a microsecond. Counted, not timed: a slow machine takes the same rules as a fast one.
BUDGET = 40_000


class Work:
    """What is left of the budget of one question: a parse, or a search through all that it excludes."""

    __slots__ = ("left",)

    def __init__(self, left: int = BUDGET) -> None:
        self.left = left

    def spend(self, units: int, field: str = "rule") -> None:
        """Raises InvalidRule(field) when nothing is left."""
        self.left -= units
        if self.left < 0:
            raise InvalidRule(
                field,
                "This rule takes too long to work out: it never fires, or hardly ever, or excludes too much. "
                "Make it simpler, for example without COUNT, or split it into several reminders.",
            )
