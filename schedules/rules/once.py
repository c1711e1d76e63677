"""One civil time, once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from django.utils.translation import gettext as _

from schedules.rules import civil, fields, words
from schedules.rules.invalid import InvalidRule, Work
from schedules.rules.rule import CivilRule

_SHAPE = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?", re.ASCII)


@dataclass(frozen=True)
class Once(CivilRule):
    """`at`: a naive civil time in the zone, to the microsecond."""

    kind: ClassVar[str] = "once"
    parameters: ClassVar[tuple[str, ...]] = ("at",)

    at: datetime

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        if not isinstance(at := data.get("at"), datetime):
            at = _read(fields.text(data, "at", 40, "once"))
        if not civil.is_in_reach(at):
            raise InvalidRule("at", "out_of_reach", written=data["at"])
        return cls(timezone, at)

    def data(self) -> dict[str, Any]:
        return {"at": self.at.isoformat()}

    def next_civil(self, after: datetime, work: Work) -> datetime | None:
        return self.at if self.at > after else None

    def brief(self) -> str:
        weekday, day, at = self._shown()
        return _("Once, on %(weekday)s %(day)s at %(time)s") % {"weekday": weekday, "day": day, "time": at}

    def moment(self, readers: bool = False) -> str:
        """ "Sunday 29 March 2026 at 09:00, Berlin time"."""
        weekday, day, at = self._shown()
        moment = _("%(weekday)s %(day)s at %(time)s") % {"weekday": weekday, "day": day, "time": at}
        return words.in_zone(moment, self.timezone, readers)

    def _shown(self) -> tuple[str, str, str]:
        return words.weekday(self.at.weekday()), words.day(self.at), words.clock(self.at)


def _read(written: str) -> datetime:
    if not _SHAPE.fullmatch(written):
        raise InvalidRule("at", "once_format", written=written)
    try:
        return datetime.fromisoformat(written)
    except ValueError as error:
        raise InvalidRule("at", "once_date", written=written, error=str(error)) from None
