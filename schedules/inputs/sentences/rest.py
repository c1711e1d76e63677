"""What is left of a line: the title, unless it may be a part of the time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from schedules.inputs.sentences.days import Piece, slashed
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.inputs.sentences.pieces import Lexicon, fold
from schedules.rules import words

if TYPE_CHECKING:
    from schedules.inputs.sentences.reader import Said

_QUOTES = ('"', "“", "„", "«")
# The hint for a kind that is left, the first that fits; "rest" for a timely one.
_HINTS = {"every": "every", "over": "over", "ago": "over", "vague": "vague", "twice": "vague", "slashed": "slashes",
          "zone": "zone"}  # fmt: skip
_TIMELY = {
    "count", "step", "dur", "month", "plural", "feast", "ymd", "nth", "now", "nextafter", "afternext", "pm", "time",
    "clocks", "hm", "hmark", "clock", "dot", "dotdate", "endof", "year", "workdays", "span", "ofunit", "ofmonth", "ofyear",
    "inmonth", "named", "eom", "eoy", "oclock",
}  # fmt: skip
_BOUNDS = {"until": "until", "starting": "from", "except": "relative"}
_FRACTIONS = {"1/2", "1/3", "2/3", "1/4", "3/4"}
_NUMBERS = {"num", "ord", "decimal", "amount", "half", "threequarters"}
_BEFORE_HOURS = {"near", "at", "on", "from", "until", "to", "past", "dash"}
_RELATIVE = {"next", "farnext", "last", "other", "coming", "this"}
_FUNCTION = {"the", "of", "at", "las", "on", "in", "a"}
_FUZZY = {"weekday", "month", "rel", "part", "plural", "tonight", "over", "weakmonth"}
_LONG = 6
_SHORTEST = 5


def check(pieces: list[Piece], said: Said, known: Lexicon) -> None:
    """Raises NotUnderstood where a piece that is not used may be a part of the time."""
    for at, piece in enumerate(pieces):
        if piece.is_used or piece.text.startswith(_QUOTES):
            continue
        if code := _Left(pieces, at, said).code():
            end = piece.end
            if piece.kinds.keys() & {"every", "near"} and at + 1 < len(pieces):
                end = pieces[at + 1].end
            choices = _dates(piece, said) if code == "slashes" else ()
            raise NotUnderstood(code, said.line[piece.start : end], choices)
        if not piece.kinds and fold(piece.text) in known.foreign:
            raise NotUnderstood("rest", piece.text)
        if not piece.kinds and (meant := _misspelt(fold(piece.text), known)):
            raise NotUnderstood("typo", piece.text, day=meant)


class _Left:
    """A piece that is not used, with those beside it."""

    def __init__(self, pieces: list[Piece], at: int, said: Said) -> None:
        nothing = Piece({}, 0, 0)
        self.said, self.piece, self.kinds = said, pieces[at], pieces[at].kinds.keys()
        self.before = pieces[at - 1] if at else nothing
        self.after, *self.next = [*pieces[at + 1 : at + 3], nothing]
        # Behind words such as "the".
        later = (piece for piece in pieces[at + 1 :] if piece.is_used or not piece.kinds.keys() & _FUNCTION)
        self.ahead = next(later, nothing)

    def code(self) -> str:
        """The hint; "" for a word of the title."""
        kinds = self.kinds
        if code := self._code_beside():
            return code
        if self.said.repeats and self.before.is_used and (bound := next((one for one in _BOUNDS if one in kinds), "")):
            return _BOUNDS[bound]
        if self.said.repeats and self.piece.text.replace(" ", "") in _FRACTIONS and _is_ordinary(self.after):
            return ""
        if "a" not in kinds and kinds & {"am", "weakday", "weakmonth", "part", "unit", "all", *_NUMBERS}:
            return "" if self._is_title() else "rest"
        return next((code for kind, code in _HINTS.items() if kind in kinds), "rest" if kinds & _TIMELY else "")

    def _code_beside(self) -> str:
        """The hint for a word that means something only beside a day or time."""
        kinds, before, after = self.kinds, self.before, self.after
        times = {"time", "clocks"}
        # "9:00 Tokio time" names a city that is not known.
        names_zone = self.piece.text[0].isupper() and any("zoneword" in one.kinds for one in (after, *self.next))
        if before.is_used and before.kinds.keys() & times and ("zonelike" in kinds or names_zone):
            return "zone"
        is_relative = (
            (kinds & {"near", "ago", "agobefore"} and self.ahead.is_used)
            or ("of" in kinds and after.is_used and after.kinds.keys() & times)
            or (self.piece.text == "of" and before.is_used)  # "Monday of the Holy Spirit"
            or ("meal" in kinds and before.kinds.keys() & {"at", "near"})
        )
        if is_relative:
            return "relative"
        if kinds & _RELATIVE and (after.is_used or before.is_used or not after.text):
            return "rest"
        is_mixed = self.piece.text[0].isdigit() and self.piece.text[-1].isalpha() and not kinds
        return "rest" if ("adverb" in kinds or is_mixed) and (after.is_used or "at" in before.kinds) else ""

    def _is_title(self) -> bool:
        """Whether a word that may be one of time is one of the title."""
        kinds, before, after, said = self.kinds, self.before, self.after, self.said
        if kinds & {"am", "weakday", "weakmonth"}:
            # "Jan" and "sun", unless they touch a time; a day that is exact needs no month.
            touches = any(one.is_used or one.kinds.keys() & {"num", "ord", "nth", "year"} for one in (before, after))
            return not touches or (said.day is not None and said.day.exact is not None)
        if "part" in kinds:  # in which the times are, as in "7:00 morning run"
            fits = bool(said.times) and all(one.within(self.piece.kinds["part"]) for one in said.times)
            return fits and (before.is_used or not before.text)
        if "unit" in kinds:  # "plan the week"
            return "the" in before.kinds and not (after.is_used or after.kinds)
        if "all" in kinds:
            return _is_ordinary(after)
        # A number before an ordinary word, as in "3 apples", or after a word such as "room".
        if (before.is_used and "time" not in before.kinds) or before.kinds.keys() & _BEFORE_HOURS:
            return False
        return _is_ordinary(after) or "label" in before.kinds or before.text == "#"


def _is_ordinary(piece: Piece) -> bool:
    is_known = piece.kinds.keys() - {"label"}
    return not piece.is_used and not is_known and len(piece.text) > 2 and piece.text.isalpha()


def _dates(piece: Piece, said: Said) -> list[tuple[str, str]]:
    """What a date with slashes may mean, each with the line that says it."""
    dates = slashed(piece.text, said.today)
    return [(words.day(one), f"{said.line[: piece.start]}{one}{said.line[piece.end :]}") for one in dates]


def _misspelt(word: str, known: Lexicon) -> str:
    """The word of time that is one letter from this one, or that this one is made of, as "afternoonish"."""
    if len(word) < _SHORTEST or not word.isalpha() or word in known.ordinary:
        return ""
    for (one, *more), kinds in known.phrases.items():
        if more or not kinds.keys() & _FUZZY or one == word:
            continue
        is_part = kinds.keys() & {"weekday", "month", "part"} and len(one) >= _LONG
        if (
            (len(one) >= _SHORTEST and _is_close(word, one))
            or (is_part and word.startswith(one))
            or (is_part and word.endswith(one))
        ):
            return one
    return ""


def _is_close(one: str, other: str) -> bool:
    """Whether one letter is added, left out or another, or two are exchanged."""
    if abs(len(one) - len(other)) > 1:
        return False
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    a, b = one[same:], other[same:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[1:2] + a[:1] + a[2:] == b)


def title(pieces: list[Piece], known: Lexicon) -> str:
    """The words, without quotes and without punctuation at their ends."""
    text, last = "", 0
    for piece in pieces:
        is_quoted = len(piece.text) > 1 and piece.text.startswith(_QUOTES)
        text += " " * (piece.start > last) + (piece.text[1:-1] if is_quoted else piece.text)
        last = piece.end
    found = " ".join(text.split()).strip(" ,;:–-").removesuffix(" .")
    found = re.sub(r" (?=[!?])", "", found)
    preamble = next((one for one in known.preambles if found.lower().startswith(f"{one} ")), "")
    return found[len(preamble) :].strip() if re.search(r"\w", found) else ""
