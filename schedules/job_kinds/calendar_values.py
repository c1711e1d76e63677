"""The events and tasks of a calendar file as plain values. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

CONVERTED = "*"
"""The zone of a time whose clock no zone of the database shows: it stands in UTC."""
LOCAL = "local"
"""After the time of an alarm without a zone, whose event has none either."""

Lead = tuple[int, int]
"""How long before: days on the clock, and seconds that pass."""


@dataclass(slots=True)
class Moment:
    """A DATE or DATE-TIME as written, without its Z.

    `zone` is an IANA name, "" for none, None for an unknown one, "*" for a time that was converted to UTC.
    """

    at: str
    zone: str | None = ""

    @property
    def is_date(self) -> bool:
        return "T" not in self.at

    @property
    def civil(self) -> datetime:
        return datetime.fromisoformat(self.at)

    @property
    def utc(self) -> datetime:
        """The instant in UTC, if it has a zone."""
        where = UTC if self.zone in (CONVERTED, "", None) else ZoneInfo(str(self.zone))
        return self.civil.replace(tzinfo=where).astimezone(UTC)


@dataclass(slots=True)
class FileEvent:
    """A VEVENT or VTODO.

    `key` tells it from the others of its calendar. `instance`: which date of a series it replaces; `from_here`: and all
    later ones. `alarms`: before `start` (a task's: before it is due), or times, in UTC unless LOCAL; `more_alarms`: how
    many more it has. `later`: seconds from the start of a repeated task until it is due. `problem`: the code of why it
    cannot be followed. `unknown_zone`: the name of the zone of its start, where that is not known.
    """

    uid: str = ""
    key: list[str] = field(default_factory=list)
    instance: Moment | None = None
    from_here: bool = False
    start: Moment | None = None
    rules: list[str] = field(default_factory=list)
    dates: list[Moment] = field(default_factory=list)
    left_out: list[Moment] = field(default_factory=list)
    is_cancelled: bool = False
    title: str = ""
    place: str = ""
    text: str = ""
    url: str = ""
    alarms: list[Lead | str] = field(default_factory=list)
    more_alarms: int = 0
    later: int = 0
    problem: str = ""
    unknown_zone: str = ""

    @property
    def starts_at(self) -> str:
        return self.start.at if self.start else ""
