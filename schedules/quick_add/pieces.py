"""A line as pieces: words, numbers and phrases, each with what it can be."""

import importlib
import pkgutil
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from functools import cache
from typing import Any

from schedules.quick_add import words
from schedules.quick_add.hints import NotUnderstood
from schedules.rules.cron_text import SHORTHANDS

_CLOCK = r"\d{1,2}(?:[:.h]\d{2}(?::\d{2})?)?"
_PATTERN = rf"""
      (?P<quoted>"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»)
    | (?P<text>https?://\S+|\w[\w.+-]*@[\w.-]+\w|(?:\+\d+|\b0\d\d+)(?:[\s/-]?\d{{2,}})+|\b\d{{3}}(?:-\d{{3}})?-\d{{4}}\b|\b\d{{5,}}\b
                |(?:(?<=No\.\s)|(?<=\#))\d+)
    | (?P<shorthand>@[a-z]+\b)
    | (?P<zone>[A-Z][A-Za-z_]+(?:/[A-Za-z_]+(?:[+-]\d+)?)+)
    | (?P<offset>\b(?:GMT|UTC)\s?[+-]\s?\d{{1,2}}(?::?\d\d)?\b)
    | (?P<iso>\d{{4}}-\d{{1,2}}-\d{{1,2}}(?!\d))T?
    | (?P<slashed>\d{{1,4}}\s?/\s?\d{{1,2}}(?:\s?/\s?\d{{1,4}})?(?!\d)|\b\d{{1,2}}-\d{{1,2}}-\d{{2,4}}\b)
    | (?P<dotted>\d{{1,2}}\.\d{{1,2}}\.(?:\d{{4}}|\d{{2}}(?!\d))?)
    | (?P<half>{_CLOCK}(?:(?:SPACE(?:am|a\.\s?m\b\.?)|\s?(?:pm|p\.?\s?m\b\.?))(?!\w))
              |\b(?:\d{{1,2}}:\d\d[ap]|\d{{1,2}}p)(?!\w|\.\w))
    | (?P<clock>\d{{1,2}}[:h]\d{{2}}(?::\d{{2}})?(?!\d))
    | (?P<dot>\d{{1,2}}\.\d{{2}}(?![\d.]\d))
    | (?P<decimal>\d+[.,]\d(?!\d))
    | (?P<ordinal>\d{{1,2}}(?:(?:st|nd|rd|th|te[nrs]?)\b|[ºª°]))
    | (?P<count>\d+x\b)
    | (?P<number>\d+)
    | (?P<word>[^\W\d_]\w*(?:['’]\w+)*)
    | (?P<symbol>\S)
    """
_TOKEN = re.compile(_PATTERN.replace("SPACE", r"\s?"), re.VERBOSE | re.IGNORECASE)
# In German, "am" is a word: "9 am Freitag".
_TOKEN_GERMAN = re.compile(_PATTERN.replace("SPACE", ""), re.VERBOSE | re.IGNORECASE)
_LONGEST = 6
_YEARS = range(1900, 2200)
_UNIT_OF = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class Clock:
    """A time of day. `is_open`: of 1 to 12 without a half of the day, which `has_half` says."""

    hour: int
    minute: int = 0
    second: int = 0
    is_open: bool = False
    has_half: bool = False

    @property
    def time(self) -> time:
        return time(self.hour % 24, self.minute, self.second)


@dataclass
class Piece:
    """A part of the line with its value for each kind that it can be."""

    kinds: Mapping[str, Any]
    start: int
    end: int
    is_used: bool = False
    text: str = field(default="", repr=False)


@dataclass(frozen=True)
class Lexicon:
    phrases: Mapping[tuple[str, ...], Mapping[str, Any]]
    preambles: tuple[str, ...]
    ordinary: frozenset[str]


def fold(word: str) -> str:
    """In lower case and without accents, which many people leave out."""
    return "".join(letter for letter in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(letter))


def languages() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(words.__path__)]


@cache
def lexicon(language: str) -> Lexicon:
    """The words of English and of `language`, which go before."""
    phrases: dict[tuple[str, ...], dict[str, Any]] = {}
    preambles: list[str] = []
    ordinary: list[str] = []
    for name in ["en", language] if language in languages() else ["en"]:
        module = importlib.import_module(f"{words.__name__}.{name}")
        own: dict[tuple[str, ...], dict[str, Any]] = {}
        for kind, value, phrase in [*_entries(module.WORDS), *_compounds(module.WORDS["num"], module)]:
            own.setdefault(tuple(fold(phrase).split("_")), {})[kind] = value
        for key, kinds in own.items():
            # "am" of German is not that of "9 am".
            phrases[key] = kinds | {kind: of for kind, of in phrases.get(key, {}).items() if kind != "am"}
        preambles += module.PREAMBLES.split()
        ordinary += fold(module.ORDINARY).split()
    return Lexicon(phrases, tuple(one.replace("_", " ") for one in preambles), frozenset(ordinary))


def _entries(kinds: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    for kind, given in kinds.items():
        for value, phrases in (given if isinstance(given, Mapping) else {True: given}).items():
            for phrase in phrases.split():
                yield kind, value, phrase


def _compounds(numbers: Mapping[int, str], module: Any) -> Iterator[tuple[str, int, str]]:
    for ten in range(20, 100, 10):
        for unit in range(1, 10) if ten in numbers else ():
            for pattern in module.COMPOUNDS.split():
                number = pattern.format(ten=numbers[ten].split()[0], unit=numbers[unit].split()[-1])
                yield "num", ten + unit, number
                if pattern.startswith("{ten}") and (of := module.WORDS["ord"].get(unit)):
                    yield "ord", ten + unit, pattern.format(ten=numbers[ten].split()[0], unit=of.split()[0])


def pieces(line: str, language: str) -> list[Piece]:
    """What is in the line, the longest phrases first."""
    pattern = _TOKEN_GERMAN if language == "de" else _TOKEN
    tokens = list(pattern.finditer(line))
    phrases = lexicon(language).phrases
    folded = [fold(token[0]) for token in tokens]
    found: list[Piece] = []
    at = 0
    while at < len(tokens):
        for length in range(min(_LONGEST, len(tokens) - at), 0, -1):
            kinds = phrases.get(tuple(folded[at : at + length]))
            if kinds is not None or length == 1:
                break
        token, last = tokens[at], tokens[at + length - 1]
        touches = bool(found) and found[-1].end == token.start() and "num" in found[-1].kinds
        if kinds is None or (length == 1 and token.lastgroup not in ("word", "symbol")):
            kinds = _of_token(token, line)
        if touches and length == 1 and token.lastgroup == "word":
            if not _joins(found[-1], token, folded[at], kinds, line):
                at += 1
                continue
            kinds = _UNITS_SHORT.get(folded[at], kinds)
        found.append(Piece(kinds, token.start(), last.end(), text=line[token.start() : last.end()]))
        at += length
    return found


_UNITS_SHORT = {short: {"hmark" if short == "h" else "unit": unit} for short, unit in _UNIT_OF.items()}


def _joins(number: Piece, token: re.Match[str], word: str, kinds: Mapping[str, Any], line: str) -> bool:
    """Whether the word that touches a number is its unit; otherwise both are one word, such as "4k"."""
    if "unit" in kinds or "oclock" in kinds or "month" in kinds or word in _UNIT_OF:
        return True
    number.kinds, number.end = {}, token.end()
    number.text = line[number.start : number.end]
    return False


def _of_token(token: re.Match[str], line: str) -> Mapping[str, Any]:
    text, kind = token[0], token.lastgroup
    try:
        return _READERS[kind](text) if kind in _READERS else {}
    except ValueError:
        raise NotUnderstood("time" if kind in ("half", "clock", "dot") else "date", text) from None


def _number(text: str) -> Mapping[str, Any]:
    if len(text) > 6:
        return {}
    number = int(text)
    return {"num": number} | ({"year": number} if len(text) == 4 and number in _YEARS else {})


def _hms(text: str) -> tuple[int, int, int]:
    hour, minute, second, *_rest = [*(int(one) for one in re.findall(r"\d+", text)), 0, 0]
    return hour, minute, second


def _half(text: str) -> Mapping[str, Any]:
    hour, minute, second = _hms(text)
    if not 1 <= hour <= 12:
        raise ValueError
    return {"clock": _checked(Clock(hour % 12 + 12 * ("p" in text.lower()), minute, second, has_half=True))}


def _clock(text: str) -> Mapping[str, Any]:
    hour, minute, second = _hms(text)
    clock = _checked(Clock(hour, minute, second, is_open=1 <= hour <= 12 and text[0] != "0"))
    return {"clock": clock} | ({"hm": hour * 60 + minute} if "h" in text else {})


def _checked(clock: Clock) -> Clock:
    time(clock.hour, clock.minute, clock.second)
    return clock


def _dotted(text: str) -> Mapping[str, Any]:
    day, month, year = (int(one or 0) for one in text.split("."))
    return _ymd(year + (2000 if 0 < year < 70 else 1900) * (0 < year < 100), month, day)


def _ymd(year: int, month: int, day: int) -> Mapping[str, Any]:
    date(year or 2000, month, day)
    return {"ymd": (year, month, day)}


_READERS: dict[str, Any] = {
    "quoted": lambda text: {},
    "shorthand": lambda text: {"shorthand": text.lower()} if text.lower() in SHORTHANDS else {},
    "zone": lambda text: {"zone": text},
    "offset": lambda text: {"offset": text},
    "iso": lambda text: _ymd(*(int(one) for one in text.rstrip("Tt").split("-"))),
    "slashed": lambda text: {"slashed": text},
    "dotted": _dotted,
    "half": _half,
    "clock": _clock,
    "dot": lambda text: (
        {"dot": _clock(text)["clock"]} if int(text.split(".")[0]) < 24 and int(text[-2:]) < 60 else {"amount": text}
    ),
    "decimal": lambda text: {"decimal": float(text.replace(",", "."))},
    "ordinal": lambda text: {"nth": int(re.findall(r"\d+", text)[0])},
    "count": lambda text: {"count": int(text[:-1])},
    "number": _number,
}
# Every set of kinds that a token can have besides those of the words.
KIND_SETS = [
    set(), {"shorthand"}, {"zone"}, {"offset"}, {"ymd"}, {"slashed"}, {"clock"}, {"clock", "hm"}, {"dot"}, {"amount"},
    {"decimal"}, {"nth"}, {"count"}, {"num"}, {"num", "year"}, {"unit"}, {"hmark"},
]  # fmt: skip
