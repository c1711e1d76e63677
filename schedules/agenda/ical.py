"""Write an iCalendar file (RFC 5545). Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u0085\u2028\u2029\ud800-\udfff]")
_LONGEST_LINE = 75  # octets


@dataclass(frozen=True, slots=True)
class Event:
    """`uid` is the same as long as it is the same event; instants are aware."""

    uid: str
    start: datetime
    length: timedelta
    changed: datetime
    title: str
    url: str


def write(name: str, events: Iterable[Event], refresh: timedelta) -> str:
    """A calendar with a name for people; calendars read it again after `refresh`."""
    every = f"PT{int(refresh.total_seconds()) // 60}M"
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Carillon//Reminders//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
        f"NAME:{escaped(name)}",
        f"X-WR-CALNAME:{escaped(name)}",
        f"REFRESH-INTERVAL;VALUE=DURATION:{every}",
        f"X-PUBLISHED-TTL:{every}",
        *(line for event in events for line in _event(event)),
        "END:VCALENDAR",
    ]
    return "".join(f"{_folded(line)}\r\n" for line in lines)


def _event(event: Event) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{event.uid}"
    yield f"DTSTAMP:{_instant(event.changed)}"
    yield f"DTSTART:{_instant(event.start)}"
    yield f"DTEND:{_instant(event.start + event.length)}"
    yield f"SUMMARY:{escaped(event.title)}"
    yield f"URL:{event.url}"
    yield "TRANSP:TRANSPARENT"  # it makes nobody busy
    yield "END:VEVENT"


def _instant(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def escaped(text: str) -> str:
    """In one line, which adds no other one whatever it holds."""
    safe = _UNSAFE.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")).replace("\\", "\\\\")
    return safe.replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")


def _folded(line: str) -> str:
    """In lines of at most 75 octets, never within a character."""
    parts, size = [""], 0
    for character in line:
        octets = len(character.encode())
        if size + octets > _LONGEST_LINE:
            parts.append(" ")
            size = 1
        parts[-1] += character
        size += octets
    return "\r\n".join(parts)
