"""A line as pieces: words, numbers and phrases, each with what it can be."""

import itertools
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, time
from functools import cache
from pathlib import Path
from typing import Any

from schedules.inputs.sentences.days import Clock, Day, Piece
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.rules.cron_text import SHORTHANDS

DATA = Path(__file__).with_name("data")
_LONGEST = 6
_FARTHEST = 14 * 60
_YEARS = range(1900, 2200)
# Kinds of words that tell of a time in whatever language the rest is.
_TELLING = {"weekday", "plural", "every", "adverb", "workdays"}
# From here on, a year of two digits may be of the last century.
_NEXT_CENTURY = 40
_UNIT_OF = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_FRACTIONS = {"1/2": 0.5, "1/4": 0.25, "3/4": 0.75}


@dataclass(frozen=True)
class Lexicon:
    """The words of English and of a language, which go before. `foreign` are words of other languages' times."""

    phrases: Mapping[tuple[str, ...], Mapping[str, Any]]
    preambles: tuple[str, ...]
    ordinary: frozenset[str]
    foreign: frozenset[str]
    token: re.Pattern[str]


def fold(word: str) -> str:
    """In lower case and without accents, which many people leave out."""
    return "".join(letter for letter in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(letter))


def languages() -> list[str]:
    return sorted(path.stem for path in DATA.glob("*.toml"))


@cache
def lexicon(language: str) -> Lexicon:
    phrases: dict[tuple[str, ...], dict[str, Any]] = {}
    preambles: list[str] = []
    ordinary: list[str] = []
    spoken = ["en", language] if language in languages() else ["en"]
    for name in spoken:
        data = _data(name)
        own: dict[tuple[str, ...], dict[str, Any]] = {}
        for kind, value, phrase in _entries(data):
            own.setdefault(tuple(fold(phrase).split("_")), {}).update(_kinds(kind, value, phrase))
        for key, kinds in own.items():
            # "am" of German is not that of "9 am".
            phrases[key] = kinds | {kind: of for kind, of in phrases.get(key, {}).items() if kind != "am"}
        preambles += data["preambles"]
        ordinary += fold(data["ordinary"]).split()
    pattern = "|".join(f"(?P<{kind}>{text})" for kind, text in definitions("tokens"))
    token = re.compile(pattern.replace("GAP", r"\s?" if "am" in phrases[("am",)] else ""), re.IGNORECASE)
    others = (entry for name in languages() if name not in spoken for entry in _entries(_data(name)))
    foreign = {fold(phrase) for kind, _, phrase in others if kind in _TELLING and len(phrase) > 3}
    return Lexicon(phrases, tuple(preambles), frozenset(ordinary), frozenset(foreign), token)


def definitions(name: str) -> Iterator[tuple[str, str]]:
    """The lines "name: text" of a file of the grammar, with what its words in capitals stand for."""
    short: dict[str, str] = {}
    for line in (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        line = re.sub(r"\b[A-Z]+\b", lambda word: short.get(word[0], word[0]), line)
        if definition := re.fullmatch(r"([A-Z]+) = (.*)", line):
            short[definition[1]] = definition[2]
        elif line and not line.startswith("#"):
            kind, _, text = line.partition(": ")
            yield kind, text


def _data(language: str) -> Mapping[str, Any]:
    return tomllib.loads((DATA / f"{language}.toml").read_text(encoding="utf-8"))


def _entries(data: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    tables: dict[str, dict[str, str]] = {kind: {"": words} for kind, words in data["words"].items()}
    tables |= {kind: of for kind, of in data.items() if isinstance(of, dict) and kind != "words"}
    joined = tables.pop("joined", {})
    for kind, table in tables.items():
        for value, words in table.items():
            for word in words.split():
                endings = data["endings"].split() if word[1:].endswith("~") else ["~"]
                yield from ((kind, _value(value), word[:-1] + end if end != "~" else word) for end in endings)
    yield from _compounds(data["compounds"].split(), tables["num"], tables["ord"])
    for words in joined.values():
        for names in tables["weekday"].values():
            yield from (("joined", len(name), name + word) for name in names.split() for word in words.split())


def _compounds(
    patterns: list[str], numbers: dict[str, str], ordinals: dict[str, str]
) -> Iterator[tuple[str, int, str]]:
    """The numbers over twenty that are made of two words."""
    for ten, unit in itertools.product(range(20, 100, 10), range(1, 10)):
        tens, units = numbers.get(str(ten), ""), numbers.get(str(unit), "")
        for pattern in patterns if tens and units else ():
            yield from (("num", ten + unit, pattern.format(ten=tens.split()[0], unit=one)) for one in units.split())
            if pattern.startswith("{ten}") and (last := ordinals.get(str(unit))):
                yield "ord", ten + unit, pattern.format(ten=tens.split()[0], unit=last.split()[0])


def _value(key: str) -> Any:
    """The value of a word, as its table says: "3", "1.5", "2 weeks" or a name."""
    if not re.match(r"-?\d", key) or key[2:3] == "-":
        return key or True
    number, _, unit = key.partition(" ")
    value = float(number) if "." in number else int(number)
    return (value, unit) if unit else value


def _kinds(kind: str, value: Any, phrase: str) -> Mapping[str, Any]:
    """Some kinds have narrower ones, for the grammar."""
    if kind == "num":
        return _number(value, "spelt" if phrase.isalpha() else "num")
    if kind in ("unit", "part"):
        return {kind: value, value: value}
    return {kind: (Clock(value),) if kind == "named" else value}


def _number(number: int, written: str) -> dict[str, Any]:
    found: dict[str, Any] = {"num": number, written: number}
    found |= {"dom": number} if 1 <= number <= 31 else {}
    found |= {"late": number} if 13 <= number <= 31 else {}
    found |= {"mins": number} if 10 <= number < 60 else {}
    found |= {"hod": (Clock(number, is_open=1 <= number <= 12),)} if number < 24 else {}
    if written == "spelt":
        found |= {f"spelt{kind}": found[kind] for kind in ("hod", "mins") if kind in found}
    return found


def pieces(line: str, language: str) -> list[Piece]:
    """What is in the line, the longest phrases first."""
    known = lexicon(language)
    tokens = list(known.token.finditer(line))
    folded = [fold(token[0]) for token in tokens]
    found: list[Piece] = []
    at = 0
    while at < len(tokens):
        for length in range(min(_LONGEST, len(tokens) - at), 0, -1):
            kinds = known.phrases.get(tuple(folded[at : at + length]))
            if kinds is not None or length == 1:
                break
        token, last = tokens[at], tokens[at + length - 1]
        touches = bool(found) and found[-1].end == token.start() and "num" in found[-1].kinds
        if kinds is None or (length == 1 and token.lastgroup not in ("word", "symbol")):
            kinds = _of_token(token)
        if touches and length == 1 and token.lastgroup == "word":
            if not kinds.keys() & {"unit", "oclock", "month"} and folded[at] not in _UNIT_OF:
                # Both are one word, such as "4k".
                found[-1] = Piece({}, found[-1].start, token.end(), line[found[-1].start : token.end()])
                at += 1
                continue
            kinds = SHORT_UNITS.get(folded[at], kinds)
        at += length
        start, end = token.start(), last.end()
        cut = start + kinds.get("joined", 0)
        for part in (line[start:cut], line[cut:end]) if cut > start else ():
            found.append(Piece(known.phrases[fold(part),], start, start + len(part), part))
            start = cut
        if cut == token.start():
            found.append(Piece(kinds, start, end, line[start:end]))
    return found


SHORT_UNITS: Mapping[str, Mapping[str, Any]] = {
    short: {"hmark": unit} if short == "h" else {"unit": unit, unit: unit} for short, unit in _UNIT_OF.items()
}


def _of_token(token: re.Match[str]) -> Mapping[str, Any]:
    text, kind = token[0], token.lastgroup
    try:
        return _READERS[kind](text) if kind in _READERS else {}
    except ValueError:
        codes = {"half": "time", "clock": "time", "dot": "time", "offset": "zone"}
        raise NotUnderstood(codes.get(str(kind), "date"), text) from None


def _digits(text: str) -> dict[str, Any]:
    number = int(text) if len(text) < 7 else -1
    found = _number(number, "digits") if number >= 0 else {}
    found |= {"year": number} if len(text) == 4 and number in _YEARS else {}
    is_time = 100 <= number < 2400 and number % 100 < 60 and len(text) < 5
    return found | (_clock(f"{text[:-2]}:{text[-2:]}", "hhmm") if is_time else {})


def _hms(text: str) -> tuple[int, int, int]:
    hour, minute, second, *_rest = [*(int(one) for one in re.findall(r"\d{1,2}(?=(?:\d\d)?(?!\d))", text)), 0, 0]
    time(hour, minute, second)
    return hour, minute, second


def _half(text: str) -> Mapping[str, Any]:
    hour, minute, second = _hms(text)
    if not 1 <= hour <= 12:
        raise ValueError
    return {"clock": (Clock(hour % 12 + 12 * ("p" in text.lower()), minute, second, has_half=True),)}


def _clock(text: str, kind: str = "clock") -> dict[str, Any]:
    hour, minute, second = _hms(text)
    clock = Clock(hour, minute, second, is_open=1 <= hour <= 12 and text[0] != "0")
    return {kind: (clock,)} | ({"hm": hour * 60 + minute} if "h" in text else {})


def _dot(text: str) -> Mapping[str, Any]:
    """A time of day, a date or an amount."""
    day, month = (int(one) for one in text.split("."))
    found = _clock(text, "dot") if day < 24 and month < 60 else {"amount": text}
    with suppress(ValueError):
        found = {**found, "dotdate": _ymd(0, month, day)["ymd"]}
    return found


def _offset(text: str) -> Mapping[str, Any]:
    """In minutes."""
    sign, hours, minutes = re.findall(r"([+-])\s?(\d{1,2}):?(\d\d)?", text)[0]
    if (offset := int(hours) * 60 + int(minutes or 0)) > _FARTHEST:
        raise ValueError
    return {"offset": -offset if sign == "-" else offset}


def _slashed(text: str) -> Mapping[str, Any]:
    """A date that can be read in one way only, or else one to ask about."""
    numbers = [int(one) for one in re.findall(r"\d+", text)]
    if len(numbers) == 2 and max(numbers) in _YEARS:
        month, year = sorted(numbers)
        return {"ymd": Day(month=month, year=year)} if 1 <= month <= 12 else {"slashed": []}
    if numbers[0] > 31:
        return _ymd(numbers[0], *numbers[1:]) if len(numbers) == 3 else {"slashed": []}
    found = []
    for month, day in (numbers[:2], numbers[1::-1]):
        with suppress(ValueError):
            found.append(_ymd(sum(numbers[2:]), month, day))
    is_last_century = len(numbers) == 3 and _NEXT_CENTURY <= numbers[2] < 100
    if found and found[0] == found[-1] and not is_last_century:
        return found[0]
    days = [one["ymd"] for one in found]
    return {"slashed": days} | ({"fraction": _FRACTIONS[text]} if text in _FRACTIONS else {})


def _ymd(year: int, month: int, day: int) -> Mapping[str, Any]:
    year += (2000 if year < 70 else 1900) * (0 < year < 100)
    date(year or 2000, month, day)
    return {"ymd": Day(year=year, month=month, day=day)}


_READERS: Mapping[str | None, Any] = {
    "shorthand": lambda text: {"shorthand": text.lower()} if text.lower() in SHORTHANDS else {},
    "zonename": lambda text: {"zonename": text},
    "offset": _offset,
    "iso": lambda text: _ymd(*(int(one) for one in text.rstrip("Tt").split("-"))),
    "slashed": _slashed,
    "dotted": lambda text: _ymd(*(int(one or 0) for one in reversed(text.split(".")))),
    "half": _half,
    "clock": _clock,
    "dot": _dot,
    "decimal": lambda text: {"decimal": float(text.replace(",", "."))},
    "ordinal": lambda text: {"nth": int(re.findall(r"\d+", text)[0])},
    "count": lambda text: {"count": int(text[:-1])},
    "number": _digits,
}
# Every set of kinds that a token can have besides those of the words.
_ALONE = ("shorthand", "zonename", "offset", "ymd", "slashed", "clock", "dot", "amount", "decimal", "nth", "count")
KIND_SETS: list[set[str]] = [
    set(), *({kind} for kind in _ALONE), {"clock", "hm"}, {"slashed", "fraction"},
    {"dot", "dotdate"}, {"amount", "dotdate"},
    *(set(of) for of in SHORT_UNITS.values()),
    *(set(_digits(text)) for text in ("0", "1", "10", "13", "24", "32", "60", "130", "2026", "2060")),
]  # fmt: skip
