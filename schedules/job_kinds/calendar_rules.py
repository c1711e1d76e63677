"""The RRULEs of a calendar: as a reminder's rule says them, or written out in dates where it cannot. Pure."""

import re
import warnings
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

_MOST_EXPANDED = 500
_AHEAD = timedelta(days=5 * 366)
_SHORTEST = 28
_COARSE = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_OF_THE_DAY = ("BYHOUR", "BYMINUTE", "BYSECOND")
_MOST_COUNTED = 10_000
ONCE = "FREQ=DAILY;COUNT=1"
_FOREVER = re.compile(r"99\d\d|[A-Z]+\Z")
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
# vCalendar 1.0: of each kind of rule the frequency, the part that its values are, and how one of these looks.
_OLD_RULE, _OLD_END = re.compile(r"(D|W|MP|MD|YM|YD)(\d{1,3})((?: .+)?)"), re.compile(r"\d{8}(?:T\d{6}Z?)?")
_OLD_RULES = {
    "D": ("DAILY", "", re.compile("$")),
    "W": ("WEEKLY", "BYDAY", re.compile("|".join(_DAYS))),
    "MP": ("MONTHLY", "BYDAY", re.compile(rf"\d[+-]?|{'|'.join(_DAYS)}")),
    "MD": ("MONTHLY", "BYMONTHDAY", re.compile(r"\d{1,2}[+-]?|LD")),
    "YM": ("YEARLY", "BYMONTH", re.compile(r"\d{1,2}")),
    "YD": ("YEARLY", "BYYEARDAY", re.compile(r"\d{1,3}")),
}


def plain(
    written: list[str], start: datetime, *, is_date: bool, where: ZoneInfo | None = None
) -> tuple[list[str], list[str]]:
    """The rules in the parts that `schedules.rules.rrule_text` knows, and those that must be expanded.

    Any other part in the first is refused there, by name. Of a day's rule, times are dropped;
    `where`: on whose clock its UNTIL is a day, if the file names it.
    """
    plain_rules: list[str] = []
    to_expand: list[str] = []
    for rule in dict.fromkeys(_in_words(one, start) for one in written):
        parts = _parts(rule, is_date, where)
        if "BYWEEKNO" in parts and not parts.keys() & {"BYDAY", "BYMONTHDAY", "BYYEARDAY"}:
            parts["BYDAY"] = _DAYS[start.weekday()]
        _skip(parts, start)
        if parts.get("BYSECOND", "?").zfill(2) in ("00", f"{start.second:02}"):
            del parts["BYSECOND"]
        text = ";".join(f"{name}={value}" for name, value in parts.items())
        needs_help = parts.keys() & {"BYWEEKNO", "BYEASTER", "BYSECOND"} or {"COUNT", "UNTIL"} <= parts.keys()
        (to_expand if needs_help and _is_short(parts) else plain_rules).append(text)
    return plain_rules, to_expand


def _in_words(rule: str, start: datetime) -> str:
    """A rule of vCalendar 1.0, such as "MP2 1+ MO #6", as RFC 5545 writes it; any other as it is."""
    if (match := _OLD_RULE.fullmatch(rule.strip().upper())) is None:
        return rule
    kind, interval, words = match[1], match[2], match[3].split()
    ends = [word for word in words if word[0] == "#" or _OLD_END.fullmatch(word)]
    values = [word for word in words if word not in ends]
    frequency, name, value = _OLD_RULES[kind]
    if not all(value.fullmatch(one) for one in values):
        return rule
    signed = _numbered(values, start) if kind == "MP" else [_signed(one) for one in values]
    by = [f"{name}={','.join(signed)}"] if signed else []
    # Without an end, it comes twice; "#0" is for ever.
    ended = [f"COUNT={one[1:]}" if one[0] == "#" else f"UNTIL={one}" for one in ends or ["#2"] if one != "#0"]
    return ";".join([f"FREQ={frequency}", f"INTERVAL={interval}", *by, *ended])


def _signed(value: str) -> str:
    """ "2-" counts from the end, and "LD" is the last day."""
    return f"-{value[:-1]}" if value[-1] == "-" else "-1" if value == "LD" else value.rstrip("+")


def _numbered(values: list[str], start: datetime) -> list[str]:
    """The weekdays, each with the number in front of it; by itself, that of the start."""
    number, days = str((start.day + 6) // 7), []
    for one in map(_signed, values or [_DAYS[start.weekday()]]):
        if one in _DAYS:
            days.append(number + one)
        else:
            number = one
    return days


def _parts(rule: str, is_date: bool, where: ZoneInfo | None) -> dict[str, str]:
    written = rule.upper().replace(" ", "").removeprefix("RRULE:")
    parts: dict[str, str] = {}
    for name, _, value in (part.partition("=") for part in written.split(";") if part):
        if _is_meant(name, value, is_date):  # a list may be in two parts
            parts[name] = f"{parts[name]},{value}" if name in parts and name.startswith("BY") else value
    if parts.get("FREQ") in ("DAILY", "WEEKLY") and "BYDAY" in parts:
        # Some number the days of weeks, too. As dateutil and Google read it, that says nothing.
        parts["BYDAY"] = ",".join(dict.fromkeys(day.lstrip("+-0123456789") for day in parts["BYDAY"].split(",")))
    if "UNTIL" in parts:
        until = _until(parts["UNTIL"])
        parts["UNTIL"] = _day(until, where) if is_date else until
    if _is_endless(parts):
        del parts["COUNT"]
    if parts.get("INTERVAL") == "0":
        parts["INTERVAL"] = "1"
    return parts


def _is_meant(name: str, value: str, is_date: bool) -> bool:
    if (name, value) == ("RSCALE", "GREGORIAN") or (is_date and name in _OF_THE_DAY):
        return False
    if name == "UNTIL" and _FOREVER.match(value):
        return False
    return not name.startswith("X-") and (bool(value) or name == "FREQ")


def _until(written: str) -> str:
    """The same in the only notation of RFC 5545; what is none stays."""
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        return written
    if "T" not in written:
        return f"{at:%Y%m%d}"
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%S}Z" if at.tzinfo else f"{at:%Y%m%dT%H%M%S}"


def _day(until: str, where: ZoneInfo | None) -> str:
    """The day that a time in UTC means as the last one. As Exchange writes it, it is the midnight of a zone."""
    if (match := re.fullmatch(r"(\d{8})T(\d\d)(\d\d)(\d\d)Z", until)) is None or match[2] + match[3] == "0000":
        return until[:8]
    at = datetime.strptime(until, "%Y%m%dT%H%M%S%z")
    if where is not None:
        at = at.astimezone(where)
    elif match[2] > "12" and match[3] in ("00", "30", "45"):
        at += timedelta(hours=12)
    return f"{at:%Y%m%d}"


def is_local(written: list[str], local: datetime, utc: datetime) -> bool:
    """Whether the rules of a series in UTC may be meant on a clock that shows `local` at its start."""
    for rule in written:
        parts = _parts(rule, False, None)
        days = [day.lstrip("+-0123456789") for day in parts.get("BYDAY", "").split(",")]
        dates = parts.get("BYMONTHDAY", str(local.day)).split(",")
        names_day = (days == [""] or _DAYS[local.weekday()] in days) and str(local.day) in dates
        if "BYHOUR" in parts or (local.date() != utc.date() and not names_day):
            return False
    return True


def _is_endless(parts: dict[str, str]) -> bool:
    """Some programs write "for ever" as a number."""
    is_large = _count(parts) > _MOST_COUNTED and parts.get("FREQ") in _COARSE
    return is_large or parts.get("COUNT", "").startswith("-")


def _is_short(parts: dict[str, str]) -> bool:
    """Whether it has few enough dates to expand it: it is daily or rarer, or its COUNT is small."""
    frequency = parts.get("FREQ")
    return frequency in _COARSE or (frequency != "SECONDLY" and 0 < _count(parts) <= _MOST_COUNTED)


def _count(parts: dict[str, str]) -> int:
    """0 where it has none."""
    count = parts.get("COUNT", "")
    return int(count[:9]) if count.isdecimal() else 0


def _skip(parts: dict[str, str], start: datetime) -> None:
    """RFC 7529: what becomes of a day that a month does not have. By itself, it is left out."""
    days, frequency = parts.get("BYMONTHDAY", str(start.day)), parts.get("FREQ")
    match parts.get("SKIP"):
        case None:
            pass
        case skip if skip == "OMIT" or not _may_lack(parts, days):
            del parts["SKIP"]
        case "BACKWARD" if days.isdigit() and not parts.keys() & {"BYSETPOS", "BYYEARDAY", "BYWEEKNO"}:
            # The latest of these days that the month has.
            del parts["SKIP"]
            parts["BYMONTHDAY"] = ",".join(str(day) for day in range(_SHORTEST, int(days) + 1))
            parts["BYSETPOS"] = "-1"
            if frequency == "YEARLY":
                parts.setdefault("BYMONTH", str(start.month))
        case "FORWARD" if (frequency, start.month, start.day, days) == ("YEARLY", 2, 29, "29"):
            for name in ("SKIP", "BYMONTH", "BYMONTHDAY"):
                parts.pop(name, None)
            parts["BYYEARDAY"] = "60"  # 29 February, or 1 March


def _may_lack(parts: dict[str, str], days: str) -> bool:
    """Whether some month does not have one of these days."""
    if parts.get("FREQ") not in ("MONTHLY", "YEARLY") or "BYDAY" in parts:
        return False
    if "366" in parts.get("BYYEARDAY", ""):
        return True
    return not all(day.lstrip("+-").isdigit() and abs(int(day)) <= _SHORTEST for day in days.split(","))


def expanded(start: datetime, rules: list[str], now: datetime) -> list[datetime]:
    """The next dates of the rules, by the library. Raises ValueError for rules that it cannot read."""
    import icalendar  # few calendars need them, and they take 5 MiB
    import recurring_ical_events

    event = icalendar.Event()
    event.add("DTSTART", start)
    for rule in rules:
        event.add("RRULE", icalendar.vRecur.from_ical(rule))
    calendar = icalendar.Calendar()
    calendar.add_component(event)
    begin = now.astimezone(start.tzinfo) if start.tzinfo else now.replace(tzinfo=None)
    begin -= timedelta(days=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # COUNT beside UNTIL
        result = (one["DTSTART"].dt for one in recurring_ical_events.of(calendar).after(begin))
        return list(takewhile(lambda time: time < begin + _AHEAD, islice(result, _MOST_EXPANDED)))
