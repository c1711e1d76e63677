"""The composer of ordinary reminders: the person's own words, with the placeholders that we know filled in."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

import regex

from common import zones

# User text never reaches a template engine or str.format: only these names, and nothing nested in them.
NAMES = ("name", "slot", "date", "time", "schedule")
_THERE_ARE = f"There are {', '.join(f'{{{name}}}' for name in NAMES[:-1])} and {{{NAMES[-1]}}}."
PLACEHOLDER = re.compile(rf"\{{({'|'.join(NAMES)})\}}")

LONGEST_SUBJECT = 200
MOST_PROBLEMS = 10

_MEANT_FOR_ONE = re.compile(r"\{([A-Za-z][A-Za-z0-9_.-]{0,40})\}")


@dataclass(frozen=True, slots=True)
class Text:
    subject: str
    body: str


def compose(title: str, body: str, *, name: str, slot: datetime, time_zone: str) -> Text:
    """Fill in the placeholders, instants in `time_zone`; anything else in braces stays as it was typed."""
    local = slot.astimezone(zones.read(time_zone))
    date, hour = f"{local:%A} {local.day} {local:%B %Y}", f"{local:%H:%M}"
    values = {"name": name, "slot": f"{date}, {hour}", "date": date, "time": hour, "schedule": title}
    subject = _fill(title, values | {"schedule": ""})
    return Text(fit(" ".join(subject.split()), LONGEST_SUBJECT).text or "Reminder", _fill(body, values))


def check(template: str) -> list[str]:
    """Return what is wrong with a title or body: a sentence for each of the first ten placeholders that do not exist.

    Check the length first.
    """
    problems: list[str] = []
    seen = set(NAMES)
    for match in _MEANT_FOR_ONE.finditer(template):
        if (word := match[1]) in seen:
            continue
        if len(problems) == MOST_PROBLEMS:
            break
        seen.add(word)
        near = get_close_matches(word.lower(), NAMES, n=1)
        guess = f"Did you mean {{{near[0]}}}? " if near else ""
        problems.append(
            f"{{{word}}} is no placeholder. {guess}{_THERE_ARE} A blank within the braces leaves it as it is."
        )
    return problems


def _fill(text: str, values: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)


# Making a text fit: cut at a service's limit with a mark, never within a character that a person sees. Pure.
MARK = "…"


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a service is given. `length` is in the unit that the service counts; `limit` is None where there is none."""

    text: str
    length: int
    limit: int | None = None
    cut: bool = False


def utf16(text: str) -> int:
    """Return the length in UTF-16 code units, in which an emoji counts at least twice."""
    return len(text.encode("utf-16-le")) // 2


def utf8(text: str) -> int:
    """Return the length in bytes of UTF-8."""
    return len(text.encode())


def fit(
    text: str,
    limit: int | None,
    measure: Callable[[str], int] = len,
    escape: Callable[[str], str] = str,
    foot: str = "",
) -> Fitted:
    """Return `text`, escaped, at most `limit` long as `measure` counts it once escaped.

    What is too long ends in “…” after the last whole grapheme cluster (UAX 29) that fits, so neither an escape nor an
    emoji of several code points is ever halved. Halves of surrogate pairs, which no service takes, become U+FFFD.
    `foot` stands whole beneath the text, whatever is cut; one that takes more than half of the room is left off.
    """
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    end_of_it = escape(f"\n\n{foot}" if text.strip() else foot) if foot else ""
    if limit is not None and measure(end_of_it) > limit // 2:
        end_of_it = ""
    whole = escape(text) + end_of_it
    length = measure(whole)
    if limit is None or length <= limit:
        return Fitted(whole, length, limit)

    def cut(end: int) -> str:
        return escape(text[:end].rstrip()) + MARK + end_of_it

    ends = [0, *(match.end() for match in regex.finditer(r"\X", text[:limit]))]
    if len(ends) == 2:
        # One endless cluster, of a letter under thousands of accents: better some of it than nothing.
        ends = list(range(ends[1] + 1))
    # The last cluster may go on beyond the slice, and a mark takes room: neither end of the slice fits.
    position = bisect_left(ends, True, hi=len(ends) - 1, key=lambda end: measure(cut(end)) > limit)
    end = ends[max(0, position - 1)]
    kept = cut(end)
    return Fitted(kept, measure(kept), limit, cut=True)
