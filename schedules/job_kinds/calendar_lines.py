"""The lines of an iCalendar file (RFC 5545, 3.1) as components with their properties, as text. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from common.parsing.budget import Budget
from common.texts.refusal import TEXTS, Refusal, noop as _
from jobs.reading import charset

TIMES = {"DTSTART", "DTEND", "DUE", "RECURRENCE-ID", "EXDATE", "RDATE"}
_NAME = re.compile(r"[A-Za-z0-9-]+(?=\s?[;:])")
# How a line of a text begins, such as "Location: first floor".
_PROSE = re.compile(r"[A-Z][a-z]+:\s")
_LONGEST = 2_000
_LINE = re.compile(r'[^;:]+((?:;(?:[^";:]|"[^"]*")*)*):(.*)', re.DOTALL)
# The name of a zone may have a colon, also without quotes, and a time may.
_TIME_LINE = re.compile(r"[^;:]+(.*?):([0-9-]{8,10}(?:[T ][0-9:]+.*)?)", re.DOTALL)
# Some write "\r\r\n".
_FOLD = re.compile(rb"(?:\r{0,2}\n|\r)[ \t]")
# Lines of quoted-printable text, which an "=" at their end continues.
_SOFT = re.compile(
    rb"^[^:\r\n]{0,300}QUOTED-PRINTABLE[^:\r\n]{0,300}:(?:[^\r\n]*=\r?\n)+", re.IGNORECASE | re.MULTILINE
)
_END = re.compile(r"\r{0,2}\n|\r")
TEXTS.update(calendar_cut=_("This is not a whole calendar file. Export it again."))


class NotACalendar(Refusal):
    """This is not a calendar file, or it was cut off."""


@dataclass(slots=True)
class Component:
    """`properties`: by name each (parameters, value). `inside`: such as an event's alarms."""

    kind: str = ""
    properties: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    inside: list["Component"] = field(default_factory=list)
    is_whole: bool = False

    def last(self, name: str) -> tuple[str, str]:
        return self.properties[name][-1] if name in self.properties else ("", "")

    def value(self, name: str) -> str:
        return self.last(name)[1].strip()

    def walk(self) -> Iterator["Component"]:
        """Those that end, and what is in others."""
        for one in self.inside:
            if one.is_whole:
                yield one
            yield from one.walk()


def read(raw: bytes, content_type: str) -> Component:
    """Return what the file has inside, whatever stands between and after it.

    Events without a calendar around them are read, too, if all of them end. Raises NotACalendar, and OverBudget for a
    file that costs too much.
    """
    whole = Component()
    open_components, ended, budget = [whole], set[str](), Budget(seconds=4, items=500_000)
    for line in _END.split(unfolded(raw, content_type)):
        budget.items()
        if (match := None if _PROSE.match(line) else _NAME.match(line)) is None:
            _continue(open_components[-1], line)
            continue
        if (name := match[0].upper()) == "BEGIN":
            one = Component(line.partition(":")[2].strip().upper())
            open_components[-1].inside.append(one)
            open_components.append(one)
        elif name == "END":
            ended |= _end(line.partition(":")[2].strip().upper(), open_components)
        elif match := (_TIME_LINE.fullmatch(line) if name in TIMES else None) or _LINE.fullmatch(line):
            open_components[-1].properties.setdefault(name, []).append((match[1], match[2]))
    if not _is_whole(ended, open_components):
        raise NotACalendar("calendar_cut")
    return whole


def _is_whole(ended: set[str], open_components: list[Component]) -> bool:
    still_open = {one.kind for one in open_components[1:]}
    return "VCALENDAR" in ended - still_open or bool(ended & {"VEVENT", "VTODO"} and not still_open)


def _continue(component: Component, line: str) -> None:
    """Go on with a text whose line ends are not escaped."""
    if component.properties and next(reversed(component.properties)) == "DESCRIPTION":
        parameters, value = component.last("DESCRIPTION")
        if len(value) < _LONGEST:
            component.properties["DESCRIPTION"][-1] = (parameters, f"{value}\\n{line}")


def _end(kind: str, open_components: list[Component]) -> set[str]:
    """End the innermost component of this kind, and what is inside it. Returns the kind if there is one."""
    at = next((at for at in range(len(open_components) - 1, 0, -1) if open_components[at].kind == kind), None)
    if at is None:
        return set()
    for one in open_components[at:]:
        one.is_whole = True
    del open_components[at:]
    return {kind}


def unfolded(raw: bytes, content_type: str) -> str:
    """Long lines in one piece. They may be folded within a character: then its bytes go together first."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in raw[:200]:
        raw = charset.decode(raw, content_type).encode()
    if b"QUOTED-PRINTABLE" in raw.upper():
        raw = _SOFT.sub(lambda match: re.sub(rb"=\r?\n", b"", match[0]), raw)
    whole = _FOLD.sub(b"", raw)
    try:
        return charset.storable(whole.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return charset.decode(whole, content_type)
