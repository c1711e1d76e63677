"""Find what a line says about time, piece by piece, from left to right. What is left is the title."""

from __future__ import annotations

from datetime import date, time

from common import zones
from schedules.quick_add import clock, days, english
from schedules.quick_add.days import Day
from schedules.quick_add.english import NotUnderstood
from schedules.quick_add.said import Said, Step
from schedules.quick_add.tokens import Tokens
from schedules.rules import civil
from schedules.rules.cron_text import SHORTHANDS


class Reader:
    def __init__(self, line: str, today: date, language: str) -> None:
        self.tokens = Tokens(line, language)
        self.today = today
        self.said = Said()
        # Of the pieces that count only in a repetition.
        self._adverb: tuple[int, int, Step] | None = None
        self._bounds: list[tuple[int, int]] = []

    def read(self) -> Said:
        tokens, said = self.tokens, self.said
        pieces = (
            self._shorthand, self._zone, self._every, self._adverbs, self._wait, self._span, self._until, self._from,
            self._for, self._times, self._except, self._day, self._time, self._part,
        )  # fmt: skip
        while tokens.at < len(tokens.all):
            begin = tokens.at
            for piece in pieces:
                if piece():
                    self._refuse_relative(begin)
                    tokens.mark(begin)
                    break
                tokens.at = begin
            else:
                tokens.at += 1
        self._decide()
        said.title = tokens.rest()
        said.timing = " ".join(
            token.text for token, used in zip(tokens.all, tokens.used, strict=True) if used and token.text
        )
        return said

    def _decide(self) -> None:
        """Keep, or give back to the title, what counts only in a repetition."""
        said, tokens = self.said, self.tokens
        if self._adverb is not None:
            begin, end, step = self._adverb
            if said.every is None and not said.repeats and not said.wait and not self._is_once(step):
                said.every = step
            else:
                tokens.used[begin:end] = [False] * (end - begin)
        if not (said.every or said.repeats or said.shorthand):
            for begin, end in self._bounds:
                tokens.used[begin:end] = [False] * (end - begin)

    def _is_once(self, step: Step) -> bool:
        """Whether the day is one that `step` does not go with, as in "monthly report on Friday"."""
        day = self.said.day
        if day is None:
            return False
        return day.exact is not None or day.year > 0 or (bool(day.weekdays) and step[1] != "weeks")

    def _refuse_relative(self, begin: int) -> None:
        if begin and self.tokens.lower[begin - 1] in english.RELATIVE and not self.tokens.used[begin - 1]:
            raise NotUnderstood("relative", self.tokens.text(begin - 1))

    def _shorthand(self) -> bool:
        if self.tokens.peek() not in SHORTHANDS:
            return False
        self.said.shorthand = self.tokens.peek()
        return self.tokens.take({self.said.shorthand})

    def _zone(self) -> bool:
        tokens, written = self.tokens, self.tokens.all[self.tokens.at].text
        # "CET" only behind a time.
        if written in zones.known() and ("/" in written or (written.isupper() and tokens.follows_used())):
            self.said.zone = written
            return tokens.take({tokens.peek()})
        if written[:3].upper() in ("GMT", "UTC") and len(written) > 3 and written[3] in "+-":
            civil.zone(written)  # refuses it, with a suggestion
        for length in (2, 1):
            if tokens.peek(length) in english.ZONE_WORD:
                city = "_".join(tokens.lower[tokens.at : tokens.at + length])
                found = [name for name in sorted(zones.known()) if name.lower().endswith(f"/{city}")]
                if found:
                    self.said.zone = found[0]
                    tokens.at += length + 1
                    return True
        return False

    def _every(self) -> bool:
        tokens, said, begin = self.tokens, self.said, self.tokens.at
        if tokens.take(english.ONCE) and tokens.take(english.A | english.EVERY):
            unit = tokens.unit()
            return unit is not None and self._repeat(begin, (1, unit))
        tokens.at = begin
        if not tokens.take(english.EVERY):
            return False
        if tokens.take(english.OTHER):
            number: int | None = 2
        elif tokens.take(english.HALF) and tokens.take(english.HOUR):
            return self._repeat(begin, (30, "minutes"))
        else:
            here = tokens.at
            number = tokens.ordinal()
            if number is None or number < 2 or tokens.unit() is None or tokens.peek() in english.OF:
                tokens.at = here
                number = tokens.number()
                if tokens.peek() in english.MONTH_NAMES or tokens.peek() in english.OF:
                    tokens.at, number = here, None  # 24 December
            else:
                tokens.at -= 1  # every third week
        # "every second Friday" is no step of seconds.
        unit = tokens.unit() if number is not None or tokens.peek() not in english.ORDINALS else None
        if unit:
            return self._repeat(begin, (1 if number is None else number, unit))
        said.repeats = True
        if tokens.peek() in english.PARTS_OF_DAY or tokens.peek() in english.NAMED_TIMES:
            if tokens.peek() in english.PARTS_OF_DAY:
                said.part = tokens.peek()
            else:
                said.times.append(english.NAMED_TIMES[tokens.peek()])
            tokens.at += 1
            return self._repeat(begin, (number or 1, "days"))
        found = days.read(tokens, self.today, after_every=True)
        if found is None or found.exact is not None or found.year:
            tokens.at = min(tokens.at + 1, len(tokens.all))
            raise NotUnderstood("every", tokens.text(begin))
        if found.nth in (2, 3, 4) and not found.is_of:
            nth, name = (token.text for token in tokens.all[tokens.at - 2 : tokens.at])
            raise NotUnderstood("which", tokens.text(begin), n=found.nth, nth=nth, day=name)
        if number is not None and number > 1:
            if not found.weekdays:
                raise NotUnderstood("every", tokens.text(begin))
            self._repeat(begin, (number, "weeks"))
        return self._set_day(begin, found)

    def _repeat(self, begin: int, step: Step) -> bool:
        said = self.said
        if said.every is not None and said.every != step:
            raise NotUnderstood("two-repeats", self.tokens.text(begin))
        number, unit = step
        said.every = (3 * number, "months") if unit == "quarters" else step
        said.repeats = True
        return True

    def _adverbs(self) -> bool:
        tokens, begin = self.tokens, self.tokens.at
        if tokens.peek() not in english.ADVERBS or self._adverb is not None:
            return False
        tokens.at += 1
        self._adverb = (begin, tokens.at, english.ADVERBS[tokens.lower[begin]])
        return True

    def _wait(self) -> bool:
        tokens, begin = self.tokens, self.tokens.at
        has_in = tokens.take(english.IN)
        steps: list[Step] = []
        while True:
            here = tokens.at
            if steps:
                tokens.take(english.AND)
            if tokens.take(english.HALF):
                tokens.take(english.A)
                step: tuple[int | None, str | None] = (30, "minutes" if tokens.unit() == "hours" else None)
            else:
                step = (tokens.number(), tokens.unit())
            if step[0] is None or step[1] is None:
                tokens.at = here
                break
            steps.append((step[0], {"quarters": "months"}.get(step[1], step[1])))
        if not steps or not (has_in or tokens.take_all(*english.FROM_NOW)):
            return False
        if self.said.wait or not all(number for number, _ in steps):
            raise NotUnderstood("in", tokens.text(begin))
        self.said.wait = steps
        return True

    def _span(self) -> bool:
        """ "from 9 to 17" """
        tokens, begin = self.tokens, self.tokens.at
        if not (tokens.take(english.FROM) or tokens.take(english.BETWEEN)):
            return False
        first = clock.read(tokens, is_expected=True)
        if first is None or not (tokens.take(english.UNTIL_TIME) or tokens.take(english.AND)):
            return False
        last = clock.read(tokens, is_expected=True)
        if last is None:
            return False
        if not (self.said.every and self.said.every[1] in ("minutes", "hours")) or last <= first:
            raise NotUnderstood("range", tokens.text(begin))
        self.said.hours = (first, last)
        return True

    def _until(self) -> bool:
        tokens, said, begin = self.tokens, self.said, self.tokens.at
        if not tokens.take(english.UNTIL):
            return False
        found: Day | time | None = days.read(tokens, self.today, alone=True)
        if found is None and tokens.peek()[:2] == "20" and len(tokens.peek()) == 4 and (year := tokens.number()):
            found = Day(exact=date(year - 1, 12, 31))
        found = found or clock.read(tokens, is_expected=True)
        if found is None:
            raise NotUnderstood("until", tokens.text(begin, tokens.at + 1))
        if said.ends is not None:
            raise NotUnderstood("two-ends", tokens.text(begin))
        said.ends = found
        return True

    def _from(self) -> bool:
        tokens, begin = self.tokens, self.tokens.at
        if not tokens.take(english.FROM):
            return False
        tokens.take(english.ON | english.FROM)
        found = days.read(tokens, self.today, alone=True)
        if found is None:
            if tokens.lower[begin] in english.STARTING:
                raise NotUnderstood("from", tokens.text(begin, tokens.at + 1))
            return False
        self.said.starts = found
        return True

    def _for(self) -> bool:
        tokens, begin = self.tokens, self.tokens.at
        if not tokens.take(english.FOR):
            return False
        number, unit = tokens.number(), tokens.unit()
        if number and unit is None and tokens.take(english.TIMES):
            self.said.count = number
        elif number and unit in ("days", "weeks", "months", "years"):
            self.said.lasts = (number, unit)
        else:
            return False
        self._bounds.append((begin, tokens.at))
        return True

    def _times(self) -> bool:
        tokens, begin = self.tokens, self.tokens.at
        if not tokens.follows_used():
            return False
        written = tokens.peek()
        if written.endswith("x") and written[:-1].isdecimal():
            tokens.at += 1
            number: int | None = int(written[:-1])
        elif (number := tokens.number()) is None or not tokens.take(english.TIMES):
            return False
        self.said.count = number
        self._bounds.append((begin, tokens.at))
        return True

    def _except(self) -> bool:
        tokens = self.tokens
        if not tokens.follows_used() or not tokens.take(english.EXCEPT):
            return False
        tokens.take(english.ON | english.FOR)
        found = days.read(tokens, self.today, after_every=True)
        if found is None or not found.weekdays:
            raise NotUnderstood("relative", tokens.text(tokens.at - 1, tokens.at + 1))
        self.said.without = found.weekdays
        return True

    def _day(self) -> bool:
        begin = self.tokens.at
        found = days.read(self.tokens, self.today)
        return found is not None and self._set_day(begin, found)

    def _set_day(self, begin: int, found: Day) -> bool:
        said = self.said
        if said.day is not None or said.wait:
            raise NotUnderstood("two-days", self.tokens.text(begin))
        said.day = found
        said.part = found.part or said.part
        said.repeats = said.repeats or found.repeats
        if found.every is not None and said.every is None:
            said.every = found.every
        return True

    def _time(self) -> bool:
        tokens, begin = self.tokens, self.tokens.at
        found = clock.read(tokens, is_expected=tokens.take(english.AT) or tokens.follows_used())
        if found is None:
            return False
        times = [found]
        while True:
            here = tokens.at
            if not tokens.take(english.AND):
                break
            tokens.take(english.AND | english.AT)
            following = clock.read(tokens, is_expected=True)
            if following is None:
                tokens.at = here
                break
            times.append(following)
        if tokens.peek() in {"-", "–"} and tokens.peek(1)[:1].isdigit():
            raise NotUnderstood("range", tokens.text(begin, tokens.at + 2))
        if self.said.times:
            raise NotUnderstood("two-times")
        self.said.times = times
        return True

    def _part(self) -> bool:
        tokens = self.tokens
        # Not so in "every day 7:00 morning run".
        follows = tokens.follows_used() and not tokens.lower[tokens.at - 1][0].isdigit()
        is_named = (
            (tokens.take(english.IN) and tokens.take(english.THE))
            or tokens.take(english.THIS)
            or (tokens.take(english.AT) and tokens.peek() == english.NIGHT)
        )
        if tokens.peek() not in english.PARTS_OF_DAY or not (is_named or follows):
            return False
        if tokens.lower[tokens.at - 1] in english.THIS and self.said.day is None:
            self.said.day = Day(exact=self.today)
        self.said.part = tokens.peek()
        tokens.at += 1
        return True
