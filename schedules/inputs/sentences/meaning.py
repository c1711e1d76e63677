"""The meaning of a line: a time, an interval, a repetition or a cron expression, within a window."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

from django.utils.translation import gettext as _

from schedules.inputs.sentences.days import ELAPSED, LAST_MINUTE, PARTS, Clock, Day, Step, Times, Timing, later
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.inputs.sentences.pieces import LONGEST, clean
from schedules.inputs.sentences.sentence import Sentence
from schedules.rules import InvalidRule, civil, words
from schedules.rules.repetition import Repetition
from schedules.rules.words import DAYS

_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_MORNING_BEGINS = "05:00"
# The fields of a sentence that do not go together with one.
_EXCLUDED = {
    "wait": ("day", "every", "shorthand", "ends", "starts", "without"),
    "shorthand": ("every", "day", "times", "part", "hours", "without"),
}


@dataclass(frozen=True)
class Understood:
    """`timing` is a civil time (once), a step of minutes or hours, a repetition or a cron expression.

    The window is civil. `sentence` has the title, which may be empty.
    """

    sentence: Sentence
    timing: datetime | Timing
    zone: str
    starts: datetime | None = None
    ends: datetime | None = None


def read(line: str, instant: datetime, zone: str, language: str = "en") -> Understood:
    """The meaning of `line` at an aware `instant` for somebody in the IANA `zone`; beside English, in their `language`.

    Raises NotUnderstood, with choices where several meanings are sensible, or InvalidRule for a zone that there is not.
    """
    if not (line := clean(line)):
        raise NotUnderstood("empty")
    if len(line) > LONGEST:
        raise NotUnderstood("long", f"{LONGEST}")
    try:
        meaning = _Meaning(line, instant, zone, language)
        if meaning.sentence.zone not in ("", zone):
            # Which day it is there may differ.
            meaning = _Meaning(line, instant, meaning.sentence.zone, language)
        return meaning.understood()
    except (NotUnderstood, InvalidRule):
        raise
    except (OverflowError, ValueError):  # beyond the years of datetime
        raise NotUnderstood("date", line) from None


class _Meaning:
    def __init__(self, line: str, instant: datetime, zone: str, language: str) -> None:
        self.instant, self.zone = instant, zone
        self.now = civil.local(civil.zone(zone), instant)
        self.sentence = Sentence(line, self.now, language)
        if self.sentence.offset is not None:
            self.now = instant.astimezone(UTC).replace(tzinfo=None) + timedelta(minutes=self.sentence.offset)

    def understood(self) -> Understood:
        sentence = self.sentence
        self._fits(bool(sentence.every) or not sentence.after_done)
        for name, excluded in _EXCLUDED.items():
            self._fits(not getattr(sentence, name) or not any(getattr(sentence, other) for other in excluded))
        if sentence.wait:
            return self._waited()
        if sentence.shorthand:
            return self._in_window(sentence.shorthand)
        if sentence.every:
            return self._in_window(self._repeating(*sentence.every))
        if any((sentence.ends, sentence.starts, sentence.without)):
            raise NotUnderstood("until-once", sentence.timing)
        return self._once()

    def _fits(self, fits: bool) -> None:
        if not fits:
            raise NotUnderstood("unfit", self.sentence.timing)

    # Once.

    def _waited(self) -> Understood:
        sentence = self.sentence
        elapsed = [step for step in sentence.wait if step[1] in ELAPSED]
        day = later(self.now, [step for step in sentence.wait if step[1] not in ELAPSED])
        if not elapsed:
            clock = self._time()
            return self._at(datetime.combine(day.date(), clock.time) + _DAY * (clock.hour >= 24))
        self._fits(not sentence.times and not sentence.part)
        is_plain = len(elapsed) == len(sentence.wait)
        since = self.instant if is_plain else civil.first_instant(civil.zone(self.zone), day)
        return self._at_instant(later(since.astimezone(UTC), elapsed), any(unit == "seconds" for _, unit in elapsed))

    def _at(self, moment: datetime) -> Understood:
        if self.sentence.offset is None:
            return Understood(self.sentence, moment, self.zone)
        return self._at_instant(moment.replace(tzinfo=UTC) - timedelta(minutes=self.sentence.offset), True)

    def _at_instant(self, instant: datetime, is_exact: bool) -> Understood:
        instant, zone = instant.replace(microsecond=0), civil.zone(self.zone)
        if instant.second and not is_exact:
            instant += _MINUTE - timedelta(seconds=instant.second)
        at = civil.local(zone, instant)
        if civil.first_instant(zone, at) != instant:
            # The clock shows this time twice, and a reminder fires the first time.
            return Understood(self.sentence, instant.replace(tzinfo=None), "UTC")
        return Understood(self.sentence, at, self.zone)

    def _once(self) -> Understood:
        sentence, day = self.sentence, self.sentence.day
        if not (day or sentence.times or sentence.part):
            raise NotUnderstood("nothing", sentence.timing or sentence.line)
        if sentence.within:
            raise NotUnderstood("two-days", sentence.timing)
        if len(sentence.times) > 1:
            raise NotUnderstood("two-times", sentence.timing)
        clock = self._time()
        moment = self._moment(day, clock) if day else self._first(clock.time)
        if moment <= self.now or (day and day.ends_before(moment, self.now)):
            raise NotUnderstood("passed", sentence.timing)
        return self._at(moment)

    def _moment(self, day: Day, clock: Clock) -> datetime:
        sentence, at = self.sentence, clock.time
        if clock.hour >= 24:
            return self._after_midnight(day, at)
        if day.nth and not day.is_of and day.weekday < 7:
            name = words.weekday(day.weekday)
            raise NotUnderstood("past" if day.nth == -1 else "which-weekday", sentence.spans["day"].text, day=name)
        if day == Day(day=-1):
            day = Day(exact=day.next(self.now))  # of this month, even on its last evening
        moment = datetime.combine(day.next(self.now, at), at)
        is_often = sentence.times or not day.until or day.is_workweek  # else a span may be one event
        if len(day.all_weekdays) > 1 and is_often:
            raise self._which_day("two-days", *([moment] if day.until else []), each=day.all_weekdays)
        if (day.month, day.day, day.year) == (self.now.month, self.now.day, 0) and moment.year > self.now.year:
            raise NotUnderstood("passed", sentence.timing)
        if (day.month, day.day, day.year) == (2, 29, 0) and moment - self.now > timedelta(days=366):
            raise NotUnderstood("date", sentence.spans["day"].text)
        return self._certain(day, moment)

    def _after_midnight(self, day: Day, at: time) -> datetime:
        """The night of a day ends on the next one, and 24:00 is the next one's midnight."""
        self._fits(len(day.weekdays) < 2 and not day.nth and (day.part == "night" or not at.hour))
        is_today = day.exact == self.now.date()
        return self._first(at) if is_today else self._certain(day, datetime.combine(day.next(self.now), at)) + _DAY

    def _certain(self, day: Day, moment: datetime) -> datetime:
        """Asks if another day may be meant. A day that has begun means a later hour, if none is named."""
        if day.named_weekday not in (None, moment.weekday()):
            near = moment + timedelta(days=(day.named_weekday - moment.weekday() + 3) % 7 - 3)
            raise self._which_day("which-day", moment, near)
        today = datetime.combine(self.now, moment.time())
        if self._names_today(day) and not (self.sentence.times or self.sentence.part) and self._soon(today) > self.now:
            moment, day = today, replace(day, is_near=True)
        if day.is_near:
            raise self._which_day("which-week", moment, moment + 7 * _DAY)
        if self.sentence.times or moment.date() != self.now.date():
            return moment
        return self._soon(moment) if day.is_dated and not day.shift and moment <= self.now else moment

    def _names_today(self, day: Day) -> bool:
        """Whether it is, or begins on, a weekday alone, which may be today or in a week."""
        return replace(day, until=None) == Day(weekdays=(self.now.weekday(),))

    def _soon(self, passed: datetime) -> datetime:
        """A full hour of this day that is not too late, instead of the usual one."""
        soon = (self.now + timedelta(minutes=75)).replace(minute=0, second=0, microsecond=0)
        return soon if soon.date() == self.now.date() and soon.hour <= PARTS[self.sentence.part][3] else passed

    def _first(self, at: time, since: datetime | None = None) -> datetime:
        return Repetition("DAILY", 1, at).first(since or self.now + civil.TICK)

    def _time(self) -> Clock:
        """The only time, or that of the part of the day."""
        return self._times()[0] if self.sentence.times else Clock(PARTS[self.sentence.part][0])

    def _times(self) -> list[Clock]:
        """The times, each in the part of the day. Asks for the half of the day where it is not clear."""
        sentence = self.sentence
        if sentence.part:
            inside = [one.within(sentence.part) for one in sentence.times]
            self._fits(all(inside))
            return [one for one in inside if one is not None]
        times, hours = tuple(map(self._still_today, sentence.times)), sentence.hours or ()
        self._check_half("times", times, hours if times[0] in hours else times)
        return list(times)

    def _still_today(self, clock: Clock) -> Clock:
        """ "Today at 4" is in the half of the day that has not passed."""
        day = self.sentence.day
        is_today = day is not None and not self.sentence.every and day.exact == self.now.date()
        is_over = is_today and clock.time <= self.now.time() and self._is_unsure("times", clock)
        return clock.in_half(True) if is_over else clock

    # Questions back.

    def _which_day(self, code: str, *days: datetime, each: tuple[int, ...] = (), of: str = "day") -> NotUnderstood:
        """Asks for one of these days; or whether all of the weekdays `each` come again."""
        dates = [one.date() for one in days if one.date() >= self.now.date()]
        choices = [(words.each(each), words.each(each))] if each else []
        choices += [(f"{words.weekday(one.weekday())}, {words.day(one)}", f"{one}") for one in dates]
        return self.sentence.which(code, self.sentence.spans[of], choices)

    def _is_elsewhere(self, clock: Clock) -> bool:
        """Whether a meal has it in the other half of the day, as "dinner at 8"."""
        meals = (piece.kinds["meal"] for piece in self.sentence.pieces if "meal" in piece.kinds)
        meant = [one.time for one in map(clock.within, meals) if one is not None]
        return clock.is_open and any(one != clock.time for one in meant)

    def _is_unsure(self, name: str, clock: Clock) -> bool:
        is_exact = ":" in self.sentence.spans[name].text and clock.hour > 9
        return clock.is_unclear or (not is_exact and self._is_elsewhere(clock))

    def _check_half(self, name: str, times: Times, shown: Times) -> None:
        """Asks for the half of the day, if one of these times of a field may be in both."""
        if not any(self._is_unsure(name, one) for one in times):
            return
        separator = "-" if self.sentence.hours else ", "
        night, day = (separator.join(one.shown(is_second) for one in shown) for is_second in (False, True))
        text = _("%(time)s at night") if night < _MORNING_BEGINS else _("%(time)s in the morning")
        choices = [(text % {"time": night}, night), (day, day)]
        raise self.sentence.which("which-time", self.sentence.spans[name], choices, night=night, day=day)

    # Repeating.

    def _repeating(self, number: int, unit: str) -> Timing:
        sentence = self.sentence
        self._check_step(number, unit)
        unit = self._leave_out(number, unit)
        if unit in ELAPSED:
            return self._within_day(number, unit)
        if sentence.hours and not sentence.day:  # "every day from 9 to 17": each hour?
            raise NotUnderstood("range", sentence.spans["hours"].text)
        self._fits(not (sentence.day and sentence.is_past_midnight))  # it would be another weekday
        is_cron = len(sentence.times) > 1 or (sentence.day and sentence.day.several)
        return self._at_times(number, unit) if is_cron else self._repetition(number, unit)

    def _check_step(self, number: int, unit: str) -> None:
        """Whether a reminder can repeat so often."""
        sentence, day = self.sentence, self.sentence.day
        if sentence.offset:
            raise NotUnderstood("zone", sentence.timing)
        if sentence.often not in (0, len(sentence.times)):
            raise NotUnderstood("vague", sentence.spans["often"].text)
        if number < 1 or unit == "workdays" or (day and day.is_counted):
            raise NotUnderstood("every", sentence.timing)
        if unit == "seconds":
            raise NotUnderstood("seconds")

    def _leave_out(self, number: int, unit: str) -> str:
        """Narrow the day to the weekdays that remain. Returns the unit: days come weekly then."""
        sentence, day = self.sentence, self.sentence.day
        if not sentence.without:
            return unit
        self._fits(bool(day) or unit in ELAPSED or (number, unit) == (1, "days"))
        weekdays = tuple(one for one in (day.weekdays if day else range(7)) if one not in sentence.without)
        sentence.day = replace(day or Day(), weekdays=weekdays)
        return "weeks" if unit == "days" and not day else unit

    def _repetition(self, number: int, unit: str) -> Repetition:
        day = self.sentence.day
        if day and day.is_dated:
            raise NotUnderstood("two-days", self.sentence.timing)
        at = self._time().time
        if day is None:
            begins = self._limit("starts", self.now + civil.TICK) or self.now
            weekdays = (begins.weekday(),) if unit == "weeks" else ()
            return Day(day=begins.day, month=begins.month, weekdays=weekdays).repetition(unit, number, at)
        if unit in ("months", "years") and day.weekdays:
            raise NotUnderstood("which-weekday", day=words.weekday(day.weekdays[0]))
        day, number, unit = day.counted(number, unit)
        self._fits(unit == day.unit)
        return day.repetition(unit, number, at)

    def _within_day(self, number: int, unit: str) -> Step | str:
        sentence, day = self.sentence, self.sentence.day
        self._fits(not sentence.times and not sentence.part)
        if not (day or sentence.hours):
            return number, unit
        step, days = f"/{number}" if number > 1 else "", self._cron_days(day)
        if (60 if unit == "minutes" else 24) % number:
            raise NotUnderstood("small-unit", sentence.timing)
        minute, hours = self._cron_hours(unit, *sentence.hours) if sentence.hours else (0, "*")
        return f"*{step} {hours} {days}" if unit == "minutes" else f"{minute} {hours}{step} {days}"

    def _cron_hours(self, unit: str, first: Clock, last: Clock) -> tuple[int, str]:
        if first.is_unclear or last.time <= first.time:
            raise NotUnderstood("range", self.sentence.spans["hours"].text)
        if first.minute != last.minute or (unit == "minutes" and first.minute):
            raise NotUnderstood("small-unit", self.sentence.timing)
        # Not later than the end of the span: 9 to 17 in minutes ends before 17:00.
        return first.minute, f"{first.hour}-{last.hour - (unit == 'minutes')}"

    def _at_times(self, number: int, unit: str) -> str:
        day = self.sentence.day
        times = sorted({one.time for one in (self._times() if self.sentence.times else [self._time()])})
        if (
            number != 1
            or not (unit in ("days", "weeks") or (day and day.several))
            or len({one.minute for one in times}) > 1
        ):
            raise NotUnderstood("two-times", self.sentence.timing)
        today = Day(weekdays=(self.now.weekday(),)) if unit == "weeks" else None
        hours = ",".join(str(one.hour) for one in times)
        return f"{times[0].minute} {hours} {self._cron_days(day or today)}"

    def _cron_days(self, day: Day | None) -> str:
        """The fields for day, month and weekday."""
        if day and day.several:
            self._fits(not self.sentence.without)
            return day.several
        weekdays = day.weekdays if day else range(7)
        self._fits(bool(weekdays))
        return "* * *" if len(weekdays) == 7 else "* * " + ",".join(DAYS[one][:3].lower() for one in weekdays)

    # The window.

    def _in_window(self, timing: Timing) -> Understood:
        sentence = self.sentence
        starts, ends = self._starts(), None
        if sentence.within:
            first = datetime.combine(sentence.within.next(self.now.replace(day=1)), time())
            starts, ends = max(starts or self.now, first), later(first, [(1, "months")]) - _MINUTE
        since = starts or self.now
        ends = self._limit("ends", since) or ends
        if sentence.lasts:
            if ends:
                raise NotUnderstood("two-ends", sentence.timing)
            ends = later(starts or self.now.replace(second=0, microsecond=0), [sentence.lasts]) - _MINUTE
        if ends and ends < since:
            raise NotUnderstood("passed", sentence.timing)
        return Understood(sentence, timing, self.zone, starts, ends)

    def _starts(self) -> datetime | None:
        """Without a day, steps of months or years begin one step from now."""
        starts, day = self._limit("starts", self.now + civil.TICK), self.sentence.day
        if starts or day:
            return day.in_quarter(self.now) if day and not starts and self.sentence.is_quarterly else starts
        number, unit = self.sentence.every or (1, "")
        if number == 1 or unit not in ("months", "years"):
            return None
        return datetime.combine(later(self.now, [(number, unit)]).date(), time())

    def _limit(self, name: str, since: datetime) -> datetime | None:
        """When it "starts" or "ends"."""
        limit = getattr(self.sentence, name)
        if isinstance(limit, Clock):
            self._check_half(name, (limit,), (limit,))
            return self._first(limit.time, since)
        if limit is None:
            return None
        on = limit.next(since)
        if limit.named_weekday not in (None, on.weekday()):
            raise NotUnderstood("which-day", self.sentence.timing)
        if self._names_today(limit) and on == self.now.date() and name in self.sentence.spans:
            raise self._which_day("which-week", self.now, self.now + 7 * _DAY, of=name)
        if name == "starts":
            return datetime.combine(on, time())
        return datetime.combine(on, LAST_MINUTE) - limit.is_month * _DAY
