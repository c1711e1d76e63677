"""What a line says about time. Each word of it is used, or is a word of the title."""

import re
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from common import zones
from schedules.quick_add import rest
from schedules.quick_add.days import Day, Step
from schedules.quick_add.grammar import grammar
from schedules.quick_add.hints import NotUnderstood
from schedules.quick_add.pieces import Clock, Piece, lexicon, pieces

# In minutes from UTC. Of those without one there are several.
ABBREVIATIONS = {
    "utc": 0, "gmt": 0, "wet": 0, "bst": 60, "cet": 60, "mez": 60, "cest": 120, "mesz": 120, "eet": 120, "eest": 180,
    "msk": 180, "jst": 540, "kst": 540, "aest": 600, "aedt": 660, "nzst": 720, "nzdt": 780, "hst": -600, "akst": -540,
    "pst": -480, "pdt": -420, "mst": -420, "mdt": -360, "cst": -360, "cdt": -300, "est": -300, "edt": -240, "brt": -180,
    "IST": None, "SST": None, "ET": None, "PT": None, "CT": None, "MT": None,
}  # fmt: skip
_TIMES = {"clock", "num", "am", "pm", "oclock", "named", "part", "inpart", "dot"}
_FARTHEST = 14 * 60
_ELAPSED = ("seconds", "minutes", "hours")


@dataclass
class Said:
    """What a line says. `wait` are the parts of "in 1 hour 30 minutes"; `hours` a span of the day.

    `within` is the month of a repetition; `offset` that of a zone in minutes; `body` are the words of a span.
    """

    line: str
    today: date
    every: Step | None = None
    repeats: bool = False
    day: Day | None = None
    within: Day | None = None
    times: tuple[Clock, ...] = ()
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
    # Of the days and times, for choices between several.
    spans: dict[str, Piece] = field(default_factory=dict)


def said(line: str, today: date, language: str) -> Said:
    return _Reader(line, today, language).read()


class _Reader:
    def __init__(self, line: str, today: date, language: str) -> None:
        self.said = Said(line, today)
        self.language = language
        raw = self._zones(pieces(line, language))
        self.pieces = grammar(language).reduced(raw, line, today)

    def read(self) -> Said:
        said = self.said
        for piece in self.pieces:
            for kind, value in piece.kinds.items():
                if take := getattr(self, f"_take_{kind}", None):
                    piece.is_used = True
                    take(piece, value)
                    said.spans.setdefault(kind, piece)
                    break
        self._decide()
        used = sorted((piece for piece in [*self.pieces, *self.zones] if piece.is_used), key=lambda piece: piece.start)
        said.timing = " ".join(piece.text for piece in used)
        rest.check(self.pieces, said, lexicon(self.language))
        said.title = rest.title([piece for piece in self.pieces if not piece.is_used], lexicon(self.language))
        return said

    def _zones(self, found: list[Piece]) -> list[Piece]:
        """The pieces without those of a zone."""
        self.zones: list[Piece] = []
        for at, piece in enumerate(found):
            if any(zone is piece for zone in self.zones):
                continue
            if piece.kinds.get("zoneword"):
                self._city(found, at)
            elif self._zone(piece, at > 0 and bool(_TIMES & found[at - 1].kinds.keys())):
                self.zones.append(piece)
        for piece in self.zones:
            piece.is_used = True
        return [piece for piece in found if not piece.is_used]

    def _zone(self, piece: Piece, follows_time: bool) -> bool:
        said, text = self.said, piece.text
        if "/" in text and text in zones.known():
            said.zone = text
        elif "offset" in piece.kinds:
            sign, hours, minutes = re.findall(r"([+-])\s?(\d{1,2}):?(\d\d)?", text)[0]
            said.offset = (int(hours) * 60 + int(minutes or 0)) * (-1 if sign == "-" else 1)
            if abs(said.offset) > _FARTHEST:
                raise NotUnderstood("zone", text)
        elif follows_time and text.isupper() and text in zones.known():
            said.zone = text
        elif self._abbreviation(text, follows_time):
            said.offset = ABBREVIATIONS[self._abbreviation(text, follows_time)]
            if not follows_time or said.offset is None:
                raise NotUnderstood("zone", text)
        else:
            return False
        return True

    def _abbreviation(self, text: str, follows_time: bool) -> str:
        keys = [text, text.lower()] if follows_time or text.isupper() else []
        if self.language == "en" and follows_time and len(text) == 3:
            keys.append(text.upper())  # In other languages, "ist" is a word.
        return next((key for key in keys if key in ABBREVIATIONS), "")

    def _city(self, found: list[Piece], at: int) -> None:
        for length in (2, 1):
            words = found[at - length : at] if at >= length else []
            city = "_".join(piece.text.lower() for piece in words)
            if city and (names := [name for name in sorted(zones.known()) if name.lower().endswith(f"/{city}")]):
                self.said.zone = names[0]
                self.zones += found[at - length : at + 1]
                return

    # Each kind of a whole piece.

    def _once(self, name: str, value: Any, code: str, piece: Piece) -> None:
        if getattr(self.said, name):
            raise NotUnderstood(code, piece.text)
        setattr(self.said, name, value)

    def _take_shorthand(self, piece: Piece, value: str) -> None:
        self._once("shorthand", value, "two-repeats", piece)

    def _take_rep(self, piece: Piece, value: Step) -> None:
        said = self.said
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
        if value.every is not None and not (said.every and value.is_of):
            self._take_rep(piece, value.every) if value.repeats and not value.is_of else setattr(
                said, "every", value.every
            )
        said.repeats = said.repeats or value.repeats
        if value != Day(every=value.every, part=value.part, repeats=True):
            said.day = value
        if value.until is not None:
            said.body = piece.text

    def _take_time(self, piece: Piece, value: tuple[Clock, ...]) -> None:
        self._once("times", value, "two-times", piece)

    def _take_hours(self, piece: Piece, value: tuple[Clock, Clock]) -> None:
        self._once("hours", value, "two-times", piece)

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

    def _take_begins(self, piece: Piece, value: Day | Clock) -> None:
        self._once("starts", value, "two-days", piece)

    def _take_ends(self, piece: Piece, value: Day | Clock) -> None:
        self._once("ends", value, "two-ends", piece)

    def _take_without(self, piece: Piece, value: tuple[int, ...]) -> None:
        self._once("without", value, "two-days", piece)

    def _take_over(self, piece: Piece, value: Any) -> None:
        raise NotUnderstood("over", piece.text)

    def _decide(self) -> None:
        """Keep, or give back to the title, what counts only in a repetition."""
        said = self.said
        adverbs = [piece for piece in self.pieces if "adverb" in piece.kinds]
        if adverbs and not (said.every or said.repeats or said.wait or self._is_once(adverbs[0].kinds["adverb"])):
            said.every, adverbs[0].is_used = adverbs[0].kinds["adverb"], True
        repeats = bool(said.every or said.repeats or said.shorthand)
        for before, piece in zip([None, *self.pieces], self.pieces, strict=False) if repeats else ():
            follows = piece.text.startswith("for ") or (before is not None and before.is_used)
            if "count" in piece.kinds and said.count is None and follows:
                said.count, piece.is_used = piece.kinds["count"], True
            elif (length := piece.kinds.get("length")) and len(length) == 1 and length[0][1] not in _ELAPSED:
                said.lasts, piece.is_used = length[0], True
        if repeats and said.day is not None and said.day.until is not None:
            said.starts, said.ends, said.day, said.body = replace(said.day, until=None), said.day.until, None, ""
        if not repeats and said.hours:
            said.times, said.body = (*said.times, said.hours[0]), self._text("hours")
            said.spans["time"] = said.spans["hours"]
        if not repeats and isinstance(said.starts, Clock) and not said.times:
            said.times, said.starts, said.spans["time"] = (said.starts,), None, said.spans["begins"]
            said.body = self._text("begins", "ends") if said.ends else ""
            said.ends = None
        if not repeats and said.ends is not None and said.day is not None and said.starts is None:
            said.body, said.ends = self._text("day", "ends"), None
        if not repeats and isinstance(said.starts, Day) and said.day is None:
            year = said.ends.year if isinstance(said.ends, Day) else 0
            said.day = replace(said.starts, year=said.starts.year or year)
            said.body = self._text("begins", "ends") if said.ends else ""
            said.spans["day"] = said.spans["begins"]
            said.starts = said.ends = None

    def _text(self, *kinds: str) -> str:
        return " ".join(self.said.spans[kind].text for kind in kinds)

    def _is_once(self, step: Step) -> bool:
        """Whether the day is one that `step` does not go with, as in "monthly report on Friday"."""
        day = self.said.day
        if day is None:
            return False
        return day.exact is not None or day.year > 0 or (bool(day.weekdays) and step[1] != "weeks")
