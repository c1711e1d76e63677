"""A line as the fields of a time, and a title. Each word of it is used, or is one of the title."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, time
from itertools import groupby
from operator import itemgetter

from schedules.inputs.sentences import unused_words
from schedules.inputs.sentences.days import ELAPSED, Clock, Day, Piece, Step, Times
from schedules.inputs.sentences.grammar import grammar
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.inputs.sentences.pieces import LONGEST, Lexicon, clean, lexicon, pieces

# What a line may have once: the field of a kind, and the hint for a second value.
_ONCE = {
    "shorthand": ("shorthand", "two-repeats"),
    "rep": ("every", "two-repeats"),
    "day": ("day", "two-days"),
    "inpart": ("part", "unfit"),
    "time": ("times", "two-times"),
    "clocks": ("hours", "two-times"),
    "wait": ("wait", "in"),
    "begins": ("starts", "two-days"),
    "ends": ("ends", "two-ends"),
    "endsat": ("ends", "two-ends"),
    "deadline": ("ends", "two-ends"),
    "without": ("without", "two-days"),
    "often": ("often", "two-repeats"),
}


def early(text: str, language: str) -> list[int] | None:
    """The minutes of "1 day, 10 minutes"; None if it is not understood. In English or this language."""
    line = f"{clean(text)} beforehand"
    if len(line) > LONGEST:
        return None
    try:
        rest, aside = grammar(language).reduced(pieces(line, language), line, date.min)
    except NotUnderstood:
        return None
    return aside[0].kinds["early"] if not rest and [*aside[0].kinds] == ["early"] else None


class Sentence:
    """`wait` are the parts of "in 1 hour 30 minutes"; `hours` is a span of the day.

    `within` is the month of a repetition; `offset` that of a zone in minutes; `body` are the words of a span; `spans`
    has the piece of each field, for choices between several.
    """

    every: Step | None = None
    day: Day | None = None
    within: Day | None = None
    times: Times = ()
    part = ""
    hours: tuple[Clock, Clock] | None = None
    wait: tuple[Step, ...] = ()
    starts: Day | Clock | None = None
    ends: Day | Clock | None = None
    lasts: Step | None = None
    count: int | None = None
    without: tuple[int, ...] = ()
    often = 0
    zone = ""
    offset: int | None = None
    shorthand = ""
    body = ""
    after_done = False
    is_quarterly = False
    early: tuple[int, ...] = ()

    def __init__(self, line: str, now: datetime, language: str) -> None:
        self.line, self.now = line, now
        self.words: Lexicon = lexicon(language)
        self.spans: dict[str, Piece] = {}
        self.pieces, self._aside = grammar(language).reduced(pieces(line, language), line, now.date())
        self._take_zones()
        self.after_done = any("fromdone" in piece.kinds for piece in self._aside)
        before = {minutes for piece in self._aside for minutes in piece.kinds.get("early", ())}
        self.early = tuple(sorted(before, reverse=True))
        for piece in self.pieces:
            if kind := next((kind for kind in piece.kinds if kind in _ONCE), ""):
                self._take(kind, piece)
        self._resolve_step()
        if self.every or self.shorthand:
            self._take_limits()
        else:
            self._begin_once()
        self._place_midnight()
        unused_words.check(self, self.words)
        self.title = unused_words.title([piece for piece in self.pieces if not piece.is_used], self.words)

    @property
    def timing(self) -> str:
        """The words that are used."""
        used = [*(piece for piece in self.pieces if piece.is_used), *self._aside]
        return " ".join(piece.text for piece in sorted(used, key=lambda piece: piece.start))

    @property
    def is_past_midnight(self) -> bool:
        """Whether a time, within the part of the day, belongs to the next day."""
        times = [one.within(self.part) if self.part else one for one in self.times]
        return any(one is not None and one.hour >= 24 for one in times)

    @property
    def parts(self) -> tuple[tuple[str, bool], ...]:
        """The line in parts, each with whether it is used; used words beside each other are one part."""
        used = [False] * len(self.line)
        for piece in [*(piece for piece in self.pieces if piece.is_used), *self._aside]:
            used[piece.start : piece.end] = [True] * (piece.end - piece.start)
        for space in re.finditer(" ", self.line):
            used[space.start()] = used[space.start() - 1] and used[space.end()]
        letters = groupby(zip(self.line, used, strict=True), itemgetter(1))
        return tuple(("".join(text for text, _ in group), is_used) for is_used, group in letters)

    def which(self, code: str, piece: Piece, choices: Iterable[tuple[str, object]], **named: object) -> NotUnderstood:
        """Asks which text is meant in place of the piece, behind words such as "until"; each choice has a name."""
        is_span = code == "which-week" and self.day is not None and self.day.until is not None
        if piece.inner and (is_span or piece.kinds.keys() & {"begins", "ends", "deadline"}):
            piece = piece.inner
        lines = [(name, f"{self.line[: piece.start]}{text}{self.line[piece.end :]}") for name, text in choices]
        return NotUnderstood(code, piece.text, lines, **named)

    def _take_zones(self) -> None:
        zones = [piece for piece in self._aside if "zone" in piece.kinds]
        for zone in (piece.kinds["zone"] or "UTC" for piece in zones):
            if (self.zone or self.offset) not in (None, zone):
                raise NotUnderstood("zone", zones[-1].text)
            self.zone, self.offset = (zone, None) if isinstance(zone, str) else ("", zone)

    def _take(self, kind: str, piece: Piece) -> None:
        (name, code), value = _ONCE[kind], piece.kinds[kind]
        if kind == "day" and self._is_name(piece, value):
            return
        if kind == "day":
            self._take_day(piece, value)
        elif (before := getattr(self, name)) and (before != value or name not in ("every", "part")):
            raise NotUnderstood(code, piece.text)
        elif kind == "wait" and (self.day or not all(number for number, _ in value)):
            raise NotUnderstood("two-days" if self.day else "in", piece.text)
        else:
            setattr(self, name, value)
        piece.is_used = True
        self.spans.setdefault(name, piece)

    def _is_name(self, piece: Piece, day: Day) -> bool:
        """Whether a weekday is a word of the title beside the same one, as in "Friday prayers every Friday"."""
        if not (self.day and len(day.weekdays) == 1 and self.day.weekdays == day.weekdays):
            return False
        first, name = self.spans["day"], Day(weekdays=day.weekdays)
        is_followed = not self.pieces[self.pieces.index(first) + 1].kinds
        is_name = replace(self.day, part="") == name and first.text.replace(" ", "").isalpha()
        if is_name and (is_followed or day.repeats):
            first.is_used, self.day, self.part, self.spans["day"] = False, None, "", piece
            return False
        return day == name and piece.text.isalpha()

    def _take_day(self, piece: Piece, day: Day) -> None:
        if self.day:
            self._narrow(self.day, piece, day)
            return
        if self.wait:
            raise NotUnderstood("two-days", piece.text)
        if day.every and not day.is_of and self.every not in (None, day.every):
            raise NotUnderstood("two-repeats", piece.text)
        self.every, self.part = self.every or day.every, day.part or self.part
        self.day = None if day == Day(every=day.every, part=day.part, repeats=True) else day

    def _narrow(self, day: Day, piece: Piece, month: Day) -> None:
        """A second day can only be the month of the first one, or a span in which that repeats."""
        if day.until and month.repeats:
            day, month = month, day
        if day.repeats and month.until and not (self.starts or self.ends):
            self.day, self.starts, self.ends = day, replace(month, until=None), month.until
            return
        if not month.is_month or month.year or day.month:
            raise NotUnderstood("two-days", self.line[self.spans["day"].start : piece.end])
        self.day, self.within = day, month

    def _resolve_step(self) -> None:
        """A day that repeats has its own step; else an adverb says one, such as "monthly"."""
        day = self.day or Day()
        if self._is_often(day):
            self.day = day = replace(day, weekdays=day.all_weekdays, until=None, repeats=True)
        adverbs = [piece for piece in self.pieces if "adverb" in piece.kinds]
        if adverbs and self._is_of_weekdays(adverbs[0].kinds["adverb"], day):
            self._use_adverb(adverbs[0])
        elif self.every is None and day.repeats:
            self.every = (1, day.unit)
        elif adverbs and not (self.every or self.wait or self._is_once(adverbs[0].kinds["adverb"])):
            self._use_adverb(adverbs[0])
            if any(other.kinds["adverb"] != self.every for other in adverbs):
                raise NotUnderstood("two-repeats", adverbs[-1].text)
        if self.often and not self.every:
            self.every = (1, "days")
        if self.every and self.every[1] == "quarters":
            self.is_quarterly, self.every = True, (3 * self.every[0], "months")

    def _is_often(self, day: Day) -> bool:
        """ "Mon-Fri in May", "Tue/Thu 7pm"; "holiday Mon-Fri" may be a span, and "Fri/Sat" is a choice."""
        kinds = {kind for piece in self.pieces for kind in piece.kinds}
        if "length" in kinds or any((self.times, self.hours, self.part, self.starts, self.ends)):
            return day.is_workweek or (len(day.weekdays) > 1 and "/" in self.spans["day"].text)
        return day.is_workweek and ("count" in kinds or any((self.within, self.without, self.early)))

    def _use_adverb(self, adverb: Piece) -> None:
        if self.every not in (None, (1, "weeks"), adverb.kinds["adverb"]):
            raise NotUnderstood("two-repeats", adverb.text)
        self.every, adverb.is_used = adverb.kinds["adverb"], True

    def _is_of_weekdays(self, step: Step, day: Day) -> bool:
        """As in "weekly on Friday", or with a span of each day, "hourly on weekdays from 9 to 5"."""
        is_within = step[1] in ELAPSED and self.hours is not None
        return bool(day.weekdays) and day.repeats and (step[1] == "weeks" or is_within)

    def _is_once(self, step: Step) -> bool:
        """Whether the day is one that `step` does not go with, as in "monthly report on Friday"."""
        day = self.day or Day()
        if day.until and step == (1, "days"):
            return False
        is_one = day.named_weekday is not None and not (day.month and step[1] == "years")
        return day.is_dated or is_one or (bool(day.weekdays) and step[1] != "weeks")

    def _take_span(self) -> None:
        """From one day to another: weekdays, or when it starts and ends."""
        if self.day and isinstance(self.ends, Clock):  # of each such day, or the end of the last one?
            raise NotUnderstood("range", self.spans["ends"].text)
        if self.day is None or (last := self.day.until) is None:
            return
        if len(days := self.day.all_weekdays) > 1:  # "Monday to Thursday"
            self.day = Day(weekdays=days, repeats=True)
            self.every = (1, "weeks") if self.every == (1, "days") else self.every
        else:
            shorter = {"years", "months"} if last.month == self.day.month else {"years"}
            if self.every and self.every[1] in shorter and not last.is_dated:
                raise NotUnderstood("unfit", self.timing)  # "every year from 3 to 5 December"
            self.starts, self.ends, self.day = replace(self.day, until=None), last, None

    def _take_limits(self) -> None:
        """How often and how long it repeats."""
        if self.day and self.day.is_month and self.every and self.every[1] in ("days", *ELAPSED):
            self.day, self.within = None, self.day  # "every day in December"
        self._take_span()
        self._use_clocks()
        follows = False
        for piece in self.pieces:
            length = piece.kinds.get("length", piece.kinds.get("nextdays", ()))
            if "endsat" in piece.kinds:
                raise NotUnderstood("until", piece.text)
            if "count" in piece.kinds and self.count is None and (follows or piece.text.startswith("for ")):
                self.count, piece.is_used = piece.kinds["count"], True
            elif len(length) == 1 and self._is_limit(*length[0]):
                self.lasts, piece.is_used = length[0], True
            follows = piece.is_used or (follows and bool(piece.kinds.keys() & {"and", "open"}))

    def _is_limit(self, number: int, unit: str) -> bool:
        """Whether it repeats so long; "for 30 minutes" each week is how long the event is."""
        if unit not in ELAPSED:
            return True
        every, every_unit = self.every or (0, "")
        of = [ELAPSED.index(one) for one in (every_unit, unit) if one in ELAPSED]
        return len(of) > 1 and number * 60 ** of[1] > every * 60 ** of[0]

    def _begin_once(self) -> None:
        """A span fires once, at its start; its words become the body."""
        self._take_deadline()
        self.body = self._span()
        self._use_hours()
        self._use_start()
        if self.starts or not (self.day or "starts" in self.spans) or (self.ends and not self.body):
            return
        if self.day and isinstance(self.ends, Day):
            self.day = replace(self.day, until=self.ends)
        self.ends = None

    def _take_deadline(self) -> None:
        """ "Bis Freitag" and "hasta el viernes" are on that day; the words become the body."""
        last = self.ends
        if not isinstance(last, Day) or last.is_month or "deadline" not in self.spans["ends"].kinds:
            return
        if not (self.day or self.starts or self.hours or self.wait):
            self.day, self.ends, self.spans["day"] = last, None, self.spans["ends"]
            self.part = self.part or last.part

    def _place_midnight(self) -> None:
        """Midnight of today is its end. That of another day is asked about, unless it is named as its night."""
        if self.part or not (self.day and any(one.is_named and one.time == time() for one in self.times)):
            return
        if self.day.exact != self.now.date():
            raise self.which("midnight", self.spans["times"], [(text, text) for text in ("00:00", "23:59")])
        self.part = "night"

    def _use_clocks(self) -> None:
        """The time of days that come again, from a span of hours or "from 13:00"."""
        if self.every is None or self.every[1] in ELAPSED:
            return
        if self.hours and (self.day or self.without):
            self._use_hours()
            self.body = self.spans["hours"].text
        if isinstance(self.starts, Clock):
            if self.times:
                raise NotUnderstood("two-times", self.timing)
            self._use_start()
        if isinstance(self.ends, Clock):  # of each day, or of the first one?
            raise NotUnderstood("range", self.spans["ends"].text)

    def _use_hours(self) -> None:
        if self.hours:
            self.times, self.spans["times"] = (*self.times, self.hours[0]), self.spans["hours"]

    def _use_start(self) -> None:
        """Take the time or day from "from …", if the line has no other."""
        if isinstance(self.starts, Clock) and not self.times:
            self.times, self.spans["times"] = (self.starts,), self.spans["starts"]
        elif isinstance(self.starts, Day) and not self.day:
            self.day = self.starts.before(self.ends) if isinstance(self.ends, Day) else self.starts
            self.spans["day"] = self.spans["starts"]
        else:
            return
        self.starts = None

    def _span(self) -> str:
        first, last = self.spans.get("starts", self.spans.get("day")), self.spans.get("ends")
        if first and last:
            between = (piece for piece in self.pieces if piece.is_used and first.start <= piece.start <= last.start)
            return " ".join(piece.text for piece in between)
        if self.hours:
            return self.spans["hours"].text
        return self.spans["day"].text if self.day and self.day.until else ""
