"""The interface of every kind of rule, and how a rule on civil time finds its next slot."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self
from zoneinfo import ZoneInfo

from schedules.rules import civil, words
from schedules.rules.invalid import InvalidRule, Work


@dataclass(frozen=True)
class ClockChange:
    """The effect of a clock change on a slot. Times are civil.

    The clock skipped `times`: they are "moved" to `fires_at`, or "merged" with the rule's own slot there. Or it shows
    one time twice: the slot fires "once", or "both" times.
    """

    code: Literal["moved", "merged", "once", "both"]
    times: Sequence[datetime]
    fires_at: datetime
    timezone: str


@dataclass(frozen=True)
class Rule(ABC):
    """When something is due. Immutable; equal rules have equal `data()`.

    `timezone` is an IANA name. `parameters` are the keys of `data()`.
    """

    kind: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]

    timezone: str

    @classmethod
    def parse(cls, data: Mapping[str, Any], timezone: str) -> Self:
        """The rule of canonical JSON `data`, read in `timezone`. Raises InvalidRule with the wrong field."""
        civil.zone(timezone)
        if not isinstance(data, Mapping):
            raise InvalidRule("rule", "not_an_object", parameters=cls.parameters)
        for key in data:
            if key not in cls.parameters:
                raise InvalidRule(str(key), "parameter", kind=cls.kind, key=key, parameters=cls.parameters)
        return cls.read(data, timezone)

    @classmethod
    @abstractmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        """`parse` after the common checks."""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """Canonical JSON: `parse(data(), timezone)` gives an equal rule."""

    @abstractmethod
    def next_after(self, instant: datetime, work: Work | None = None) -> datetime | None:
        """The first slot strictly after an aware `instant`, in UTC; None if none comes before the year 9999.

        Raises InvalidRule if the search costs more than `work` (None: a new budget) has left.
        """

    @abstractmethod
    def brief(self) -> str:
        """The rule in plain words, without its zone and its start: "Every weekday at 09:00"."""

    def describe(self, readers: bool = False) -> str:
        """The rule in plain words: "Every weekday at 09:00, Berlin time".

        With `readers`, it is one that is read on the clock of each reader instead of its zone's.
        """
        return words.in_zone(self.brief(), self.timezone, readers)

    @abstractmethod
    def clock_change(self, slot: datetime) -> ClockChange | None:
        """Return the effect of a clock change on this slot, if any."""

    def between(self, begin: datetime, end: datetime) -> list[datetime] | None:
        """The slots in [begin, end), both aware, in order; None for a rule that searches for each of them."""
        return None

    @property
    def is_elapsed(self) -> bool:
        """Whether it also fires while the clock repeats an hour."""
        return False

    @property
    def zone(self) -> ZoneInfo:
        return civil.zone(self.timezone)


@lru_cache(maxsize=10_000)
def described(rule: Rule, readers: bool, language: str | None) -> str:
    """`rule.describe(readers)`, remembered; `language` is the active one."""
    return rule.describe(readers)


@dataclass(frozen=True)
class CivilRule(Rule):
    """A rule of times on the wall clock; `civil` makes instants of them, the same way for every kind."""

    @abstractmethod
    def next_civil(self, after: datetime, work: Work) -> datetime | None:
        """The first civil time of the rule strictly after a naive `after`, which is before the year 9999."""

    def next_after(self, instant: datetime, work: Work | None = None) -> datetime | None:
        if instant.tzinfo is None:
            raise ValueError("next_after() needs an aware datetime")
        if instant >= civil.LAST_INSTANT:
            return None
        shown = civil.high_water(self.zone, max(instant, civil.FIRST_INSTANT))
        if shown >= civil.LAST:
            return None
        if (due := self.next_civil(shown, work or Work())) is None or due >= civil.LAST:
            return None
        return civil.first_instant(self.zone, due)

    def clock_change(self, slot: datetime) -> ClockChange | None:
        slot = slot.astimezone(UTC)
        if not civil.FIRST_INSTANT < slot < civil.LAST_INSTANT:
            return None
        shown = civil.local(self.zone, slot)
        if gap := civil.gap_before(self.zone, slot):
            return self._gap(*gap)
        if civil.happens_twice(self.zone, shown) and self.next_civil(shown - civil.TICK, Work()) == shown:
            return ClockChange("once", [shown], shown, self.timezone)
        return None

    def _gap(self, first: datetime, end: datetime) -> ClockChange | None:
        skipped: list[datetime] = []
        due = self.next_civil(first - civil.TICK, Work())
        while due is not None and due < end:
            skipped.append(due)
            due = self.next_civil(due, Work())
        if not skipped:
            return None
        return ClockChange("merged" if due == end else "moved", skipped, end, self.timezone)
