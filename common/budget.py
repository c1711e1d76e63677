"""What one piece of a person's work may cost: CPU time, characters and items, spent inside the loops. Pure.

Spend before a copy is made, not after it. The same object goes through everything that has one cause.
"""

from __future__ import annotations

import time
from typing import ClassVar

_LOOK_AT_CLOCK = 256  # items between two questions for the time


class OverBudget(ValueError):
    """It costs more than `most` of `what`: "seconds", "characters" or "items". Survives pickling."""

    sentences: ClassVar = {
        "seconds": "It takes more than {most:g} s of computing.",
        "characters": "It makes more than {most:,} characters.",
        "items": "It makes more than {most:,} values.",
    }

    def __init__(self, what: str, most: float) -> None:
        super().__init__(what, most)
        self.what, self.most = what, most

    def __str__(self) -> str:
        return self.sentences[self.what].format(most=self.most)


class Budget:
    """What is left. `items()` and `characters()` spend; each raises OverBudget beyond its limit.

    The seconds are CPU time of this thread, so that nobody is refused because the machine is busy.
    """

    __slots__ = ("_characters", "_ends", "_items", "_next_clock", "most_characters", "most_items", "seconds")

    def __init__(self, *, seconds: float = 2.0, characters: int = 1_000_000, items: int = 100_000) -> None:
        self.seconds, self.most_characters, self.most_items = seconds, characters, items
        self._characters, self._items, self._next_clock = characters, items, items - _LOOK_AT_CLOCK
        self._ends = time.thread_time() + seconds

    def items(self, count: int = 1) -> None:
        self._items -= count
        if self._items < 0:
            raise OverBudget("items", self.most_items)
        if self._items < self._next_clock:
            self._next_clock = self._items - _LOOK_AT_CLOCK
            self.clock()

    def characters(self, count: int) -> None:
        self._characters -= count
        if self._characters < 0:
            raise OverBudget("characters", self.most_characters)

    def clock(self) -> None:
        """For loops whose steps are long: look at the time alone."""
        if time.thread_time() > self._ends:
            raise OverBudget("seconds", self.seconds)
