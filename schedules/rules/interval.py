"""Every so many minutes, hours or days of elapsed time. Clock changes do not matter."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

from django.utils.translation import gettext as _

from schedules.rules import civil, fields, words
from schedules.rules.invalid import InvalidRule, Work, all_of
from schedules.rules.rule import Rule

# How many of each unit make the longest interval, ten years.
_LONGEST = {"minutes": 3650 * 24 * 60, "hours": 3650 * 24, "days": 3650}


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
        values = all_of(every=lambda: _every(data), anchor=lambda: _anchor(data))
        return cls(timezone, unit=data["unit"], **values)

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

    def brief(self) -> str:
        return words.every(self.every, self.unit.removesuffix("s"))

    def describe(self, readers: bool = False) -> str:
        shown = civil.local(self.zone, self.anchor)
        return _("%(rule)s from %(day)s %(time)s %(zone)s") % {
            "rule": self.brief(),
            "day": words.day(shown),
            "time": words.clock(shown),
            "zone": words.zone_time(self.timezone),
        }

    def clock_change(self, slot: datetime) -> None:
        return None


def _every(data: Mapping[str, Any]) -> int:
    """The number of units. "unit" is checked first, because the longest interval depends on it."""
    unit = data.get("unit")
    if not isinstance(unit, str) or unit not in _LONGEST:
        raise InvalidRule("unit", "unit")
    longest = _LONGEST[unit]
    return fields.whole_number(data.get("every"), "every", 1, longest, f"every_{unit}", longest=longest)


def _anchor(data: Mapping[str, Any]) -> datetime:
    anchor = written = data.get("anchor")
    if not isinstance(anchor, datetime):
        written = fields.text(data, "anchor", 40, "anchor")
        try:
            anchor = datetime.fromisoformat(written)
        except ValueError:
            raise InvalidRule("anchor", "anchor_format", written=written) from None
    if anchor.tzinfo is None:
        raise InvalidRule("anchor", "anchor_offset", written=written)
    if civil.is_in_reach(anchor.replace(tzinfo=None)):
        anchor = anchor.astimezone(UTC)
    if not civil.is_in_reach(anchor.replace(tzinfo=None)):
        raise InvalidRule("anchor", "out_of_reach", written=written)
    return anchor
