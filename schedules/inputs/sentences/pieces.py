"""A line as pieces: words, numbers and phrases, each with what it can be."""

import itertools
import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
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
LONGEST = 300
"""Of a line, in characters."""
_MOST_WORDS = 6
# Kinds of pieces that are not times where a dash joins a word to them, as in "first-aid".
_FIRST_OF_TWO = {"num", "ord", "half", "quarter", "unit", "vague"}
_FUZZY = {"every", "adverb", "weekday", "month", "rel", "part", "plural", "tonight", "over", "weakmonth"}
_FARTHEST = 14 * 60
_YEARS = range(1900, 2200)
# Kinds of words that mean a time in whatever language the rest is.
_FOREIGN = {"weekday", "plural", "every", "adverb", "workdays", "monfris"}
# From here on, a year of two digits may be of the last century.
_NEXT_CENTURY = 40
# Digits and marks of East Asia's keyboards, hyphens of word processors, and what is not seen.
_PLAIN: dict[int, int | None] = {wide: wide - 0xFEE0 for wide in range(0xFF0D, 0xFF1B)}
_PLAIN |= str.maketrans("\u2010\u2011\u2212", "---", "\u00ad\u200b\u200e\u200f\u2060\ufeff")
_ALIKE = str.maketrans("–—’", "--'")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_FRACTIONS = {"1/2": 0.5, "1/4": 0.25, "3/4": 0.75}
# They have every set of kinds that a token can have besides those of the words.
_SAMPLES = """5km @daily Asia/Tokyo UTC+1 2026-12-24 10/12 13/13 1/2 31.12.2026 24.12. 9am 9:00 9h30 9.10 23.13 31.12
31.99 9'30 1.5 3rd 5x 0 00 01 1 10 13 24 32 60 130 2026 2060"""


@dataclass(frozen=True)
class Lexicon:
    """The words of English and of a language, which go before. `foreign` are words of other languages' times.

    `spelling` has a phrase as it is written, by how it is folded; `fuzzy` are single words that may be misspelt.
    """

    phrases: Mapping[tuple[str, ...], Mapping[str, Any]]
    fuzzy: Mapping[str, Mapping[str, Any]]
    preambles: tuple[str, ...]
    ordinary: frozenset[str]
    foreign: frozenset[str]
    spelling: Mapping[str, str]
    token: re.Pattern[str]
    plural: re.Pattern[str]
    has_dotted_days: bool
    has_capital_nouns: bool

    def kind_sets(self) -> Iterator[frozenset[str]]:
        """Every set of kinds that a piece can have by itself."""
        tokens = map(self.kinds, self.token.finditer(_SAMPLES))
        return map(frozenset, [{}, *self.phrases.values(), *tokens])

    def kinds(self, token: re.Match[str]) -> Mapping[str, Any]:
        kinds = _of_token(token)
        return {**kinds, "dotday": kinds["dotdate"]} if self.has_dotted_days and "dotdate" in kinds else kinds


def clean(line: str) -> str:
    """In one form of each letter, as some systems write "ü" in two, with single spaces. Cut if it is far too long."""
    plain = " ".join(line.translate(_PLAIN).split())
    # To sort n marks of one letter takes n² steps. A letter has four characters at most.
    return unicodedata.normalize("NFC", plain[: 4 * LONGEST + 1])


def fold(word: str) -> str:
    """In lower case, without accents, which many people leave out. The "ñ" of "mañ" stays: it is not "man"."""
    word = unicodedata.normalize("NFD", word.lower().translate(_ALIKE))
    return re.sub(r"(?!\u0303)[\u0300-\u036f]|\u0303(?=[^\W\d_])", "", word)


def languages() -> list[str]:
    return sorted(path.stem for path in DATA.glob("*.toml"))


@cache
def lexicon(language: str) -> Lexicon:
    spoken = [name for name in dict.fromkeys(("en", language)) if name in languages()]
    data = [_data(name) for name in spoken]
    phrases = _phrases(spoken)
    return Lexicon(
        phrases,
        _fuzzy(phrases),
        tuple(fold(preamble) for of in data for preamble in of["preambles"]),
        frozenset(fold(" ".join(of["ordinary"] for of in data)).split()),
        frozenset(_foreign(spoken)),
        {fold(phrase): phrase for of in data for _, _, phrase in _entries(of)},
        _token(r"\s?" if "am" in phrases["am",] else "", data[-1]),
        re.compile(data[-1].get("plurals", "(?!)"), re.IGNORECASE),
        data[-1].get("dotted_days", False),
        data[-1].get("capital_nouns", False),
    )


@cache
def _data(language: str) -> Mapping[str, Any]:
    return tomllib.loads((DATA / f"{language}.toml").read_text(encoding="utf-8"))


def _phrases(spoken: Iterable[str]) -> Mapping[tuple[str, ...], Mapping[str, Any]]:
    """The kinds of each phrase of these languages, with their values; those of the last go before."""
    phrases: dict[tuple[str, ...], dict[str, Any]] = {}
    for name in spoken:
        own: dict[tuple[str, ...], dict[str, Any]] = {}
        for kind, value, phrase in _entries(_data(name)):
            own.setdefault(tuple(fold(phrase).split("_")), {}).update(_kinds(kind, value, phrase))
        for key, kinds in own.items():
            # "am" of German is not that of "9 am".
            phrases[key] = kinds if key == ("am",) else phrases.get(key, {}) | kinds
    return phrases


def _fuzzy(phrases: Mapping[tuple[str, ...], Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    return {word: kinds for (word, *more), kinds in phrases.items() if not more and kinds.keys() & _FUZZY}


def _foreign(spoken: Collection[str]) -> Iterator[str]:
    """The words of the other languages that stand for a time, also in a line of these."""
    entries = (entry for name in languages() if name not in spoken for entry in _entries(_data(name)))
    return (fold(phrase) for kind, _, phrase in entries if kind in _FOREIGN and len(phrase) > 3)


def _token(gap: str, data: Mapping[str, Any]) -> re.Pattern[str]:
    """`gap` may be between a number and "am"; a weekday and a part of the day may be joined to one word."""
    days, parts = (
        "|".join(word for words in data.get(kind, {}).values() for word in f"{words} {fold(words)}".split())
        for kind in ("weekday", "joined")
    )
    joined = rf"(?:{days})(?=(?:{parts})\b)" if parts else "(?!)"
    pattern = "|".join(f"(?P<{kind}>{text})" for kind, text in definitions("tokens"))
    return re.compile(pattern.replace("GAP", gap).replace("JOINED", joined), re.IGNORECASE)


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


def _entries(data: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Kind, value and phrase of all words."""
    tables: dict[str, dict[str, str]] = {kind: {"": words} for kind, words in data["words"].items()}
    tables |= {kind: of for kind, of in data.items() if isinstance(of, dict) and kind not in ("words", "joined")}
    for kind, table in tables.items():
        for key, words in table.items():
            of = value(key)
            yield from ((kind, of, form) for word in words.split() for form in _forms(word, data))
    yield from _compounds(data["compounds"].split(), tables)


def _forms(word: str, data: Mapping[str, Any]) -> list[str]:
    """A word with "~" at its end has each of the language's endings; umlauts may be written as "ae"."""
    forms = [word[:-1] + end for end in data["endings"].split()] if word[1:].endswith("~") else [word]
    return [*dict.fromkeys(one for form in forms for one in (form, form.translate(_UMLAUTS)))]


def _compounds(patterns: list[str], tables: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, Any, str]]:
    """The numbers over twenty that are made of two words."""
    numbers, ordinals = ({int(key): words.split() for key, words in tables[kind].items()} for kind in ("num", "ord"))
    for pattern, ten, unit in itertools.product(patterns, range(20, 100, 10), range(1, 10)):
        for tens in numbers.get(ten, [])[:1]:
            yield from (("num", ten + unit, pattern.format(ten=tens, unit=one)) for one in numbers.get(unit, []))
            if pattern.startswith("{ten}") and unit in ordinals:
                yield "ord", ten + unit, pattern.format(ten=tens, unit=ordinals[unit][0])


def value(key: str) -> Any:
    """The value of a key of a table or an argument of a rule: "3", "1.5", "2 weeks" or a name."""
    if not (match := re.fullmatch(r"(-?\d+)(\.\d+)?(?: (\w+))?", key)):
        return key or True
    number = float(match[1] + match[2]) if match[2] else int(match[1])
    return (number, match[3]) if match[3] else number


def _kinds(kind: str, value: Any, phrase: str) -> Mapping[str, Any]:
    """Some kinds have narrower ones, for the grammar."""
    if kind == "num":
        return _number(value, "spelt" if phrase.isalpha() else "num")
    if kind in ("unit", "part"):
        return {kind: value, value: value}
    return {kind: (Clock(value, is_named=True),) if kind == "named" else value}


def _number(number: int, written: str) -> dict[str, Any]:
    kinds: dict[str, Any] = {"num": number, written: number}
    kinds |= {"dom": number} if 1 <= number <= 31 else {}
    kinds |= {"late": number} if 13 <= number <= 31 else {}
    kinds |= {"mins": number} if 10 <= number < 60 else {}
    kinds |= {"hod": (Clock(number, is_open=1 <= number <= 12),)} if number < 24 else {}
    return kinds | (
        {f"spelt{kind}": kinds[kind] for kind in kinds.keys() & {"hod", "mins"}} if written == "spelt" else {}
    )


def pieces(line: str, language: str) -> list[Piece]:
    """The words, numbers and phrases of the line; the longest phrases first."""
    words = lexicon(language)
    tokens = list(words.token.finditer(line))
    folded = tuple(fold(token[0]) for token in tokens)
    made: list[Piece] = []
    at = 0
    while at < len(tokens):
        length = _longest(folded[at : at + _MOST_WORDS], words.phrases)
        token, end = tokens[at], tokens[at + length - 1].end()
        kinds = words.phrases.get(folded[at : at + length])
        if kinds is None or (length == 1 and token.lastgroup not in ("word", "symbol")):
            kinds = words.kinds(token)
        start = token.start()
        if length == 1 and token.lastgroup in ("number", "word"):
            start, kinds = _code(made, start, kinds)
        if made and length == 1 and token.lastgroup == "word" and made[-1].end == start and "num" in made[-1].kinds:
            start, kinds = _joined(made, start, kinds)
        made.append(Piece(kinds, start, end, line[start:end]))
        at += length
    return made


def _code(made: list[Piece], start: int, kinds: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
    """Start and kinds with what dashes join to it, as in "24-hour-race"; "10-11-meeting" has a span."""
    while _is_code(made, start, kinds):
        first = made[-2]
        del made[-2:]
        start, kinds = first.start, {}
        if "digits" in first.kinds:
            break
    return start, kinds


def _is_code(made: list[Piece], start: int, kinds: Mapping[str, Any]) -> bool:
    """Whether a dash joins what starts here to a word or number before it, as in "node-3" and "first-aid"."""
    first, dash = made[-2:] if len(made) > 1 else (None, None)
    if first is None or dash is None or dash.text != "-":
        return False
    if first.kinds if kinds else not first.kinds.keys() & _FIRST_OF_TWO:
        return False
    return first.end == dash.start and dash.end == start


def _longest(words: tuple[str, ...], phrases: Mapping[tuple[str, ...], object]) -> int:
    """The number of words of the longest phrase that begins here."""
    return next((count for count in range(len(words), 0, -1) if words[:count] in phrases), 1)


def _joined(made: list[Piece], start: int, kinds: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
    """Start and kinds of a word right after a number: a unit, or both are one word, such as "4k"."""
    if unit := kinds.get("short"):
        return start, {"unit": unit, unit: unit}
    if kinds.keys() & {"unit", "oclock", "month", "hmark"}:
        return start, kinds
    return made.pop().start, {}


def _of_token(token: re.Match[str]) -> Mapping[str, Any]:
    text, kind = token[0], token.lastgroup
    try:
        return _READERS[kind](text) if kind in _READERS else {}
    except ValueError:
        codes = {"half": "time", "clock": "time", "dot": "time", "offset": "zone"}
        raise NotUnderstood(codes.get(str(kind), "date"), text) from None


def _digits(text: str) -> dict[str, Any]:
    number = int(text) if len(text) < 7 else -1
    kinds = _number(number, "digits") if number >= 0 else {}
    kinds |= {"year": number} if len(text) == 4 and number in _YEARS else {}
    kinds |= {"zeromins": number} if len(text) == 2 and text[0] == "0" else {}
    is_time = 100 <= number < 2400 and number % 100 < 60 and len(text) < 5
    return kinds | (_clock(f"{text[:-2]}:{text[-2:]}", "hhmm") if is_time else {})


def _clock(text: str, kind: str = "clock") -> dict[str, Any]:
    numbers = (int(one) for one in re.findall(r"\d{1,2}(?=(?:\d\d)?(?!\d))", text))
    hour, minute, second, *_rest = [*numbers, 0, 0]
    if (hour, minute, second) != (24, 0, 0):
        time(hour, minute, second)
    clock = Clock(hour, minute, second, is_open=1 <= hour <= 12 and text[0] != "0")
    return {kind: (clock,)} | ({"hm": hour * 60 + minute} if "h" in text else {})


def _half(text: str) -> Mapping[str, Any]:
    (clock,) = _clock(text, "clock")["clock"]
    if not 1 <= clock.hour <= 12:
        raise ValueError
    return {"clock": (clock.in_half("p" in text.lower()),)}


def _dot(text: str) -> Mapping[str, Any]:
    """A time of day, a date or an amount."""
    day, month = (int(one) for one in re.split("[.,]", text))
    kinds = _clock(text, "dot") if day < 24 and month < 60 else {"amount": text}
    with suppress(ValueError):
        kinds = {**kinds, "dotdate": _ymd(0, month, day)["ymd"]}
    return kinds


def _offset(text: str) -> Mapping[str, Any]:
    """In minutes."""
    sign, hours, minutes = re.findall(r"([+-])\s?(\d{1,2}):?(\d\d)?", text)[0]
    if (offset := int(hours) * 60 + int(minutes or 0)) > _FARTHEST:
        raise ValueError
    return {"offset": -offset if sign == "-" else offset}


def _slashed(text: str) -> Mapping[str, Any]:
    """A date that can be read in one way only, or else one to ask about."""
    first, second, *rest = (int(one) for one in re.findall(r"\d+", text))
    if not rest and max(first, second) in _YEARS:
        month, year = sorted((first, second))
        return {"ymd": Day(month=month, year=year)} if 1 <= month <= 12 else {"slashed": []}
    if first > 31:
        return _ymd(first, second, *rest) if rest else {"slashed": []}
    days = []
    for month, day in ((first, second), (second, first)):
        with suppress(ValueError):
            days.append(_ymd(sum(rest), month, day)["ymd"])
    if len(set(days)) == 1 and not _NEXT_CENTURY <= sum(rest) < 100:
        return {"ymd": days[0]}
    return {"slashed": days} | ({"fraction": _FRACTIONS[text]} if text in _FRACTIONS else {})


def _ymd(year: int, month: int, day: int) -> Mapping[str, Any]:
    year += (2000 if year < 70 else 1900) * (0 < year < 100)
    date(year or 2000, month, day)
    return {"ymd": Day(year=year, month=month, day=day)}


_READERS: Mapping[str | None, Any] = {
    "measure": lambda text: {"measure": text},
    "shorthand": lambda text: {"shorthand": text.lower()} if text.lower() in SHORTHANDS else {},
    "zonename": lambda text: {"zonename": text},
    "offset": _offset,
    "iso": lambda text: _ymd(*(int(one) for one in re.findall(r"^\d{4}|\d{1,2}", text))),
    "slashed": _slashed,
    "dotted": lambda text: _ymd(*(int(one or 0) for one in reversed(text.split(".")))),
    "half": _half,
    "clock": _clock,
    "prime": lambda text: _clock(text, "prime"),
    "dot": _dot,
    "decimal": lambda text: {"decimal": float(text.replace(",", "."))},
    "ordinal": lambda text: {"nth": int(re.findall(r"\d+", text)[0])},
    "count": lambda text: {"count": int(text[:-1])},
    "number": _digits,
}
