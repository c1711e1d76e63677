"""What a line says about time. Each word of it is used, or is a word of the title."""

from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from schedules.inputs.sentences import rest
from schedules.inputs.sentences.days import Clock, Day, Piece, Step, Times
from schedules.inputs.sentences.grammar import grammar
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.inputs.sentences.pieces import lexicon, pieces

ELAPSED = ("seconds", "minutes", "hours")
# What may be said once: the field of a kind, and the hint for a second one.
_ONCE = {
    "shorthand": ("shorthand", "two-repeats"),
    "time": ("times", "two-times"),
    "clocks": ("hours", "two-times"),
    "begins": ("starts", "two-days"),
    "ends": ("ends", "two-ends"),
    "endsat": ("ends", "two-ends"),
    "without": ("without", "two-days"),
}


@dataclass
class Said:
    """What a line says. `wait` are the parts of "in 1 hour 30 minutes"; `hours` a span of the day.

    `within` is the month of a repetition; `offset` that of a zone in minutes; `body` are the words of a span; `spans`
    has the piece of each kind, for choices between several.
    """

    line: str
    today: date
    every: Step | None = None
    repeats: bool = False
    day: Day | None = None
    within: Day | None = None
    times: Times = ()
    part: str = ""
    hours: tuple[Clock, Clock] | None = None
    wait: list[Step] = field(default_factory=list)
    starts: Day | Clock | None = None
    ends: Day | Clock | None = None
    lasts: Step | None = None
    count: int | None = None
    without: tuple[int, ...] = ()
    zone: str = ""
    offset: int | None = None
    shorthand: str = ""
    title: str = ""
    timing: str = ""
    body: str = ""
    spans: dict[str, Piece] = field(default_factory=dict)


def said(line: str, today: date, language: str) -> Said:
    return _Reader(line, today, language).read()


class _Reader:
    def __init__(self, line: str, today: date, language: str) -> None:
        self.said = Said(line, today)
        self.known = lexicon(language)
        self.pieces, self.zones = grammar(language).reduced(pieces(line, language), line, today)

    def read(self) -> Said:
        said = self.said
        self._take_zones()
        for piece in self.pieces:
            kind = next((kind for kind in piece.kinds if kind in _ONCE or hasattr(self, f"_take_{kind}")), None)
            if kind is None:
                continue
            if kind in _ONCE:
                name, code = _ONCE[kind]
                if getattr(said, name):
                    raise NotUnderstood(code, piece.text)
                setattr(said, name, piece.kinds[kind])
            else:
                getattr(self, f"_take_{kind}")(piece, piece.kinds[kind])
            piece.is_used = True
            said.spans.setdefault(kind, piece)
        said.spans.setdefault("ends", said.spans.get("endsat", Piece({}, 0, 0)))
        self._keep_repetition()
        if not (said.every or said.repeats or said.shorthand):
            self._keep_start()
        used = sorted([*(piece for piece in self.pieces if piece.is_used), *self.zones], key=lambda piece: piece.start)
        said.timing = " ".join(piece.text for piece in used)
        rest.check(self.pieces, said, self.known)
        said.title = rest.title([piece for piece in self.pieces if not piece.is_used], self.known)
        return said

    def _take_zones(self) -> None:
        found = {piece.kinds["zone"] for piece in self.zones}
        if len(found) > 1:
            raise NotUnderstood("zone", self.zones[-1].text)
        for zone in found:
            self.said.zone, self.said.offset = (zone, None) if isinstance(zone, str) else ("", zone)

    # Each kind of a whole piece.

    def _take_rep(self, piece: Piece, value: Step) -> None:
        said = self.said
        value = (3 * value[0], "months") if value[1] == "quarters" else value
        if said.every is not None and said.every != value:
            raise NotUnderstood("two-repeats", piece.text)
        said.every, said.repeats = value, True

    def _take_day(self, piece: Piece, value: Day) -> None:
        said = self.said
        if said.day and value.month and not (value.day or value.nth or value.year or said.day.month):
            said.within = value
            return
        if said.day is not None or said.wait:
            raise NotUnderstood("two-days", f"{said.spans['day'].text} {piece.text}" if said.day else piece.text)
        said.part = value.part or said.part
        if value.every is not None and value.repeats and not value.is_of:
            self._take_rep(piece, value.every)
        elif value.every is not None and not (said.every and value.is_of):
            said.every = value.every
        said.repeats = said.repeats or value.repeats
        if value != Day(every=value.every, part=value.part, repeats=True):
            said.day = value
        if value.until is not None:
            said.body = piece.text

    def _take_inpart(self, piece: Piece, value: str) -> None:
        if self.said.part not in ("", value):
            raise NotUnderstood("unfit", piece.text)
        self.said.part = value

    def _take_wait(self, piece: Piece, value: list[Step]) -> None:
        if self.said.day is not None:
            raise NotUnderstood("two-days", piece.text)
        if self.said.wait or not all(number for number, _ in value):
            raise NotUnderstood("in", piece.text)
        self.said.wait = value

    def _take_over(self, piece: Piece, value: Any) -> None:
        raise NotUnderstood("over", piece.text)

    # What counts only in a repetition, or only once.

    def _keep_repetition(self) -> None:
        said = self.said
        adverbs = [piece for piece in self.pieces if "adverb" in piece.kinds]
        if adverbs and not (said.every or said.repeats or said.wait or self._is_once(adverbs[0].kinds["adverb"])):
            said.every, adverbs[0].is_used = adverbs[0].kinds["adverb"], True
        repeats = bool(said.every or said.repeats or said.shorthand)
        if repeats and "endsat" in said.spans:
            raise NotUnderstood("until", said.spans["endsat"].text)
        for before, piece in zip([None, *self.pieces], self.pieces, strict=False) if repeats else ():
            follows = piece.text.startswith("for ") or (before is not None and before.is_used)
            if "count" in piece.kinds and said.count is None and follows:
                said.count, piece.is_used = piece.kinds["count"], True
            elif (length := piece.kinds.get("length")) and len(length) == 1 and length[0][1] not in ELAPSED:
                said.lasts, piece.is_used = length[0], True
        if repeats and said.day is not None and said.day.until is not None:
            said.starts, said.ends, said.day, said.body = replace(said.day, until=None), said.day.until, None, ""

    def _is_once(self, step: Step) -> bool:
        """Whether the day is one that `step` does not go with, as in "monthly report on Friday"."""
        if (day := self.said.day) is None:
            return False
        return day.exact is not None or day.year > 0 or (bool(day.weekdays) and step[1] != "weeks")

    def _keep_start(self) -> None:
        """A span begins once; its words become the body."""
        said = self.said
        if said.hours:
            said.times, said.body = (*said.times, said.hours[0]), said.spans["clocks"].text
            said.spans["time"] = said.spans["clocks"]
        if isinstance(said.starts, Clock) and not said.times:
            said.times, said.spans["time"] = (said.starts,), said.spans["begins"]
        elif isinstance(said.starts, Day) and said.day is None:
            year = said.ends.year if isinstance(said.ends, Day) else 0
            said.day = replace(said.starts, year=said.starts.year or year)
            said.spans["day"] = said.spans["begins"]
        elif said.starts is not None or said.day is None:
            return
        if isinstance(said.ends, Day) and said.day is not None:
            said.day = replace(said.day, until=said.ends)
        if said.ends:
            first, last = said.spans["begins" if said.starts else "day"], said.spans["ends"]
            between = (piece for piece in self.pieces if piece.is_used and first.start <= piece.start <= last.start)
            said.body = " ".join(piece.text for piece in between)
        said.starts = said.ends = None
