"""Read the rest of a line: it is the title, unless it may be a part of the time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

from schedules.inputs.sentences.days import ELAPSED, Clock, Piece
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.inputs.sentences.pieces import Lexicon, definitions, fold
from schedules.rules import words

if TYPE_CHECKING:
    from schedules.inputs.sentences.sentence import Sentence

_QUOTES = ('"', "“", "„", "«")
_SKIPPED = {"the", "of", "at", "las", "on", "in", "a"}
_MARKS = {"stop", "and", "dash", "open", "close", "slash", "plus", "near"}
_MARKS_AROUND = " ,;:–—/-"
_SHORT = {"am", "weakday", "weakmonth"}
_SHARES = ("1/2", "1/3", "2/3", "1/4", "3/4")
_LONG = 6
_SHORTEST = 5
_ENDING = 3
_NOTHING = Piece({}, 0, 0)
# "12", and "17 Uhr 20"; not "at 12".
_BARE = re.compile(r"(.*(?:\d\W*[a-z]*\.?\s|, ?)|)(\d\d?)", re.IGNORECASE)


def check(sentence: Sentence, lexicon: Lexicon) -> None:
    """Raises NotUnderstood where a piece that is not used may be a part of the time."""
    for at, piece in enumerate(sentence.pieces):
        if piece.is_used or piece.text.startswith(_QUOTES):
            continue
        if (code := _code(at, sentence)) != "title":
            raise _refusal(code, at, sentence)
        word = "" if piece.kinds else fold(piece.text)
        if word in lexicon.foreign:
            raise NotUnderstood("rest", piece.text)
        if meant := _misspelt(word, lexicon):
            raise NotUnderstood("typo", piece.text, day=lexicon.spelling[meant])


def _refusal(code: str, at: int, sentence: Sentence) -> NotUnderstood:
    """With both dates as choices, where day and month can be exchanged."""
    piece, *after = sentence.pieces[at : at + 2]
    if code == "amount" and (bare := _bare(sentence.pieces[at - 1])):
        return _amount(sentence.pieces[at - 1], bare, piece, sentence)
    last = after[0] if after and piece.kinds.keys() & {"every", "near", "except"} else piece
    choices = [(words.day(one), one) for one in _dates(code, piece, sentence.now) if one >= sentence.now.date()]
    text = sentence.line[piece.start : last.end]
    return sentence.which(code, replace(piece, end=last.end, text=text), choices)


def _dates(code: str, piece: Piece, now: datetime) -> list[date]:
    """Both dates that a piece may mean."""
    if code == "idiom":
        return [now.date() + timedelta(days=piece.kinds["idiom"] - less) for less in (1, 0)]
    return sorted({day.next(now) for day in piece.kinds["slashed"]}) if code == "slashes" else []


def _amount(time: Piece, bare: re.Match[str], counted: Piece, sentence: Sentence) -> NotUnderstood:
    """Asks whether the number is that of a time or of what follows."""
    word, clock = _word(counted, sentence), time.kinds["time"][-1]
    end = counted.start + len(word)
    others = bare[1] if "," in bare[1] else ""
    choices = [] if clock.is_unclear else [(f"{clock.time:%H:%M}", f"{others}{clock.time:%H:%M} {word}")]
    choices.append((f"{bare[2]} {word}", f'{bare[1]}"{bare[2]} {word}"'))
    return sentence.which("amount", replace(time, end=end, text=sentence.line[time.start : end]), choices)


Rule = list[tuple[str, set[str]]]


@cache
def _rules() -> list[tuple[str, Rule]]:
    """The lines of left.txt: a code, with the kinds at each place."""
    lines = ((code, re.findall(r"(<|>>?|) ?([a-z/]+)", text)) for code, text in definitions("left"))
    return [(code, [(place, set(kinds.split("/"))) for place, kinds in places]) for code, places in lines]


def _code(at: int, sentence: Sentence) -> str:
    """The code of a hint for a piece that is not used, or "title"."""
    before, piece, *after = [_NOTHING, *sentence.pieces, _NOTHING][at:]
    skipped = _SKIPPED | _MARKS if piece.kinds.keys() & {"weakday", "weakmonth"} else _SKIPPED
    ahead = (one for one in after if one.is_used or not one.kinds.keys() & skipped)
    places = {"": piece, "<": before, ">": after[0], ">>": next(ahead, _NOTHING)}
    kinds = {place: _kinds(one, sentence) for place, one in places.items()}
    if piece.text[0].isupper() and any("zoneword" in one.kinds for one in after[:2]):
        kinds[""].add("city")
    return next((code for code, rule in _rules() if all(kinds[place] & of for place, of in rule)), "title")


def _kinds(piece: Piece, sentence: Sentence) -> set[str]:
    """The kinds of left.txt."""
    kinds = set(piece.kinds)
    others = _USED if piece.is_used else _BESIDE if kinds else _UNKNOWN
    own = set() if piece.is_used else kinds
    return own | {kind for kind, is_so in others.items() if is_so(piece, sentence)}


# The kinds of left.txt that are not those of the grammar: of a piece that is used, of a word that is in no list, and of
# others.
_USED: Mapping[str, Callable[[Piece, Sentence], object]] = {
    "used": lambda piece, sentence: True,
    "usedtime": lambda piece, sentence: piece.kinds.keys() & {"time", "clocks"},
    "usedother": lambda piece, sentence: not piece.kinds.keys() & {"time", "clocks"},
    "repeated": lambda piece, sentence: sentence.every,
    "bare": lambda piece, sentence: _bare(piece),
    "bareone": lambda piece, sentence: (bare := _bare(piece)) and bare[2] == "1",
}
_UNKNOWN: Mapping[str, Callable[[Piece, Sentence], object]] = {
    "plain": lambda piece, sentence: True,
    "end": lambda piece, sentence: not piece.text,
    "mixed": lambda piece, sentence: (
        re.fullmatch(r"\d\w*[^\W\d_]", piece.text) and not _BESIDE["settled"](piece, sentence)
    ),
    "code": lambda piece, sentence: piece.text.isupper(),
    "ordinary": lambda piece, sentence: re.fullmatch(r"[^\W\d_]{3,}(?:['’]\w+)?", piece.text),
    "counted": lambda piece, sentence: _is_counted(_word(piece, sentence), sentence),
}
_BESIDE: Mapping[str, Callable[[Piece, Sentence], object]] = {
    "ordinary": lambda piece, sentence: (
        piece.kinds.keys() <= {"label", "about", "partly"} and len(piece.text) > 2 and piece.text.isalpha()
    ),
    "large": lambda piece, sentence: (
        max(piece.kinds.get("digits", 0), piece.kinds.get("nth", 0)) > 31 and not piece.kinds.keys() & {"hhmm", "year"}
    ),
    "lasting": lambda piece, sentence: (
        not sentence.day and any(unit not in ELAPSED for _, unit in piece.kinds.get("length", ()))
    ),
    "yearless": lambda piece, sentence: "year" in piece.kinds and sentence.day and sentence.day.month,
    "recurring": lambda piece, sentence: sentence.every,
    "share": lambda piece, sentence: sentence.every and piece.text.replace(" ", "") in _SHARES,
    "fit": lambda piece, sentence: (
        sentence.times
        and any(
            all(_is_in(one, piece.kinds[kind]) for one in sentence.times)
            for kind in ("part", "ofpart", "shift")
            if kind in piece.kinds
        )
    ),
    "dated": lambda piece, sentence: sentence.day,
    "single": lambda piece, sentence: sentence.day and not sentence.every,
    "untimed": lambda piece, sentence: "loose" in piece.kinds and not sentence.times,
    "timed": lambda piece, sentence: sentence.times,
    "settled": lambda piece, sentence: (
        (sentence.times and (sentence.day or sentence.every)) or any(unit in ELAPSED for _, unit in sentence.wait)
    ),
    "brief": lambda piece, sentence: (
        sentence.times and all(unit in ELAPSED for _, unit in piece.kinds.get("dur", [("", "")]))
    ),
    "movedspan": lambda piece, sentence: "moved" in piece.kinds and sentence.body[:1].isalpha(),
    "exact": lambda piece, sentence: sentence.day and sentence.day.exact and piece.kinds.keys() & _SHORT,
}


def _bare(time: Piece) -> re.Match[str] | None:
    """Of one time, or of a list with a comma before the last one."""
    clocks = time.kinds.get("time", ())
    is_bare = (len(clocks) == 1 and clocks[0].minute not in (15, 30, 45)) or re.search(r", ?\d+$", time.text)
    return _BARE.fullmatch(time.text) if clocks and is_bare else None


def _is_counted(word: str, sentence: Sentence) -> bool:
    """Whether it may be a plural: neither a name, as "James", nor a verb, as German "einkaufen"."""
    is_capital = word[:1].isupper() and not word.isupper()
    is_noun = is_capital or sentence.line.islower() if sentence.words.has_capital_nouns else not is_capital
    return is_noun and sentence.words.plural.fullmatch(word) is not None


def _word(piece: Piece, sentence: Sentence) -> str:
    """With what a dash joins to it."""
    return re.split(r"[^\w’'-]", sentence.line[piece.start :], maxsplit=1)[0].rstrip("’'-")


def _is_in(clock: Clock, part: str) -> bool:
    """Whether it is read as one in that part of the day, or asked about."""
    inside = clock.within(part)
    return inside is not None and (clock.is_unclear or inside.time == clock.time)


def _misspelt(word: str, lexicon: Lexicon) -> str:
    """The word of time that is one letter from this one, or that this one is made of, as "afternoonish"."""
    if len(word) < _SHORTEST - 1 or not word.isalpha() or word in lexicon.ordinary:
        return ""
    meant = [one for one, kinds in lexicon.fuzzy.items() if one != word and _may_mean(word, one, kinds, lexicon)]
    return min(meant, key=lambda one: not _is_close(word, one), default="")


def _may_mean(word: str, one: str, kinds: Mapping[str, object], lexicon: Lexicon) -> bool:
    if "weekday" in kinds and one.startswith(word):
        return True
    is_close = len(one) >= _SHORTEST and _is_close(word, one)
    if is_close or len(word) < _SHORTEST:
        return is_close and (len(word) >= _SHORTEST or "every" in kinds)
    if kinds.keys() & {"weekday", "month", "rel"} and _is_alike(word, one):
        return True
    is_long = len(one) >= _LONG and bool(kinds.keys() & {"weekday", "month", "part"})
    return is_long and _is_made_of(word, one, "part" in kinds, lexicon)


def _is_made_of(word: str, one: str, is_part: bool, lexicon: Lexicon) -> bool:
    """Whether it is that word of time and more, as "afternoonish"; not a noun such as "Sonntagsbraten"."""
    begin, found, end = word.partition(one)
    if not found or (begin and end):
        return False
    rest = begin or end.removeprefix("s")
    is_noun = len(rest) > _ENDING and (rest,) not in lexicon.phrases
    return not (is_noun and (end.startswith("s") or is_part))


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


def title(pieces: list[Piece], lexicon: Lexicon) -> str:
    """The words, without quotes and without punctuation at their ends."""
    text, last = "", 0
    for piece in pieces:
        is_quoted = len(piece.text) > 1 and piece.text.startswith(_QUOTES)
        text += " " * (piece.start > last) + (piece.text[1:-1] if is_quoted else piece.text)
        last = piece.end
    # Of several marks around words that were used, one remains.
    text = re.sub(r"\.?(?:\s+\.)+$", "", text)
    text = re.sub(r"[,;:.]?(?:\s+[,;:.])+(?=\s|$)", lambda marks: marks[0].split()[0], text)
    text = " ".join(text.split()).strip(_MARKS_AROUND)
    text = re.sub(r"\A\.(?=[\s,;:])|(?<=[\s,;:])\.\Z", "", text).strip(_MARKS_AROUND)
    text = re.sub(r"(?! ?:\))[ ,;:]+(?=[!?)](?!\w))|[(\[] *[)\]] ?", "", text)
    preambles = "|".join(lexicon.preambles).replace(" ", "[,:]* ")
    preamble = re.match(rf"(?:{preambles})(?!\w)", fold(text))
    return text[preamble.end() if preamble else 0 :].strip(" ,:") if re.search(r"[\w\u2600-\U0001faff]", text) else ""
