"""Read the events and tasks of an iCalendar file (RFC 5545): bytes in, plain values out.

It runs in a child process: no Django, one budget for a file. docs/decisions.md says what of it is left to libraries.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from icalendar import vDuration

from common.parsing.budget import Budget, OverBudget
from jobs.reading import plain
from schedules.job_kinds import calendar_lines, calendar_rules
from schedules.job_kinds.calendar_lines import Component, NotACalendar
from schedules.job_kinds.calendar_zones import HOMELESS, Zones

__all__ = ["File", "FileEvent", "Moment", "NotACalendar", "read"]

MOST, MOST_TEXT = 2_000, 1_000
"""Events that are read, and characters of a text."""
_MOST_DATES = 2_000
"""Single dates, and dates that are left out, of all events of a file."""
_MOST_ALARMS = 10
_LONGEST_TEXT = 20_000
_ZONE = re.compile(r';\s*TZID=(?:"([^"]*)"|([^;]*))', re.IGNORECASE)
_ESCAPED = re.compile(r"\\([\\;,nN])")
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_MOMENT = re.compile(
    r"(\d{4}|--)-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?(\d\d))?(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?)?(?:/.*)?", re.ASCII
)
_TEXTS = {"SUMMARY": "title", "LOCATION": "place", "URL": "url", "UID": "uid"}
_ALL_DAY = ("X-MICROSOFT-CDO-ALLDAYEVENT", "X-MICROSOFT-MSNCALENDAR-ALLDAYEVENT", "X-FUNAMBOL-ALLDAY")
_SAME_EXPORT = timedelta(minutes=1)
_NEVER = datetime(1, 1, 1)  # noqa: DTZ001 - stamps are compared as written
# Birthdays without a year stand in 1604, and some in the year 0. The calendar repeats after 400 years.
_EARLIEST, _ERA = 1900, 400


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
        """Where it has a zone."""
        where = UTC if self.zone in (HOMELESS, "", None) else ZoneInfo(str(self.zone))
        return self.civil.replace(tzinfo=where).astimezone(UTC)


@dataclass(slots=True)
class FileEvent:
    """A VEVENT or VTODO.

    `key` tells it from the others of its calendar. `instance`: which date of a series it replaces; `from_here`: and all
    later ones. `alarms`: seconds before `start` (a task's: before it is due), or UTC times. `later`: seconds from the
    start of a repeated task until it is due. `problem`: the code of why it cannot be followed.
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
    alarms: list[int | str] = field(default_factory=list)
    later: int = 0
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> FileEvent:
        moments = {name: Moment(**stored[name]) for name in ("instance", "start") if stored[name]}
        lists = {name: [Moment(**one) for one in stored[name]] for name in ("dates", "left_out")}
        return cls(**stored | moments | lists)


@dataclass(slots=True)
class File:
    """`dropped`: how many more events the file has than are read."""

    events: list[FileEvent]
    dropped: int = 0


def read(raw: bytes, content_type: str, now: datetime) -> File:
    """Raises NotACalendar, and OverBudget for a file that costs too much. `now`: which years matter."""
    parts = [*calendar_lines.read(raw, content_type).walk()]
    events = [
        one
        for one in parts
        if one.kind == "VEVENT" or (one.kind == "VTODO" and {"DUE", "DURATION"} & one.properties.keys())
    ]
    reader = _Reader(parts, now)
    return File(_current([(reader.event(one), one) for one in events[:MOST]]), len(events[MOST:]))


class _Reader:
    def __init__(self, parts: Sequence[Component], now: datetime) -> None:
        self._zones = Zones({one.value("TZID"): one for one in reversed(parts) if one.kind == "VTIMEZONE"}, now)
        self._now, self._dates = now, Budget(seconds=4, items=_MOST_DATES)
        named = next(filter(None, (one.value("X-WR-TIMEZONE") for one in parts)), "")
        self._zone = self._zones.name(named) if named else None
        self._is_cancelled = any(one.value("METHOD").upper() == "CANCEL" for one in parts)

    def event(self, component: Component) -> FileEvent:
        event = FileEvent()
        for name, target in _TEXTS.items():
            setattr(event, target, _text(component.last(name)[1])[:MOST_TEXT].strip())
        event.text = _description(component)
        status = component.value("STATUS").upper()
        event.is_cancelled = self._is_cancelled or status in ("CANCELLED", "COMPLETED")
        try:
            self._time(event, component)
            self._repeat(event, component)
        except OverBudget:
            event.problem = "too-many-dates"
        except (ValueError, OverflowError):
            event.problem = event.problem or "no-date"
        event.key = [event.uid, event.instance.at if event.instance else ""]
        if not event.uid:
            event.key += [event.start.at if event.start else "", event.title]
        return event

    def _time(self, event: FileEvent, component: Component) -> None:
        """Raises ValueError for no date."""
        event.instance = self._one(component, "RECURRENCE-ID")
        event.from_here = "THISANDFUTURE" in component.last("RECURRENCE-ID")[0].upper()
        event.start = self._one(component, "DTSTART")
        if component.kind == "VTODO":
            self._due(event, component)
            return
        if event.start is None:
            raise ValueError("no date")
        event.alarms = self._alarms(component, event.start, "DTEND")
        if not event.start.is_date and event.start.at.endswith("T000000"):
            end = self._one(component, "DTEND")
            if _is_all_day(component, event.start, end):
                event.start = Moment(event.start.at[:8])

    def _due(self, event: FileEvent, component: Component) -> None:
        """Of a task counts when it is due; a repeated one keeps its start, to which its rule belongs."""
        event.is_cancelled = event.is_cancelled or "COMPLETED" in component.properties
        due = self._one(component, "DUE")
        start = event.start or due
        if start is None:
            raise ValueError("no date")
        if due is None:
            length = _duration(component.value("DURATION")) or 0
            due = Moment(f"{start.civil + timedelta(seconds=length):%Y%m%dT%H%M%S}"[: len(start.at)], start.zone)
        length = _seconds(start, due)
        event.alarms = [one + length if isinstance(one, int) else one for one in self._alarms(component, start, "DUE")]
        event.later = length if "RRULE" in component.properties else 0
        event.start = start if event.later else due

    def _repeat(self, event: FileEvent, component: Component) -> None:
        start = event.start
        assert start is not None  # noqa: S101 - it has raised
        year = start.civil.year
        rules = [value for _, value in component.properties.get("RRULE", ()) if value.strip(" ;")]
        if not rules and _start_of(component)[1].strip().startswith(("--", "0000", "1604")):
            rules = ["FREQ=YEARLY"]
        event.left_out, event.dates = self._many(component, "EXDATE"), self._many(component, "RDATE")
        if "EXRULE" in component.properties:
            event.problem = "exrule"
        if not rules:
            return
        if year < _EARLIEST and not any("COUNT" in rule.upper() for rule in rules):
            start.at = f"{year + _ERA * -((year - _EARLIEST) // _ERA):04}{start.at[4:]}"
        if start.zone == "UTC" and self._zone not in (None, HOMELESS, "UTC"):
            # As Google means it: what repeats does so on the calendar's own clock.
            where = ZoneInfo(str(self._zone))
            start.at, start.zone = f"{start.utc.astimezone(where):%Y%m%dT%H%M%S}", self._zone
        event.rules, to_expand = calendar_rules.plain(rules, start.civil, is_date=start.is_date)
        if start.zone == HOMELESS or to_expand:
            self._expand(event, component, to_expand)

    def _expand(self, event: FileEvent, component: Component, rules: list[str]) -> None:
        """Write out the dates of rules that a reminder's rule cannot say."""
        start = event.start
        assert start is not None  # noqa: S101 - it has raised
        where: tzinfo | None = None
        if start.zone == HOMELESS:
            where = self._zones.own(_zone_of(_start_of(component)[0]))
            rules, event.rules = [*rules, *event.rules], []
        first = start.civil if where is None else start.utc.astimezone(where)
        self._dates.clock()
        times = calendar_rules.expanded(first, rules, self._now)
        for at in times:
            if where is not None:
                at = at.astimezone(UTC)
            event.dates.append(Moment(f"{at:%Y%m%d}" if start.is_date else f"{at:%Y%m%dT%H%M%S}", start.zone))

    def _one(self, component: Component, name: str) -> Moment | None:
        """Raises ValueError for what is no date."""
        return self._moment(*component.last(name)) if name in component.properties else None

    def _many(self, component: Component, name: str) -> list[Moment]:
        found = []
        for parameters, values in component.properties.get(name, ()):
            for value in values.split(","):
                if value.strip():
                    self._dates.items()
                    found.append(self._moment(parameters, value))
        return found

    def _moment(self, parameters: str, value: str) -> Moment:
        if (match := _MOMENT.fullmatch(value.strip().upper())) is None:
            raise ValueError("no date")
        year = 1604 if match[1] in ("--", "0000") else int(match[1])
        day = date(year, int(match[2]), int(match[3]))
        if match[4] is None:
            return Moment(f"{year:04}{day:%m%d}")
        second = min(59, int(match[6] or 0))  # 60 is a leap second
        at = datetime(year, day.month, day.day, int(match[4]), int(match[5]), second)  # noqa: DTZ001 - civil
        written = f"{year:04}{at:%m%dT%H%M%S}"
        if match[7] == "Z":
            return Moment(written, "UTC")
        return self._placed(written, match[7] or _zone_of(parameters), at)

    def _placed(self, written: str, named: str, at: datetime) -> Moment:
        if not named:
            zone = self._zone
            return Moment(written, "" if zone in (None, HOMELESS) else zone)
        if (zone := self._zones.name(named)) != HOMELESS:
            return Moment(written, zone)
        own = self._zones.own(named)
        return Moment(f"{at.replace(tzinfo=own).astimezone(UTC):%Y%m%dT%H%M%S}", HOMELESS)

    def _alarms(self, component: Component, start: Moment, end: str) -> list[int | str]:
        """Seconds before the start, or UTC times. `end` names the property of its end."""
        found: list[int | str] = []
        for alarm in component.inside:
            if alarm.kind != "VALARM" or alarm.value("ACTION").upper() == "NONE":
                continue
            parameters, value = alarm.last("TRIGGER")
            if (after := _duration(value)) is not None:
                if "RELATED=END" in parameters.upper():
                    until = self._one(component, end)
                    after += _seconds(start, until) if until else _duration(component.value("DURATION")) or 0
                found.append(-after)
                continue
            try:
                moment = self._moment(parameters, value)
            except ValueError:
                continue
            if not moment.is_date and moment.zone:
                found.append(f"{moment.utc:%Y%m%dT%H%M%S}")
        return list(dict.fromkeys(found))[:_MOST_ALARMS]


def _current(found: Iterable[tuple[FileEvent, Component]]) -> list[FileEvent]:
    """Of each event its latest version. Several of one UID that are no versions of each other are several events."""
    alike: dict[Any, list[tuple[int, datetime, FileEvent]]] = defaultdict(list)
    for event, component in found:
        version = int(component.value("SEQUENCE")) if re.fullmatch(r"[0-9]{1,9}", component.value("SEQUENCE")) else 0
        alike[tuple(event.key) if event.uid else id(event)].append((version, _stamp(component), event))
    current: list[FileEvent] = []
    sequences: dict[int, int] = {}
    for versions in alike.values():
        sequence = max(version for version, _at, _event in versions)
        stamp = max(at for version, at, _event in versions if version == sequence)
        latest = [event for version, at, event in versions if version == sequence and stamp - at <= _SAME_EXPORT]
        starts = [event.start.at if event.start else "" for event in latest]
        if len(set(starts)) > 1 and latest[0].instance is None:
            for event, start in zip(latest, starts, strict=True):
                event.key.append(start)
        sequences |= {id(event): sequence for event in latest}
        current += latest
    masters = {event.uid: event for event in current if event.uid and event.instance is None}
    left_out = {uid: {name for one in master.left_out for name in _names(one)} for uid, master in masters.items()}
    return [event for event in current if event.instance is None or _counts(event, masters, left_out, sequences)]


def _counts(
    event: FileEvent,
    masters: Mapping[str, FileEvent],
    left_out: Mapping[str, set[str | datetime]],
    sequences: Mapping[int, int],
) -> bool:
    """Whether a change of one date counts: not where a series of the same version or a later one leaves it out.

    Its own rule counts only where the file does not have the series.
    """
    assert event.instance is not None  # noqa: S101 - its callers ask
    if (master := masters.get(event.uid)) is None:
        if event.rules or event.dates:
            event.instance, event.from_here = None, False
        return True
    event.rules, event.dates, event.left_out = [], [], []
    day = event.instance.at[:8]
    named = {day, f"of {day}"} if event.instance.is_date else {day, event.instance.utc}
    return not named & left_out[event.uid] or sequences[id(event)] > sequences[id(master)]


def _names(moment: Moment) -> tuple[str | datetime, ...]:
    """What a date that is left out may be called: a day names all its times, a time its day."""
    return (moment.at,) if moment.is_date else (moment.utc, f"of {moment.at[:8]}")


def _stamp(component: Component) -> datetime:
    try:
        return datetime.fromisoformat(component.value("DTSTAMP")[:15])
    except ValueError:
        return _NEVER


def _description(component: Component) -> str:
    for name in ("DESCRIPTION", "X-ALT-DESC"):
        text = _text(component.last(name)[1][:_LONGEST_TEXT])
        if text.strip():
            return (plain.of_html(text) if plain.is_html(text) else text)[:MOST_TEXT].strip()
    return ""


def _is_all_day(component: Component, start: Moment, end: Moment | None) -> bool:
    """Whether it is written as midnight, but means the day."""
    if any(component.value(name).upper() in ("TRUE", "1") for name in _ALL_DAY):
        return True
    days, rest = divmod(_seconds(start, end) if end else _duration(component.value("DURATION")) or 0, 86_400)
    return (end is None or end.at.endswith("T000000")) and days > 0 and rest in (0, 3_600, 82_800)


def _start_of(component: Component) -> tuple[str, str]:
    return component.last("DTSTART" if "DTSTART" in component.properties else "DUE")


def _seconds(start: Moment, end: Moment) -> int:
    if start.is_date or end.is_date or not start.zone or not end.zone:
        return int((end.civil - start.civil).total_seconds())
    return int((end.utc - start.utc).total_seconds())


def _duration(value: str) -> int | None:
    """Seconds, of a DURATION; None for what is none."""
    try:
        return int(vDuration.from_ical(value.strip().upper()).total_seconds())  # type: ignore[no-untyped-call]
    except (ValueError, OverflowError):
        return None


def _zone_of(parameters: str) -> str:
    found = _ZONE.search(parameters)
    return (found[1] or found[2] or "").strip() if found else ""


def _text(value: str) -> str:
    plain_text = _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
    return _UNSAFE.sub(" ", plain_text)
