"""Properties of a VEVENT, VTODO or VALARM, as programs write them. Pure."""

import binascii
import html
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

from jobs.reading import charset, plain
from schedules.job_kinds.calendar_lines import Component
from schedules.job_kinds.calendar_values import Lead, Moment

MOST_TEXT = 1_000
"""Characters of a text that are kept."""
_LONGEST_TEXT = 20_000
_ZONE = re.compile(r';\s*TZID=(?:"([^"]*)"|([^;]*))', re.IGNORECASE)
_ESCAPED = re.compile(r"(?:\\r)?\\([\\;,:\"nN])")
# Some write texts as HTML has them.
_ENTITY = re.compile(r"&(?:#\d{1,6}|#[xX][0-9a-fA-F]{1,5}|[A-Za-z]{2,8});")
_BASE64 = re.compile(r";\s*(?:ENCODING=)?\"?(?:BASE64|B)\"?(?:;|$)", re.IGNORECASE)
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
# RFC 5545, and as programs write it: without the T ("-P15M" has minutes: there are no months), with nothing at all,
# with no years and months, with a fraction, and with the sign at each number ("PT-1H-30M").
_DURATION = re.compile(
    r"P(?:0+Y)?(?:0+M(?=\d|T))?(?:T?(\d{1,9})W)?(?:T?(\d{1,9})D)?T?(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.\d+)?S)?",
    re.ASCII,
)
DAY = 86_400
_LONGEST_DURATION = 36_525 * DAY
# Alarms of vCalendar 1.0: a time, and what is done then.
_OLD_ALARMS = ("DALARM", "AALARM", "PALARM", "MALARM")
_ALL_DAY = ("X-MICROSOFT-CDO-ALLDAYEVENT", "X-MICROSOFT-MSNCALENDAR-ALLDAYEVENT", "X-FUNAMBOL-ALLDAY")


def triggers(component: Component) -> Iterator[tuple[str, str]]:
    for alarm in component.inside:
        if alarm.kind == "VALARM" and alarm.value("ACTION").upper() != "NONE":
            yield alarm.last("TRIGGER")
    for name in _OLD_ALARMS:
        for parameters, value in component.properties.get(name, ()):
            yield parameters, value.partition(";")[0]


def description(component: Component) -> str:
    for name in ("DESCRIPTION", "X-ALT-DESC"):
        parameters, value = component.last(name)
        text = text_of(parameters, value[:_LONGEST_TEXT])
        if text.strip():
            return (plain.of_html(text) if plain.is_html(text) else text)[:MOST_TEXT].strip()
    return ""


def line(parameters: str, value: str) -> str:
    """A title or a place, in which some programs write HTML."""
    text = text_of(parameters, value[:_LONGEST_TEXT])
    return (" ".join(plain.of_html(text, links=False).split()) if plain.is_html(text) else text)[:MOST_TEXT].strip()


def day(component: Component, start: Moment, end: Moment | None = None) -> str:
    """The day that is meant where a midnight is written, else ""."""
    marks = {component.value(name).upper() for name in _ALL_DAY}
    is_marked = bool(marks & {"TRUE", "1"})
    if not start.at.endswith("T000000"):
        # The midnight of a zone in UTC.
        return f"{start.civil + timedelta(hours=12):%Y%m%d}" if is_marked and start.zone == "UTC" else ""
    is_day = _are_days(component, start, end) and not marks & {"FALSE", "0"}
    return start.at[:8] if is_marked or is_day or (end and end.at.endswith(("T235959", "T235900"))) else ""


def _are_days(component: Component, start: Moment, end: Moment | None) -> bool:
    """Whether it takes whole days on the clock: a day on which that changes has 23 hours, or 25."""
    length = (end.civil - start.civil).total_seconds() if end else length_of(component)
    days, rest = divmod(length, DAY)
    return (end is None or end.at.endswith("T000000")) and days > 0 and rest in (0, 3_600, 82_800)


def rules(component: Component) -> list[str]:
    """A birthday without a year repeats by itself."""
    rules = [value for _, value in component.properties.get("RRULE", ()) if value.strip(" ;")]
    is_birthday = start_of(component)[1].strip().startswith(("--", "0000", "1604"))
    return rules or (["FREQ=YEARLY"] if is_birthday else [])


def start_of(component: Component) -> tuple[str, str]:
    return component.last("DTSTART" if "DTSTART" in component.properties else "DUE")


def seconds(start: Moment, end: Moment) -> int:
    if start.is_date or end.is_date or not start.zone or not end.zone:
        return int((end.civil - start.civil).total_seconds())
    return int((end.utc - start.utc).total_seconds())


def duration(value: str) -> Lead | None:
    """Days and seconds, of a DURATION; None for what is none."""
    if (match := _DURATION.fullmatch(re.sub("[-+]", "", value.strip().upper()))) is None:
        return None
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    days, seconds = 7 * weeks + days, 3_600 * hours + 60 * minutes + seconds
    if days * DAY + seconds > _LONGEST_DURATION:
        return None
    return (-days, -seconds) if "-" in value else (days, seconds)


def length_of(component: Component) -> int:
    """Seconds, of its DURATION."""
    days, seconds = duration(component.value("DURATION")) or (0, 0)
    return days * DAY + seconds


def zone_of(parameters: str) -> str:
    match = _ZONE.search(parameters)
    return (match[1] or match[2] or "").replace("\\", "").strip() if match else ""


def text_of(parameters: str, value: str) -> str:
    if "QUOTED-PRINTABLE" in parameters.upper():
        value = charset.decode(binascii.a2b_qp(value.encode()), parameters).replace("\r\n", "\n")
    elif _BASE64.search(parameters):
        with suppress(ValueError):
            raw = binascii.a2b_base64(value[: len(value) // 4 * 4])
            value = charset.decode(raw, parameters).replace("\r\n", "\n").replace("\\", "\\\\")
    plain_text = _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
    plain_text = _ENTITY.sub(lambda match: html.unescape(match[0]).replace("\xa0", " "), plain_text)
    return _UNSAFE.sub(" ", plain_text)
