"""One civil time, once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from schedules.rules import civil, fields, words
from schedules.rules.invalid import InvalidRule, Work
from schedules.rules.rule import CivilRule

_SHAPE = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?", re.ASCII)
_EXAMPLE = "Write the local date and time without an offset, such as 2026-03-29T09:00."


@dataclass(frozen=True)
class Once(CivilRule):
    """`at`: a naive civil time in the zone, to the microsecond."""

    kind: ClassVar[str] = "once"
    parameters: ClassVar[tuple[str, ...]] = ("at",)

    at: datetime

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        written = fields.text(data, "at", 40, _EXAMPLE)
        if not _SHAPE.fullmatch(written):
            raise InvalidRule("at", f"“{written}” is no date and time. {_EXAMPLE}")
        try:
            at = datetime.fromisoformat(written)
        except ValueError as error:
            raise InvalidRule("at", f"“{written}” is no date and time of the calendar ({error}). {_EXAMPLE}") from None
        if not civil.is_in_reach(at):
            raise InvalidRule("at", f"“{written}” is out of reach: {civil.REACH}.")
        return cls(timezone, at)

    def data(self) -> dict[str, Any]:
        return {"at": self.at.isoformat()}

    def next_civil(self, after: datetime, work: Work) -> datetime | None:
        return self.at if self.at > after else None

    def describe(self) -> str:
        weekday = words.DAYS[self.at.weekday()]
        zone = words.zone_time(self.timezone)
        return f"Once, on {weekday} {words.day(self.at)} at {words.clock(self.at)}, {zone}"
