"""Read the events of an iCalendar file (RFC 5545), as JSON. Pure.

The package icalendar keeps the zones that a file defines for the whole process: the next person's file would be read
by them. Here a zone is known by its name or not at all.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any

from common import zones
from schedules.job_kinds.windows_zones import IANA

MOST_TEXT = 1_000
_NAME = re.compile(
    r'([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+=(?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*)*):(.*)', re.DOTALL
)
_PARAMETER = re.compile(r';([A-Za-z0-9-]+)=(?:"([^"]*)"|([^";:]*))')
_ESCAPED = re.compile(r"\\([\\;,nN])")
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_DURATION = re.compile(r"([+-]?)P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:\d{1,8}S)?)?")
_TEXTS = {"SUMMARY": "title", "LOCATION": "place", "DESCRIPTION": "text", "URL": "url"}


@dataclass(slots=True)
class Moment:
    """A DATE or DATE-TIME as written, without its Z; `zone` is an IANA name, "" for none, None for an unknown one."""

    at: str
    zone: str | None = ""

    @property
    def is_date(self) -> bool:
        return "T" not in self.at


@dataclass(slots=True)
class FileEvent:
    """A VEVENT. `alarm`: minutes from its earliest alarm to its start, None without one."""

    uid: str = ""
    instance: Moment | None = None
    start: Moment | None = None
    rule: str = ""
    has_more_dates: bool = False
    left_out: list[Moment] = field(default_factory=list)
    is_cancelled: bool = False
    title: str = ""
    place: str = ""
    text: str = ""
    url: str = ""
    alarm: int | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> FileEvent:
        moments = {name: Moment(**stored[name]) for name in ("instance", "start") if stored[name]}
        return cls(**stored | moments | {"left_out": [Moment(**one) for one in stored["left_out"]]})


def is_whole(text: str) -> bool:
    """Whether it begins and ends as a calendar: a connection may break in the middle of one."""
    head, tail = text[:100].lstrip("\ufeff \r\n").upper(), text[-100:].rstrip().upper()
    return head.startswith("BEGIN:VCALENDAR") and tail.endswith("END:VCALENDAR")


def read(text: str) -> list[FileEvent]:
    """Return the events with a UID and a start. A line that cannot be read is left out."""
    found: list[FileEvent] = []
    inside: list[str] = []
    event = FileEvent()
    for line in re.split(r"\r\n|\n|\r", re.sub(r"(?:\r\n|\n|\r)[ \t]", "", text)):
        match = _NAME.fullmatch(line)
        if match is None:
            continue
        name, parameters, value = match[1].upper(), match[2], match[3]
        if name == "BEGIN":
            inside.append(value.strip().upper())
            if inside[-1] == "VEVENT":
                event = FileEvent()
        elif name == "END":
            if inside and inside.pop() == "VEVENT" and event.uid and event.start is not None:
                found.append(event)
        elif inside[-1:] == ["VEVENT"]:
            _take(event, name, parameters, value)
        elif inside[-2:] == ["VEVENT", "VALARM"] and name == "TRIGGER":
            minutes = _minutes_before(parameters, value)
            if minutes is not None:
                event.alarm = max(event.alarm or 0, minutes)
    return found


def _take(event: FileEvent, name: str, parameters: str, value: str) -> None:
    if name in _TEXTS:
        setattr(event, _TEXTS[name], _text(value))
    elif name == "UID":
        event.uid = _text(value)
    elif name == "DTSTART":
        event.start = _moment(parameters, value)
    elif name == "RECURRENCE-ID":
        event.instance = _moment(parameters, value)
    elif name == "RRULE":
        event.rule = _text(value).strip()
    elif name == "EXDATE":
        event.left_out += [_moment(parameters, one) for one in value.split(",")[:1_000]]
    elif name == "RDATE":
        event.has_more_dates = True
    elif name == "STATUS":
        event.is_cancelled = value.strip().upper() == "CANCELLED"


def _moment(parameters: str, value: str) -> Moment:
    value = value.strip().upper()
    if value.endswith("Z"):
        return Moment(value[:-1], "UTC")
    named = {name.upper(): quoted or plain for name, quoted, plain in _PARAMETER.findall(parameters)}.get("TZID", "")
    return Moment(value, _zone(named) if named and "T" in value else "")


def _zone(name: str) -> str | None:
    """The IANA name, also of the names that Outlook gives, and of those with a maker's prefix."""
    known = zones.known()
    tail = name.strip("/").split("/")
    for candidate in (name, IANA.get(name, ""), "/".join(tail[-2:]), "/".join(tail[-3:])):
        if candidate in known:
            return candidate
    return None


def _minutes_before(parameters: str, value: str) -> int | None:
    """Of a TRIGGER before the start; None for another one."""
    match = _DURATION.fullmatch(value.strip().upper())
    if match is None or "RELATED=END" in parameters.upper():
        return None
    weeks, days, hours, minutes = (int(part or 0) for part in match.groups()[1:])
    total = ((weeks * 7 + days) * 24 + hours) * 60 + minutes
    return total if match[1] == "-" or total == 0 else None


def _text(value: str) -> str:
    plain = _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
    return _UNSAFE.sub(" ", plain)[:MOST_TEXT].strip()
