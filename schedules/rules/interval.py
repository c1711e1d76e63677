"""Every so many minutes, hours or days of elapsed time. Clock changes do not matter."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

from django.utils.translation import gettext as _, gettext_lazy

from common.texts.numbers import grouped
from schedules.rules import civil, fields, words
from schedules.rules.invalid import InvalidRule, Work
from schedules.rules.rule import Rule

# How many of each unit make the longest interval, ten years.
_LONGEST = {"minutes": 3650 * 24 * 60, "hours": 3650 * 24, "days": 3650}
_EXAMPLES = {
    "minutes": gettext_lazy("Write a whole number of minutes from 1 to %(longest)s (ten years), such as 1."),
    "hours": gettext_lazy("Write a whole number of hours from 1 to %(longest)s (ten years), such as 1."),
    "days": gettext_lazy("Write a whole number of days from 1 to %(longest)s (ten years), such as 1."),
}
_ANCHOR_EXAMPLE = gettext_lazy("Write a date and time with its offset from UTC, such as 2026-01-01T00:00:00+00:00.")


@dataclass(frozen=True)
class Interval(Rule):
    """Slots at `anchor` + k × `every` `unit`, k ≥ 0. A day is 24 hours. `anchor` is aware, in UTC."""

    kind: ClassVar[str] = "interval"
    parameters: ClassVar[tuple[str, ...]] = ("every", "unit", "anchor")

    every: int
    unit: str
    anchor: datetime

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        unit = data.get("unit")
        if not isinstance(unit, str) or unit not in _LONGEST:
            raise InvalidRule("unit", _("Choose minutes, hours or days as the unit."))
        longest = _LONGEST[unit]
        example = _EXAMPLES[unit] % {"longest": grouped(longest)}
        every = fields.whole_number(data.get("every"), "every", 1, longest, example)
        written = fields.text(data, "anchor", 40, _ANCHOR_EXAMPLE)
        try:
            anchor = datetime.fromisoformat(written)
        except ValueError:
            raise InvalidRule(
                "anchor",
                _("“%(written)s” is no date and time. %(example)s") % {"written": written, "example": _ANCHOR_EXAMPLE},
            ) from None
        if anchor.tzinfo is None:
            raise InvalidRule(
                "anchor",
                _("“%(written)s” has no offset from UTC. %(example)s")
                % {"written": written, "example": _ANCHOR_EXAMPLE},
            )
        if civil.is_in_reach(anchor.replace(tzinfo=None)):
            anchor = anchor.astimezone(UTC)
        if not civil.is_in_reach(anchor.replace(tzinfo=None)):
            raise InvalidRule(
                "anchor", _("“%(written)s” is out of reach: %(reach)s.") % {"written": written, "reach": civil.REACH}
            )
        return cls(timezone, every, unit, anchor)

    @property
    def step(self) -> timedelta:
        return timedelta(**{self.unit: self.every})

    @property
    def is_elapsed(self) -> bool:
        return True

    def data(self) -> dict[str, Any]:
        return {"every": self.every, "unit": self.unit, "anchor": self.anchor.isoformat()}

    def next_after(self, instant: datetime, work: Work | None = None) -> datetime | None:
        if instant < self.anchor:
            return self.anchor
        if instant >= civil.LAST_INSTANT:
            return None
        step = self.step
        wait = step - (instant - self.anchor) % step
        return (instant + wait).astimezone(UTC) if wait < civil.LAST_INSTANT - instant else None

    def describe(self, readers: bool = False) -> str:
        shown = civil.local(self.zone, self.anchor)
        return _("%(rule)s from %(day)s %(time)s %(zone)s") % {
            "rule": words.every(self.every, self.unit.removesuffix("s")),
            "day": words.day(shown),
            "time": words.clock(shown),
            "zone": words.zone_time(self.timezone),
        }

    def clock_change(self, slot: datetime) -> None:
        return None
