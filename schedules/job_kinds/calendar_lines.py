"""The lines of an iCalendar file (RFC 5545, 3.1): its events and tasks with their properties, as text. Pure."""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from common.budget import Budget
from common.refusal import Refusal, noop as _
from jobs.reading import charset

MOST = 2_000
"""Events of a file that are read."""
TIMES = {"DTSTART", "DTEND", "DUE", "RECURRENCE-ID", "EXDATE", "RDATE"}
_KINDS = ("VEVENT", "VTODO")
_NAME = re.compile(r"[A-Za-z0-9-]+(?=[;:])")
_LINE = re.compile(r'[^;:]+((?:;(?:[^";:]|"[^"]*")*)*):(.*)', re.DOTALL)
# The name of a zone may have a colon, also without quotes, and a time may.
_TIME_LINE = re.compile(r"[^;:]+(.*?):([0-9-]{8,10}(?:T[0-9:]+.*)?)", re.DOTALL)
_FOLD = re.compile(r"(?:\r\n|\n|\r)[ \t]")
_END = re.compile(r"\r\n|\n|\r")


class NotACalendar(Refusal):
    """This is no calendar file, or it was cut off."""

    def __init__(self) -> None:
        super().__init__(_("This is not a whole calendar file."))
        self.args = ()


@dataclass(slots=True)
class Component:
    """A VEVENT or VTODO: for each property its (parameters, value); its alarms likewise, with the last value alone."""

    kind: str
    properties: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    alarms: list[dict[str, tuple[str, str]]] = field(default_factory=list)

    def value(self, name: str) -> str:
        return self.properties[name][-1][1].strip() if name in self.properties else ""


@dataclass(slots=True)
class Lines:
    """What a file has. `zones`: the VTIMEZONEs by name; `zone`: that of times without one (X-WR-TIMEZONE).

    `dropped`: how many more events there are than are read.
    """

    components: list[Component] = field(default_factory=list)
    dropped: int = 0
    zones: dict[str, str] = field(default_factory=dict)
    zone: str = ""
    is_cancelled: bool = False


def read(raw: bytes, content_type: str) -> Lines:
    """Raises NotACalendar, and OverBudget for a file that costs too much."""
    scan = _Scan()
    budget = Budget(seconds=4, items=500_000)
    for line in _END.split(_unfolded(raw, content_type)):
        budget.items()
        if match := _NAME.match(line):
            scan.take(match[0].upper(), line)
    if not scan.is_whole:
        raise NotACalendar
    return scan.found


def _unfolded(raw: bytes, content_type: str) -> str:
    """Long lines in one piece. They may be folded within a character: then its bytes go together first."""
    if not raw.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" not in raw[:200]:
        whole = re.sub(rb"(?:\r\n|\n|\r)[ \t]", b"", raw)
        try:
            return whole.decode("utf-8-sig")
        except UnicodeDecodeError:
            return charset.decode(whole, content_type)
    return _FOLD.sub("", charset.decode(raw, content_type))


class _Scan:
    """Takes the lines, one by one, whatever stands between and after the components."""

    def __init__(self) -> None:
        self.found = Lines()
        self._inside: list[str] = []
        self._component: Component | None = None
        self._zone: list[str] | None = None
        self._has_begun = self._has_ended = False

    @property
    def is_whole(self) -> bool:
        """Events that stand without a calendar around them are read, too, if all of them end."""
        if self._has_begun:
            return self._has_ended and "VCALENDAR" not in self._inside
        return bool(self.found.components) and not self._inside

    def take(self, name: str, line: str) -> None:
        if name == "BEGIN" or name == "END":
            self._border(name, line.partition(":")[2].strip().upper())
        elif self._zone is not None:
            self._zone.append(line)
        elif self._component is not None:
            self._property(self._component, name, line)
        elif name == "X-WR-TIMEZONE":
            self.found.zone = self.found.zone or line.partition(":")[2].strip()
        elif name == "METHOD":
            self.found.is_cancelled = self.found.is_cancelled or line.partition(":")[2].strip().upper() == "CANCEL"

    def _border(self, name: str, what: str) -> None:
        if self._zone is not None and what != "VTIMEZONE":
            self._zone.append(f"{name}:{what}")
        elif name == "BEGIN":
            self._begin(what)
        else:
            self._end(what)

    def _begin(self, what: str) -> None:
        self._inside.append(what)
        self._has_begun = self._has_begun or what == "VCALENDAR"
        if what == "VTIMEZONE":
            self._zone = []
        elif what in _KINDS:
            self._component = Component(what)
        elif what == "VALARM" and self._component is not None:
            self._component.alarms.append({})

    def _end(self, what: str) -> None:
        if what not in self._inside:
            return
        while self._inside.pop() != what:
            pass
        if what == "VTIMEZONE" and self._zone is not None:
            named = next((line for line in self._zone if line[:4].upper() == "TZID"), "").partition(":")[2].strip()
            self.found.zones.setdefault(named, "\n".join(["BEGIN:VTIMEZONE", *self._zone, "END:VTIMEZONE"]))
            self._zone = None
        elif what in _KINDS and self._component is not None:
            self._keep(self._component)
            self._component = None
        elif what == "VCALENDAR":
            self._has_ended = True

    def _keep(self, component: Component) -> None:
        if component.kind == "VTODO" and "DUE" not in component.properties and "DURATION" not in component.properties:
            return  # a task for some day
        if len(self.found.components) < MOST:
            self.found.components.append(component)
        else:
            self.found.dropped += 1

    def _property(self, component: Component, name: str, line: str) -> None:
        match = (_TIME_LINE.fullmatch(line) if name in TIMES else None) or _LINE.fullmatch(line)
        if match is None:
            return
        if self._inside[-1] == component.kind:
            component.properties[name].append((match[1], match[2]))
        elif self._inside[-1] == "VALARM" and component.alarms:
            component.alarms[-1][name] = (match[1], match[2])
