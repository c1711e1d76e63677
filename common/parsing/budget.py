"""The cost limit of one piece of a person's work: CPU time, characters and items, spent inside the loops. Pure.

Spend before a copy is made, not after it. The same object goes through everything that has one cause.
"""

import time

from common.texts.refusal import TEXTS, Refusal, noop as _

_CLOCK_EVERY = 256  # items

TEXTS.update(
    over_seconds=_("It takes more than %(most)s s of computing."),
    over_characters=_("It makes more than %(most)s characters."),
    over_items=_("It makes more than %(most)s values."),
    over_megabytes=_("It needs more than %(most)s MB of memory."),
    over_depth=_("It has more than %(most)s elements inside each other."),
    over_crash=_("The parser broke down over it."),
)


class OverBudget(Refusal):
    """It costs more than `most` of `what`: "seconds", "characters", "items" or "depth"; see `parsing.ParsingEnded`."""

    def __init__(self, what: str, most: float) -> None:
        super().__init__(f"over_{what}", most=most)
        self.args = (what, most)
        self.what, self.most = what, most


class Budget:
    """The remaining budget. `items()` and `characters()` spend; each raises OverBudget beyond its limit.

    The seconds are CPU time of this thread, so that nobody is refused because the machine is busy.
    """

    __slots__ = ("_characters", "_ends", "_items", "_next_clock", "most_characters", "most_items", "seconds")

    def __init__(self, *, seconds: float = 2, characters: int = 1_000_000, items: int = 200_000) -> None:
        self.seconds, self.most_characters, self.most_items = seconds, characters, items
        self._characters, self._items, self._next_clock = characters, items, items - _CLOCK_EVERY
        self._ends = time.thread_time() + seconds

    def items(self, count: int = 1) -> None:
        self._items -= count
        if self._items < 0:
            raise OverBudget("items", self.most_items)
        if self._items < self._next_clock:
            self._next_clock = self._items - _CLOCK_EVERY
            self.clock()

    def characters(self, count: int) -> None:
        self._characters -= count
        if self._characters < 0:
            raise OverBudget("characters", self.most_characters)

    def clock(self) -> None:
        """For loops whose steps are long: look at the time alone."""
        if time.thread_time() > self._ends:
            raise OverBudget("seconds", self.seconds)
