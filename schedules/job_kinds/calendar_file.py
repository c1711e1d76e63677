"""Read the events and tasks of an iCalendar file (RFC 5545): bytes in, plain values out.

It runs in a child process: no Django, one budget for a file. docs/decisions.md says what of it is left to libraries.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from common.parsing.budget import Budget, OverBudget
from schedules.job_kinds import calendar_lines, calendar_properties as properties, calendar_rules, calendar_versions
from schedules.job_kinds.calendar_lines import Component, NotACalendar
from schedules.job_kinds.calendar_values import CONVERTED, LOCAL, FileEvent, Lead, Moment
from schedules.job_kinds.calendar_zones import Zones

__all__ = ["FileEvent", "Moment", "NotACalendar", "read"]

MOST = 2_000
"""Events that are read."""
_MOST_DATES = 2_000
"""Single dates, and dates that are left out, of all events of a file."""
_MOST_ALARMS = 10
_IS_DATE = re.compile(r';\s*VALUE="?DATE"?(?:;|$)', re.IGNORECASE)
_MOMENT = re.compile(
    r"(\d{4}|--)-?(\d\d)-?(\d\d)(?:[T ]([01]\d|2[0-4]):?([0-5]\d)(?::?([0-6]\d))?(?:\.\d+)?"
    r"(Z|[+-]\d\d(?::?\d\d)?)?|Z)?(?:/.*)?",
    re.ASCII,
)
# Of an alarm of Apple's that is at none, such as at a place.
_NO_TIME = "19760401T005545"
_TEXTS = {"SUMMARY": "title", "LOCATION": "place", "URL": "url", "UID": "uid"}
# Birthdays without a year stand in 1604, and some in the year 0. The calendar repeats after 400 years, and most dates
# after 100.
_EARLIEST, _ERA, _CENTURY = 1900, 400, 100


def read(raw: bytes, content_type: str, now: datetime) -> tuple[list[FileEvent], int]:
    """Return the events, and how many more the file has than are read. `now`: which years matter.

    Raises NotACalendar, and OverBudget for a file that costs too much.
    """
    whole = calendar_lines.read(raw, content_type)
    shared = _definitions([*whole.walk()])
    dates, readers = Budget(seconds=4, items=_MOST_DATES), dict[str, _Reader]()
    read: list[tuple[FileEvent, Component]] = []
    count = 0
    for calendar in _calendars(whole):
        parts = [*calendar.walk()]
        zone = calendar.value("X-WR-TIMEZONE") or calendar.value("TIMEZONE-ID")
        method, own = calendar.value("METHOD").upper(), _definitions(parts)
        head = repr((zone, method, own))
        if head not in readers:
            readers[head] = _Reader(zone, method == "CANCEL", {**shared, **own}, now, dates)
        events = [one for one in parts if one.kind == "VEVENT" or _is_due(one)]
        read += [(readers[head].event(one), one) for one in events[: MOST - len(read)]]
        count += len(events)
    _name_tasks(read)
    return calendar_versions.current(read), count - len(read)


def _calendars(whole: Component) -> list[Component]:
    """Each calendar of the file; what stands in none of them is another one."""
    calendars = [one for one in whole.inside if one.kind == "VCALENDAR"]
    return [*calendars, Component(inside=[one for one in whole.inside if one.kind != "VCALENDAR"])]


def _name_tasks(read: Iterable[tuple[FileEvent, Component]]) -> None:
    """A task is not a version of an event with the same UID."""
    uids = {event.uid for event, one in read if one.kind == "VEVENT"}
    for event, one in read:
        if one.kind == "VTODO" and event.uid in uids:
            event.uid = event.key[0] = f"{event.uid} (task)"


def _definitions(parts: Iterable[Component]) -> dict[str, Component]:
    """The first VTIMEZONE of each name."""
    return {one.value("TZID"): one for one in reversed([*parts]) if one.kind == "VTIMEZONE"}


def _is_due(one: Component) -> bool:
    """A task that only begins at a time is due then if it has an alarm."""
    is_dated = {"DUE", "DURATION"} & one.properties.keys() or ("DTSTART" in one.properties and one.inside)
    return one.kind == "VTODO" and bool(is_dated)


class _Reader:
    """Of the events of one calendar, with the zones that its file defines."""

    def __init__(
        self, zone: str, is_cancelled: bool, definitions: Mapping[str, Component], now: datetime, dates: Budget
    ) -> None:
        self._zones, self._now, self._dates = Zones(definitions, now), now, dates
        self._named, self._zone = zone, self._zones.name(zone) if zone else ""
        self._is_cancelled = is_cancelled

    def event(self, component: Component) -> FileEvent:
        event = FileEvent()
        for name, target in _TEXTS.items():
            setattr(event, target, properties.line(*component.last(name)))
        event.text = properties.description(component)
        status = component.value("STATUS").upper()
        event.is_cancelled = self._is_cancelled or status in ("CANCELLED", "CANCELED", "COMPLETED")
        try:
            start = event.start = self._time(event, component)
            if start.zone is None:
                event.unknown_zone = properties.zone_of(properties.start_of(component)[0]) or self._named
            self._repeat(event, component, start)
        except OverBudget:
            event.problem = "too-many-dates"
        except (ValueError, OverflowError):
            event.problem = event.problem or "no-date"
        event.key = [event.uid, event.instance.at if event.instance else ""]
        if not event.uid:
            event.key += [event.starts_at, event.title]
        return event

    def _time(self, event: FileEvent, component: Component) -> Moment:
        """Its start. Raises ValueError for no date."""
        event.instance = self._one(component, "RECURRENCE-ID")
        event.from_here = "THISANDFUTURE" in component.last("RECURRENCE-ID")[0].upper()
        start = event.start = self._one(component, "DTSTART")
        if component.kind == "VTODO":
            return self._due(event, component, start)
        # A date of a series that changes in another way stays at its time.
        start = event.start = start or self._one(component, "RECURRENCE-ID")
        if start is None:
            raise ValueError("no date")
        event.alarms = self._alarms(event, component, start, "DTEND")
        if start.is_date:
            return start
        end = self._end(component, "DTEND")
        day = properties.day(component, self._local(start), end and self._local(end))
        day = day or properties.day(component, start)  # one that is marked may be one of another clock
        return Moment(day) if day else start

    def _due(self, event: FileEvent, component: Component, start: Moment | None) -> Moment:
        """Of a task counts when it is due; a repeated one keeps its start, to which its rule belongs."""
        event.is_cancelled |= "COMPLETED" in component.properties or component.value("PERCENT-COMPLETE") == "100"
        due = self._one(component, "DUE")
        if (start := start or due) is None:
            raise ValueError("no date")
        if due is None:
            length = properties.length_of(component)
            due = Moment(f"{start.civil + timedelta(seconds=length):%Y%m%dT%H%M%S}"[: len(start.at)], start.zone)
        if start.is_date and not due.is_date:
            start = Moment(f"{start.at}{due.at[8:]}", due.zone)
        length = properties.seconds(start, due)
        event.alarms = [
            one if isinstance(one, str) else (one[0], one[1] + length)
            for one in self._alarms(event, component, start, "DUE")
        ]
        if "RRULE" not in component.properties:
            return due
        event.later = length
        return start

    def _repeat(self, event: FileEvent, component: Component, start: Moment) -> None:
        event.left_out, event.dates = self._many(component, "EXDATE"), self._many(component, "RDATE")
        if "EXRULE" in component.properties:
            event.problem = "exrule"
        rules = properties.rules(component)
        if event.left_out and not event.dates and event.instance is None:
            rules = rules or [calendar_rules.ONCE]
        if not rules:
            return
        self._bring_near(start, rules)
        where = self._clock(start, rules)
        written = self._moment(*properties.start_of(component))
        if written.zone not in ("", None, "UTC", CONVERTED):
            where = ZoneInfo(written.zone)
        event.rules, to_expand = calendar_rules.plain(rules, start.civil, is_date=start.is_date, where=where)
        if start.zone == CONVERTED or to_expand:
            self._expand(event, component, start, to_expand)

    def _bring_near(self, start: Moment, rules: list[str]) -> None:
        if (year := start.civil.year) < _EARLIEST and not any("COUNT" in rule.upper() for rule in rules):
            later = year + _ERA * -((year - _EARLIEST) // _ERA)
            later -= _CENTURY * max(0, -((self._now.year - later) // _CENTURY))
            start.at = f"{later:04}{start.at[4:]}"

    def _clock(self, start: Moment, rules: list[str]) -> ZoneInfo | None:
        """The calendar's own zone. As Google means it, what repeats in UTC does so on its clock, and starts on it."""
        if self._zone in ("", None, CONVERTED):
            return None
        local = self._local(start)
        if start.zone == "UTC" and calendar_rules.is_local(rules, local.civil, start.utc):
            start.at, start.zone = local.at, local.zone
        return ZoneInfo(self._zone)

    def _local(self, moment: Moment) -> Moment:
        """One in UTC on the calendar's own clock."""
        if moment.zone != "UTC" or self._zone in ("", None, CONVERTED):
            return moment
        return Moment(f"{moment.utc.astimezone(ZoneInfo(self._zone)):%Y%m%dT%H%M%S}", self._zone)

    def _expand(self, event: FileEvent, component: Component, start: Moment, rules: list[str]) -> None:
        """Write out the dates of rules that a reminder's rule cannot say."""
        where: tzinfo | None = None
        if start.zone == CONVERTED:
            where = self._zones.own(properties.zone_of(properties.start_of(component)[0]))
            rules, event.rules = [*rules, *event.rules], []
        first = start.civil if where is None else start.utc.astimezone(where)
        self._dates.clock()
        for one in calendar_rules.expanded(first, rules, self._now):
            at = one if where is None else one.astimezone(UTC)
            event.dates.append(Moment(f"{at:%Y%m%d}" if start.is_date else f"{at:%Y%m%dT%H%M%S}", start.zone))

    def _one(self, component: Component, name: str) -> Moment | None:
        """None for an empty one. Raises ValueError for what is not a date."""
        return self._moment(*component.last(name)) if component.value(name) else None

    def _end(self, component: Component, name: str) -> Moment | None:
        """An end that cannot be read is none."""
        with suppress(ValueError, OverflowError):
            return self._one(component, name)
        return None

    def _many(self, component: Component, name: str) -> list[Moment]:
        result = []
        for parameters, values in component.properties.get(name, ()):
            for value in values.replace(";", ",").split(","):
                if any(map(str.isdigit, value)):  # "None" is none
                    self._dates.items()
                    result.append(self._moment(parameters, value))
        return result

    def _moment(self, parameters: str, value: str) -> Moment:
        if (match := _MOMENT.fullmatch(value.strip().upper())) is None:
            raise ValueError("no date")
        year = 1604 if match[1] in ("--", "0000") else int(match[1])
        day = date(year, int(match[2]), int(match[3]))
        if match[4] is None or (_IS_DATE.search(parameters) and not int(match[4] + match[5] + (match[6] or "0"))):
            return Moment(f"{year:04}{day:%m%d}")
        second = min(59, int(match[6] or 0))  # 60 is a leap second
        at = datetime.combine(day, time())
        at += timedelta(hours=int(match[4]), minutes=int(match[5]), seconds=second)  # the day ends at 24:00
        written = f"{at.year:04}{at:%m%dT%H%M%S}"
        if match[7] == "Z":
            return Moment(written, "UTC")
        return self._placed(written, match[7] or properties.zone_of(parameters), at)

    def _placed(self, written: str, named: str, at: datetime) -> Moment:
        if not (named := named or self._named):
            return Moment(written)
        if (zone := self._zones.name(named)) != CONVERTED:
            return Moment(written, zone)
        own = self._zones.own(named)
        return Moment(f"{at.replace(tzinfo=own).astimezone(UTC):%Y%m%dT%H%M%S}", CONVERTED)

    def _alarms(self, event: FileEvent, component: Component, start: Moment, end: str) -> list[Lead | str]:
        """Before the start, or times. `end` names the property of its end."""
        result = list[Lead | str | None]()
        for parameters, value in properties.triggers(component):
            if (after := properties.duration(value)) is None:
                result.append(self._alarm_at(parameters, value, component, start))
            elif "RELATED=END" in parameters.upper():
                result.append(self._after_end(after, component, start, end))
            else:
                result.append((-after[0], -after[1]))
        alarms = [one for one in dict.fromkeys(result) if one is not None]
        event.more_alarms = len(alarms[_MOST_ALARMS:])
        return alarms[:_MOST_ALARMS]

    def _after_end(self, after: Lead, component: Component, start: Moment, end: str) -> Lead:
        days, seconds = after
        if until := self._end(component, end):
            length = properties.seconds(start, until)
        else:
            length = properties.length_of(component) or properties.DAY * start.is_date
        return (-days - length // properties.DAY, -seconds) if start.is_date else (-days, -seconds - length)

    def _alarm_at(self, parameters: str, value: str, component: Component, start: Moment) -> str | None:
        """A time; None for what is not one. Without a zone, it has that of the start."""
        try:
            moment = self._moment(parameters, value)
        except (ValueError, OverflowError):
            return None
        if moment.zone == "" and start.zone:
            zone = "UTC" if start.zone == "UTC" else properties.zone_of(properties.start_of(component)[0])
            moment = self._placed(moment.at, zone, moment.civil)
        if moment.is_date or moment.zone is None or moment.at == _NO_TIME:
            return None
        return f"{moment.utc:%Y%m%dT%H%M%S}" if moment.zone else f"{moment.at} {LOCAL}"
