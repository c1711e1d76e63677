"""What is left of a line: the title, unless it may be a part of the time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from schedules.quick_add.days import Piece, slashed
from schedules.quick_add.hints import NotUnderstood
from schedules.quick_add.pieces import Lexicon, fold
from schedules.rules import words

if TYPE_CHECKING:
    from schedules.quick_add.reader import Said

_HINTS = {"every": "every", "over": "over", "ago": "over", "vague": "vague", "twice": "vague", "slashed": "slashes",
          "zone": "zone"}  # fmt: skip
_TIMELY = {
    "count", "step", "dur", "month", "plural", "feast", "ymd", "nth", "now", "nextafter", "afternext", "pm", "time",
    "clocks", "hm", "hmark", "clock", "dot", "endof", "year", "workdays", "span", "ofunit", "inmonth", "named",
}  # fmt: skip
_NUMBERS = {"num", "ord", "decimal", "amount", "half", "threequarters"}
_FUZZY = ("weekday", "month", "rel", "part", "plural", "tonight", "over", "weakmonth")
_FUNCTION = {"the", "of", "at", "las", "on", "in", "a"}
_BOUNDS = {"until": "until", "starting": "from", "except": "relative"}
_FRACTIONS = {"1/2", "1/3", "2/3", "1/4", "3/4"}
_RELATIVE = {"next", "farnext", "last", "other", "coming", "this"}
_LONG = 6
_SHORTEST = 5


def check(pieces: list[Piece], said: Said, known: Lexicon) -> None:
    """Raises NotUnderstood where a piece that is not used may be a part of the time."""
    for at, piece in enumerate(pieces):
        if piece.is_used or piece.text[:1] in '"“„«':
            continue
        around = _Around(pieces, at)
        if code := _code(piece, around, said):
            choices = _dates(piece, said) if code == "slashes" else ()
            raise NotUnderstood(code, around.text(said.line), choices)
        if not piece.kinds and (meant := _misspelt(piece.text, known)):
            raise NotUnderstood("typo", piece.text, day=meant)


class _Around:
    """The pieces beside one."""

    def __init__(self, pieces: list[Piece], at: int) -> None:
        nothing = Piece({}, 0, 0)
        self.piece = pieces[at]
        self.before = pieces[at - 1] if at else nothing
        self.after = pieces[at + 1] if at + 1 < len(pieces) else nothing
        self.next = [one for one in pieces[at + 1 : at + 3] if not one.is_used]
        # Behind words such as "the".
        later = (piece for piece in pieces[at + 1 :] if piece.is_used or not piece.kinds.keys() & _FUNCTION)
        self.ahead = next(later, nothing)

    @property
    def names_zone(self) -> bool:
        """As in "9:00 Tokio time", of a city that is not known."""
        return self.piece.text[0].isupper() and any("zoneword" in one.kinds for one in self.next)

    def text(self, line: str) -> str:
        end = self.after.end if self.after.text and self.piece.kinds.keys() & {"every", "near"} else self.piece.end
        return line[self.piece.start : end]

    @property
    def is_amount(self) -> bool:
        """A number before an ordinary word, as in "3 apples", or after a word such as "room"."""
        if (self.before.is_used and "time" not in self.before.kinds) or self.before.kinds.keys() & {
            "near",
            "at",
            "on",
            "from",
            "until",
            "to",
            "past",
            "dash",
        }:
            return False
        return _is_ordinary(self.after) or bool(self.before.kinds.get("label")) or self.before.text == "#"

    @property
    def touches_time(self) -> bool:
        return any(one.is_used or one.kinds.keys() & {"num", "ord", "nth", "year"} for one in (self.before, self.after))


def _is_ordinary(piece: Piece) -> bool:
    is_known = piece.kinds.keys() - {"label"}
    return not piece.is_used and not is_known and len(piece.text) > 2 and piece.text.isalpha()


def _code(piece: Piece, around: _Around, said: Said) -> str:
    """The hint for a piece that is left; "" for a word of the title."""
    kinds = piece.kinds.keys()
    if code := _code_beside(piece, around):
        return code
    if said.repeats and around.before.is_used and (found := next((one for one in _BOUNDS if one in kinds), "")):
        return _BOUNDS[found]
    if said.repeats and piece.text.replace(" ", "") in _FRACTIONS and _is_ordinary(around.after):
        return ""
    for group, is_title in _TITLES:
        if kinds & group and "a" not in kinds:
            return "" if is_title(piece, around, said) else "rest"
    code = next((code for kind, code in _HINTS.items() if kind in kinds), "")
    return code or ("rest" if kinds & _TIMELY else "")


def _code_beside(piece: Piece, around: _Around) -> str:
    """The hint for a word that means something only beside a day or time."""
    kinds, before, after = piece.kinds.keys(), around.before, around.after
    follows_time = before.is_used and not before.kinds.keys().isdisjoint({"time", "clocks"})
    if follows_time and ("zonelike" in kinds or around.names_zone):
        return "zone"
    if kinds & {"near", "ago", "agobefore"} and around.ahead.is_used:
        return "relative"
    if "of" in kinds and after.is_used and after.kinds.keys() & {"time", "clocks"}:
        return "relative"
    if piece.text == "of" and before.is_used:
        return "relative"  # "Monday of the Holy Spirit"
    if kinds & {"next", "farnext", "last", "other", "coming", "this"} and (
        after.is_used or before.is_used or not after.text
    ):
        return "rest"
    if "meal" in kinds and before.kinds.keys() & {"at", "near"}:
        return "relative"
    is_mixed = piece.text[0].isdigit() and piece.text[-1].isalpha() and not kinds
    return "rest" if ("adverb" in kinds or is_mixed) and (after.is_used or "at" in before.kinds) else ""


def _is_name(piece: Piece, around: _Around, said: Said) -> bool:
    """ "Jan" and "sun", unless they touch a time; a day that is exact needs no month."""
    return not around.touches_time or (said.day is not None and said.day.exact is not None)


def _agrees(piece: Piece, around: _Around, said: Said) -> bool:
    """A part of the day that the times are in, as in "7:00 morning run"."""
    follows = around.before.is_used or not around.before.text
    return follows and bool(said.times) and all(one.within(piece.kinds["part"]) for one in said.times)


def _is_alone(piece: Piece, around: _Around, said: Said) -> bool:
    """ "plan the week" """
    return "the" in around.before.kinds and not (around.after.is_used or around.after.kinds)


_TITLES = (
    ({"am", "weakday", "weakmonth"}, _is_name),
    ({"part"}, _agrees),
    ({"unit"}, _is_alone),
    ({"all"}, lambda piece, around, said: _is_ordinary(around.after)),
    (_NUMBERS, lambda piece, around, said: around.is_amount),
)


def _dates(piece: Piece, said: Said) -> list[tuple[str, str]]:
    """What a date with slashes may mean, each with the line that says it."""
    dates = slashed(piece.text, said.today)
    return [(words.day(one), f"{said.line[: piece.start]}{one}{said.line[piece.end :]}") for one in dates]


def _misspelt(text: str, known: Lexicon) -> str:
    """The word of time that is one letter from this one."""
    if len(word := fold(text)) < _SHORTEST or not word.isalpha() or word in known.ordinary:
        return ""
    targets = (phrase[0] for phrase, kinds in known.phrases.items() if len(phrase) == 1 and kinds.keys() & set(_FUZZY))
    return next(
        (one for one in targets if (len(one) >= _SHORTEST and _is_close(word, one)) or _is_in(one, word, known)), ""
    )


def _is_in(one: str, word: str, known: Lexicon) -> bool:
    """Whether the word is made of a longer one, as in "afternoonish"."""
    if not known.phrases[(one,)].keys() & {"weekday", "month", "part"}:
        return False
    return len(one) >= _LONG and one != word and (word.startswith(one) or word.endswith(one))


def _is_close(one: str, other: str) -> bool:
    """Whether one letter is added, left out or another, or two are exchanged."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    a, b = one[same:], other[same:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[1:2] + a[:1] + a[2:] == b)


def title(pieces: list[Piece], known: Lexicon) -> str:
    """The words, without quotes and without punctuation at their ends."""
    texts: list[str] = []
    last = None
    for piece in pieces:
        if texts and last is not None and piece.start > last:
            texts.append(" ")
        is_quoted = len(piece.text) > 1 and piece.text[0] in '"“„«'
        texts.append(piece.text[1:-1] if is_quoted else piece.text)
        last = piece.end
    found = " ".join("".join(texts).split()).strip(" ,;:–-").removesuffix(" .")
    found = re.sub(r" (?=[!?])", "", found)
    if not re.search(r"\w", found):
        return ""
    for preamble in known.preambles:
        if found.lower().startswith(f"{preamble} "):
            return found[len(preamble) + 1 :]
    return found
