"""The zone that a calendar means: by its name, or by the rules that the file itself gives (VTIMEZONE). Pure.

Reminders are stored with a zone of the IANA database, so one is looked for whose clock shows the same.
"""

import io
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from itertools import pairwise
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from dateutil import tz

from common.times.civil_time import known_zones as known
from schedules.job_kinds.calendar_lines import Component
from schedules.job_kinds.calendar_values import CONVERTED

_WANTED = ("DTSTART", "RRULE", "RDATE", "TZOFFSETFROM", "TZOFFSETTO")
_OFFSET = re.compile(r"(?:UTC|GMT|Z)?\s*([+-])(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE)
_DISPLAYED = re.compile(r"\((?:UTC|GMT)[^)]*\)\s*(.+)", re.IGNORECASE)
# Asked in this order, so that New York's clock is New York and not Detroit.
_FIRST = (
    "Europe/Berlin", "Europe/London", "Europe/Lisbon", "Europe/Dublin", "Europe/Athens", "Europe/Moscow",
    "Europe/Istanbul", "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles",
    "America/Phoenix", "America/Anchorage", "America/Halifax", "America/St_Johns", "America/Sao_Paulo",
    "America/Mexico_City", "America/Bogota", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Asia/Dubai",
    "Asia/Karachi", "Asia/Dhaka", "Asia/Bangkok", "Asia/Jerusalem", "Australia/Sydney", "Australia/Brisbane",
    "Australia/Adelaide", "Australia/Perth", "Pacific/Auckland", "Africa/Johannesburg", "Africa/Lagos", "UTC",
)  # fmt: skip
_SPAN = range(-1, 4)  # years from now in which clocks are compared


class Zones:
    """The zones of one file. `definitions` are its VTIMEZONEs by name, `now` tells which years matter."""

    def __init__(self, definitions: Mapping[str, Component], now: datetime) -> None:
        self._definitions, self._now = {_key(name): zone for name, zone in definitions.items()}, now
        self.name, self.own = cache(self._name), cache(self._read)

    def _read(self, written: str) -> tzinfo | None:
        """The zone as the file defines it, else as an offset in its name says."""
        return _defined(self._definitions.get(_key(written))) or _offset(written)

    def _name(self, written: str) -> str | None:
        """The IANA name, CONVERTED for a zone of the file that has none, None for an unknown one."""
        defined = self._definitions.get(_key(written))
        if name := _exact(written) or (_exact(defined.value("X-LIC-LOCATION")) if defined else None):
            return name
        if (own := self.own(written)) is not None:
            return _alike(own, self._now) or CONVERTED
        return _resembling(written)


def _exact(written: str) -> str | None:
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON  # all of the package: 2.5 MiB in each process

    plain = written.strip(' "/')
    if plain.lower() in ("coordinated universal time", "z"):
        return "UTC"
    names = _lower()
    return names.get(plain.replace(" ", "_").lower()) or names.get(WINDOWS_TO_OLSON.get(plain, "").lower())


def _resembling(written: str) -> str | None:
    """Of Outlook's and other makers' variants of a name."""
    tail = written.strip("/").split("/")
    plain = re.sub(r"\s+\d+$", "", written.strip()).replace("Daylight", "Standard").replace("Summer", "Standard")
    shown = match[1] if (match := _DISPLAYED.fullmatch(plain)) else plain
    area = re.sub(r"\s*\(.*\)$", "", shown)
    spelled = (plain, shown, area, area.replace(" Time", " Standard Time"), unquote(plain), plain.replace("-", "/"))
    for candidate in ("/".join(tail[-3:]), "/".join(tail[-2:]), tail[-1], *spelled):
        if name := _exact(candidate):
            return name
    cities = re.split(r"[,/]", shown) if match else [plain]
    return next((_cities()[key] for city in cities if (key := _key(city)) in _cities()), None)


def _key(name: str) -> str:
    return name.strip(' "').replace(" ", "_").replace("\\", "").lower()


@cache
def _lower() -> dict[str, str]:
    return {name.lower(): name for name in known()}


@cache
def _of_places() -> list[str]:
    return [name for name in sorted(known()) if "/" in name and "Etc/" not in name]


@cache
def _cities() -> dict[str, str]:
    return {name.rpartition("/")[2].lower(): name for name in _of_places()}


def _offset(written: str) -> tzinfo | None:
    if (match := _OFFSET.fullmatch(written.strip(" ()"))) is None or int(match[2]) > 14:
        return None
    ahead = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return timezone(ahead if match[1] == "+" else -ahead)


def _defined(written: Component | None) -> tzinfo | None:
    """The zone of a VTIMEZONE. What some calendars add, dateutil refuses: it is left out."""
    if written is None:
        return None
    lines = ["BEGIN:VTIMEZONE", "TZID:zone"]
    for one in written.inside:
        values = [(name, value.strip()) for name in _WANTED for _parameters, value in one.properties.get(name, ())]
        if "TZOFFSETFROM" not in one.properties:
            values.append(("TZOFFSETFROM", one.value("TZOFFSETTO")))
        lines += [f"BEGIN:{one.kind}", *(f"{name}:{_plain(value)}" for name, value in values), f"END:{one.kind}"]
    try:
        zone: tzinfo | None = tz.tzical(io.StringIO("\n".join([*lines, "END:VTIMEZONE"]))).get()
    except (ValueError, KeyError, TypeError, IndexError, OverflowError):
        return None
    return zone


def _plain(value: str) -> str:
    """A date as a midnight; a rule without what dateutil does not know in a zone."""
    value = f"{value}T000000" if re.fullmatch(r"\d{8}", value) else re.sub(r"^([+-]\d\d):(?=\d\d)", r"\1", value)
    value = re.sub(r"(?<=BYDAY=)\+?5(?=[A-Z])", "-1", value, flags=re.IGNORECASE)  # the fifth of Windows is the last
    return re.sub(r";?(?:WKST|X-[A-Z-]+)=[^;]*", "", value, flags=re.IGNORECASE)


def _alike(own: tzinfo, now: datetime) -> str | None:
    """The name of a zone whose clock shows the same in the years around now."""
    probes = _probes(own, now)
    fixed = {offset for _, offset in probes}
    if len(fixed) == 1:
        seconds = int(fixed.pop().total_seconds())
        if seconds % 3600 == 0:
            return f"Etc/GMT{-seconds // 3600:+d}" if seconds else "UTC"
    for zone in map(ZoneInfo, (*_FIRST, *_of_places())):
        if all(instant.astimezone(zone).utcoffset() == offset for instant, offset in probes):
            return zone.key
    return None


def _probes(own: tzinfo, now: datetime) -> list[tuple[datetime, timedelta]]:
    """Instants and their offsets: the middle of each month, and both sides of each change between them."""

    def offset(instant: datetime) -> timedelta:
        return instant.astimezone(own).utcoffset() or timedelta(0)

    months = [datetime(now.year + year, month, 15, tzinfo=UTC) for year in _SPAN for month in range(1, 13)]
    instants = []
    for first, last in pairwise(months):
        instants.append(first)
        if offset(first) != offset(last):
            low, high = first, last
            while high - low > timedelta(minutes=1):
                middle = low + (high - low) // 2
                low, high = (middle, high) if offset(middle) == offset(first) else (low, middle)
            instants += [low, high]
    return [(instant, offset(instant)) for instant in sorted(instants, key=lambda one: abs(one - now))]
