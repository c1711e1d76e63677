"""Read a cron expression in the syntax of Vixie's cron, Debian's and Quartz, and translate it for cronsim."""

import re
from dataclasses import dataclass
from functools import lru_cache

from schedules.rules import words
from schedules.rules.invalid import InvalidRule

SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


@dataclass(frozen=True)
class _Field:
    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()
    # The last value before a range wraps: 7 is Sunday again.
    turns_at: int | None = None


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day-of-month", 1, 31),
    _Field("month", 1, 12, words.MONTHS),
    _Field("day-of-week", 0, 7, (words.DAYS[6], *words.DAYS[:6]), turns_at=6),
)
_TERM = re.compile(r"(?:\*|(?P<first>[A-Z0-9]+)(?:-(?P<last>[A-Z0-9]+))?)(?:/(?!0+\Z)(?P<step>[0-9]{1,4}))?")
# The last day, its last working day, the last Friday, the second Monday: cronsim reads and says these.
_SPECIAL = {"day-of-month": re.compile(r"LW?"), "day-of-week": re.compile(r"[0-7]L|([0-7]|[A-Z]+)#[1-5]")}


@dataclass(frozen=True)
class CronText:
    """`canonical` as typed but for spaces; five fields for cronsim to read, and five for it to describe."""

    canonical: str
    fields: tuple[str, ...]
    described: tuple[str, ...]


def read(text: str) -> CronText:
    """Raises InvalidRule("expression")."""
    canonical = " ".join(text.split())
    shorthand = canonical.lower() if canonical.isascii() else canonical
    if canonical.startswith("@") and shorthand not in SHORTHANDS:
        raise InvalidRule("expression", "cron_shorthand", canonical=canonical, shorthands=", ".join(SHORTHANDS))
    if len(parts := SHORTHANDS.get(shorthand, canonical).split()) != len(_FIELDS):
        raise InvalidRule("expression", "cron_fields", text=canonical, count=len(parts))
    read_parts = []
    for number, part in enumerate(parts):
        try:
            read_parts.append(_read(number, part))
        except ValueError:
            raise bad(_FIELDS[number].name, canonical) from None
    fields, described = zip(*read_parts, strict=True)
    return CronText(canonical, fields, described)


def bad(name: str, canonical: str) -> InvalidRule:
    return InvalidRule("expression", "cron_field", canonical=canonical, name=name, range=name)


@lru_cache(maxsize=1_000)
def _read(number: int, part: str) -> tuple[str, str]:
    """A field for cronsim to read, and one for it to describe. Raises ValueError."""
    field = _FIELDS[number]
    if part == "*" or (part == "?" and field.name.startswith("day")):
        return "*", "*"
    # “ſ” and “ı” would become S and I in upper case.
    if not part.isascii():
        raise ValueError(part)
    terms, described = zip(*(_read_term(field, written) for written in part.upper().split(",")), strict=True)
    return ",".join(terms), ",".join(described)


def _read_term(field: _Field, written: str) -> tuple[str, str]:
    if (special := _SPECIAL.get(field.name)) and special.fullmatch(written):
        day, nth, which = written.partition("#")
        term = f"{_number(field, day)}#{which}" if nth else written
        return term, term
    if not (match := _TERM.fullmatch(written)):
        raise ValueError(written)
    step = int(match["step"] or 1)
    return _read_star(field, step) if match["first"] is None else _read_range(field, match, step)


def _read_star(field: _Field, step: int) -> tuple[str, str]:
    """Keep the star: by it, cronsim decides whether day of month and day of week must both match."""
    if step == 1:
        return "*", "*"
    term, listed = f"*/{step}", _values(field, field.lowest, field.highest, step)
    return term, term if _is_even(field, step, listed.count(",") + 1) else listed


def _read_range(field: _Field, match: re.Match[str], step: int) -> tuple[str, str]:
    first = _number(field, match["first"])
    if match["last"]:
        last = _number(field, match["last"])
        span = f"{first}-{last}"
    else:
        last, span = field.highest if match["step"] else first, str(first)
    listed = _values(field, first, last, step)
    if step > 1 or (match["step"] and not match["last"]):
        return listed, listed
    return span if first <= last else listed, span


def _values(field: _Field, first: int, last: int, step: int) -> str:
    if first <= last:
        values = list(range(first, last + 1, step))
    else:
        values = [*range(first, (field.turns_at or field.highest) + 1), *range(field.lowest, last + 1)][::step]
    if field.turns_at is not None and step > 1:
        values = list(dict.fromkeys(value % field.highest for value in values))
    return ",".join(map(str, values))


def _is_even(field: _Field, step: int, count: int) -> bool:
    """Whether “every n-th” describes a step, which starts again with each hour, day, month, week or year."""
    if field.name == "day-of-month":
        return count > 3
    return field.name != "day-of-week" and count > 1 and (field.highest - field.lowest + 1) % step == 0


def _number(field: _Field, written: str) -> int:
    for number, name in enumerate(field.names, field.lowest):
        if written in (name.upper(), name[:3].upper()):
            return number
    if not written.isdigit() or len(written) > 4 or not field.lowest <= int(written) <= field.highest:
        raise ValueError(written)
    return int(written)
