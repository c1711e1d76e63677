"""What is left of a line: the title, unless it may be a part of the time."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

from schedules.inputs.sentences.days import Clock, Piece
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.inputs.sentences.pieces import Lexicon, definitions, fold
from schedules.rules import words

if TYPE_CHECKING:
    from schedules.inputs.sentences.reader import Said

_QUOTES = ('"', "“", "„", "«")
_SKIPPED = {"the", "of", "at", "las", "on", "in", "a"}
_MARKS = {"stop", "and", "dash", "open", "close", "slash", "plus", "near"}
_FUZZY = {"weekday", "month", "rel", "part", "plural", "tonight", "over", "weakmonth"}
_LONG = 6
_SHORTEST = 5
_NOTHING = Piece({}, 0, 0)


def check(said: Said, known: Lexicon) -> None:
    """Raises NotUnderstood where a piece that is not used may be a part of the time."""
    for at, piece in enumerate(said.pieces):
        if piece.is_used or piece.text.startswith(_QUOTES):
            continue
        if (code := _code(at, said)) != "title":
            last = said.pieces[at : at + 2][-1] if piece.kinds.keys() & {"every", "near"} else piece
            dates = sorted({day.next(said.now) for day in piece.kinds["slashed"]}) if code == "slashes" else []
            choices = [(words.day(one), one) for one in dates if one >= said.now.date()]
            text = said.line[piece.start : last.end]
            raise said.which(code, replace(piece, end=last.end, text=text), choices)
        word = "" if piece.kinds else fold(piece.text)
        if word in known.foreign:
            raise NotUnderstood("rest", piece.text)
        if meant := _misspelt(word, known):
            raise NotUnderstood("typo", piece.text, day=meant)


@cache
def _rules() -> list[tuple[str, list[tuple[str, set[str]]]]]:
    """The lines of left.txt: a code, with the kinds at each place."""
    found = ((code, re.findall(r"(<|>>?|) ?([a-z/]+)", text)) for code, text in definitions("left"))
    return [(code, [(place, set(kinds.split("/"))) for place, kinds in places]) for code, places in found]


def _code(at: int, said: Said) -> str:
    """The code of a hint for a piece that is not used, or "title"."""
    before, piece, *after = [_NOTHING, *said.pieces, _NOTHING][at:]
    skipped = _SKIPPED | _MARKS if piece.kinds.keys() & {"weakday", "weakmonth"} else _SKIPPED
    ahead = (one for one in after if one.is_used or not one.kinds.keys() & skipped)
    places = {"": piece, "<": before, ">": after[0], ">>": next(ahead, _NOTHING)}
    kinds = {place: _kinds(one, said) for place, one in places.items()}
    if piece.text[0].isupper() and any("zoneword" in one.kinds for one in after[:2]):
        kinds[""].add("city")
    return next((code for code, rule in _rules() if all(kinds[place] & of for place, of in rule)), "title")


def _kinds(piece: Piece, said: Said) -> set[str]:
    """The kinds of left.txt."""
    kinds, text = set(piece.kinds), piece.text
    if piece.is_used:
        return {"used", "usedtime" if kinds & {"time", "clocks"} else "usedother", "repeated" if said.every else ""}
    day = said.day
    flags = {
        "plain": not kinds,
        "end": not text,
        "mixed": not kinds and text[:1].isdigit() and text[-1:].isalpha(),
        "ordinary": not kinds - {"label"} and len(text) > 2 and text.isalpha(),
        "share": said.every and text.replace(" ", "") in ("1/2", "1/3", "2/3", "1/4", "3/4"),
        "fit": said.times and "part" in kinds and all(_is_in(one, piece.kinds["part"]) for one in said.times),
        "untimed": "loose" in kinds and not (said.times or said.every),
        "movedspan": "moved" in kinds and said.body[:1].isalpha(),
        "exact": day and day.exact and kinds & {"am", "weakday", "weakmonth"},
    }
    return kinds | {flag for flag, is_so in flags.items() if is_so}


def _is_in(clock: Clock, part: str) -> bool:
    """Whether it is read as one in that part of the day, or asked about."""
    found = clock.within(part)
    return found is not None and (clock.is_unclear or found.time == clock.time)


def _misspelt(word: str, known: Lexicon) -> str:
    """The word of time that is one letter from this one, or that this one is made of, as "afternoonish"."""
    if len(word) < _SHORTEST or not word.isalpha() or word in known.ordinary:
        return ""
    for (one, *more), kinds in known.phrases.items():
        if more or not kinds.keys() & _FUZZY or one == word:
            continue
        is_near = len(one) >= _SHORTEST and _is_close(word, one)
        is_near = is_near or (bool(kinds.keys() & {"weekday", "month", "rel"}) and _is_alike(word, one))
        is_long = len(one) >= _LONG and kinds.keys() & {"weekday", "month", "part"}
        if is_near or (is_long and (word.startswith(one) or word.endswith(one))):
            return one
    return ""


def _is_close(one: str, other: str) -> bool:
    """Whether one letter is added, left out or another, or two are exchanged."""
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
    a, b = one[same:], other[same:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[1:2] + a[:1] + a[2:] == b)


def _is_alike(one: str, other: str) -> bool:
    """Whether two letters differ, of long words that begin and end alike."""
    if min(len(one), len(other)) <= _LONG or (one[0], one[-1]) != (other[0], other[-1]):
        return False
    pairs = ((one, other), (other, one))
    return any(
        _is_close(a[:at] + a[at + 1 :], b[:at] + b[until:])
        for a, b in pairs
        for at in range(1, len(a) - 1)
        for until in (at, at + 1)
    )


def title(pieces: list[Piece], known: Lexicon) -> str:
    """The words, without quotes and without punctuation at their ends."""
    text, last = "", 0
    for piece in pieces:
        is_quoted = len(piece.text) > 1 and piece.text.startswith(_QUOTES)
        text += " " * (piece.start > last) + (piece.text[1:-1] if is_quoted else piece.text)
        last = piece.end
    found = " ".join(text.split()).strip(" ,;:–-").removesuffix(" .").removeprefix(". ")
    found = re.sub(r" (?=[!?])|\( *\) ?", "", found)
    preamble = next((one for one in known.preambles if fold(f"{found} ").startswith(f"{fold(one)} ")), "")
    return found[len(preamble) :].strip() if re.search(r"\w", found) else ""
