"""What a line means: a time, an interval, a repetition or a cron expression, within a window."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

from django.utils.translation import gettext as _

from schedules.inputs.sentences.days import (
    Clock,
    Day,
    Interval,
    Piece,
    Understood,
    default_clock,
    in_year,
    later,
    movable_day,
    soon,
)
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.inputs.sentences.reader import ELAPSED, Said, said
from schedules.rules import InvalidRule, civil, words
from schedules.rules.repetition import Repetition
from schedules.rules.words import DAYS

LONGEST = 300
_LAST_MINUTE = time(23, 59)
_FREQUENCIES = {"days": "DAILY", "weeks": "WEEKLY", "months": "MONTHLY", "years": "YEARLY"}
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_MORNING_BEGINS = "05:00"


def read(line: str, instant: datetime, zone: str, language: str = "en") -> Understood:
    """What `line` means at an aware `instant` for somebody in the IANA `zone`; beside English, in their `language`.

    Raises NotUnderstood, with choices where several meanings are sensible, or InvalidRule for a zone that there is not.
    """
    if not (line := " ".join(line.split())):
        raise NotUnderstood("empty")
    if len(line) > LONGEST:
        raise NotUnderstood("long", f"{LONGEST}")
    try:
        found = said(line, civil.local(civil.zone(zone), instant).date(), language)
        if found.zone and found.zone != zone:
            # Which day it is there may differ.
            zone = found.zone
            found = said(line, civil.local(civil.zone(zone), instant).date(), language)
        return replace(_Meaning(found, instant, zone).understood(), body=found.body)
    except (NotUnderstood, InvalidRule):
        raise
    except (OverflowError, ValueError):  # beyond the years of datetime
        raise NotUnderstood("date", line) from None


class _Meaning:
    def __init__(self, said: Said, instant: datetime, zone: str) -> None:
        self.said, self.instant, self.zone = said, instant, zone
        self.now = civil.local(civil.zone(zone), instant)
        if said.offset is not None:
            self.now = instant.astimezone(UTC).replace(tzinfo=None) + timedelta(minutes=said.offset)

    def understood(self) -> Understood:
        said = self.said
        if said.wait:
            self._fits(not (said.repeats or said.every or said.shorthand or said.ends or said.starts))
            return self._waited()
        if said.shorthand:
            self._fits(not (said.every or said.day or said.times or said.part or said.hours))
            return self._in_window(said.shorthand)
        if said.every or said.repeats:
            if said.offset:
                raise NotUnderstood("zone", said.timing)
            return self._in_window(self._repeating())
        if said.day is None and not said.times and not said.part:
            raise NotUnderstood("until-once" if said.ends or said.starts else "nothing", said.timing or said.line)
        if said.ends is not None or said.starts is not None:
            raise NotUnderstood("until-once", said.timing)
        return self._once()

    def _fits(self, fits: bool) -> None:
        if not fits:
            raise NotUnderstood("unfit", self.said.timing)

    # Once.

    def _waited(self) -> Understood:
        said = self.said
        self._fits(said.day is None)
        elapsed = {unit: number for number, unit in said.wait if unit in ELAPSED}
        day = later(self.now, [step for step in said.wait if step[1] not in ELAPSED])
        if elapsed:
            self._fits(not said.times and not said.part)
            since = self.instant if len(elapsed) == len(said.wait) else civil.first_instant(civil.zone(self.zone), day)
            return self._at_instant(since + timedelta(**elapsed), set(elapsed))
        return self._at(datetime.combine(day.date(), self._time().time))

    def _at_instant(self, instant: datetime, units: set[str]) -> Understood:
        instant = instant.astimezone(UTC).replace(microsecond=0)
        if "seconds" not in units and instant.second:
            instant += _MINUTE - timedelta(seconds=instant.second)
        zone = civil.zone(self.zone)
        at = civil.local(zone, instant)
        if civil.first_instant(zone, at) != instant:
            # The clock shows this time twice, and a reminder fires the first time.
            return Understood(self.said.title, civil.local(civil.zone("UTC"), instant), "UTC")
        return Understood(self.said.title, at, self.zone)

    def _at(self, found: datetime) -> Understood:
        if self.said.offset is None:
            return Understood(self.said.title, found, self.zone)
        instant = found.replace(tzinfo=UTC) - timedelta(minutes=self.said.offset)
        return self._at_instant(instant, {"seconds"})

    def _once(self) -> Understood:
        said = self.said
        if len(said.times) > 1:
            raise NotUnderstood("two-times")
        clock = self._time()
        found = self._moment(clock.time, clock.hour >= 24)
        until = said.day.until if said.day is not None else None
        since = found if said.day is not None and said.day.exact and not said.day.shift else self.now
        if found <= self.now or (until is not None and self._date(until, since=since) < found.date()):
            raise NotUnderstood("passed", said.timing)
        return self._at(found)

    def _moment(self, at: time, is_after_midnight: bool) -> datetime:
        said, day = self.said, self.said.day
        if day is None:
            return self._first(Repetition("DAILY", 1, at))
        if is_after_midnight:
            self._fits(day.exact is not None and (day.part == "night" or not at.hour))
            found = self._first(Repetition("DAILY", 1, at))
            return found if day.exact == self.now.date() else datetime.combine(day.exact or found, at) + _DAY
        if len(day.weekdays) > 1:
            raise NotUnderstood("two-days", said.timing)
        if day.nth and not day.is_of:
            name = words.weekday(day.weekday % 7)
            raise NotUnderstood("past" if day.nth == -1 else "which-weekday", said.spans["day"].text, day=name)
        if day == Day(day=-1):
            day = Day(exact=self._date(day))  # of this month, even on its last evening
        found = datetime.combine(self._date(day, at), at)
        if (day.month, day.day) == (2, 29) and not day.year and found - self.now > timedelta(days=366):
            raise NotUnderstood("date", said.spans["day"].text)
        if day.said is not None and found.weekday() != day.said:
            near = found + timedelta(days=(day.said - found.weekday() + 3) % 7 - 3)
            raise self._which("which-day", found, near)
        if found <= self.now and day.exact == self.now.date() and not (said.times or day.shift):
            return soon(said.part, self.now) or found
        is_plain = day == Day(weekdays=day.weekdays) and not said.times and not said.part
        if is_plain and found.date() == self.now.date():
            raise self._which("which-week", found, found + 7 * _DAY)
        return found

    def _which(self, code: str, *days: datetime) -> NotUnderstood:
        """Asks which of the days is meant."""
        span = self.said.spans["day"]
        dates = [one.date() for one in days if one > self.now]
        choices = [
            (f"{words.weekday(one.weekday())}, {words.day(one)}", self._with(span, one.isoformat())) for one in dates
        ]
        return NotUnderstood(code, span.text, choices)

    def _with(self, piece: Piece, text: str) -> str:
        return self.said.line[: piece.start] + text + self.said.line[piece.end :]

    def _first(self, repetition: Repetition) -> datetime:
        return repetition.first(self.now + civil.TICK)

    def _time(self) -> Clock:
        """The only time that was said, or that of the part of the day."""
        return self._times()[0] if self.said.times else default_clock(self.said.part)

    def _times(self) -> list[Clock]:
        """The times, each in the part of the day. Asks for the half of the day where it is not clear."""
        said = self.said
        if said.part:
            found = [one.within(said.part) for one in said.times]
            self._fits(all(found))
            return [one for one in found if one is not None]
        if any(one.is_unclear for one in said.times):
            is_span = said.hours is not None and said.times[0] in said.hours
            raise self._which_time("time", (said.hours or ()) if is_span else said.times)
        return list(said.times)

    def _which_time(self, kind: str, times: tuple[Clock, ...]) -> NotUnderstood:
        piece = self.said.spans[kind]
        before = "" if kind == "time" else f"{piece.text.split()[0]} "  # "until 5", without the time
        separator = "-" if self.said.hours else ", "
        texts = [
            separator.join(f"{one.hour % 12 + half if one.is_open else one.hour:02}:{one.minute:02}" for one in times)
            for half in (0, 12)
        ]
        name = _("%(time)s at night") if texts[0] < _MORNING_BEGINS else _("%(time)s in the morning")
        names = (name % {"time": texts[0]}, texts[1])
        choices = [(name, self._with(piece, before + text)) for name, text in zip(names, texts, strict=True)]
        return NotUnderstood("which-time", piece.text, choices)

    # Repeating.

    def _repeating(self) -> Interval | Repetition | str:
        said, day = self.said, self.said.day
        implied = "days" if day is None else "weeks" if day.weekdays else "years" if day.month else "months"
        number, unit = said.every or (1, implied)
        if number < 1 or (day is not None and (day.movable or day.shift)):
            raise NotUnderstood("every", said.timing)
        if unit == "seconds":
            raise NotUnderstood("seconds")
        if unit in ELAPSED:
            return self._within_day(number, unit)
        if said.hours is not None:
            raise NotUnderstood("range", said.spans["clocks"].text)
        if len(said.times) > 1:
            return self._at_times(number, unit)
        return self._repetition(number, unit, self._time().time)

    def _repetition(self, number: int, unit: str, at: time) -> Repetition:
        said, day = self.said, self.said.day
        if day is not None and (day.exact is not None or day.year):
            raise NotUnderstood("two-days", said.timing)
        begins = self._begin() or self.now
        if unit == "days" and number == 1 and day is None and said.without:
            return Repetition("WEEKLY", 1, at, days=self._weekdays(range(7)))
        if unit == "weeks":
            weekdays = self._weekdays(day.weekdays if day is not None else [begins.weekday()])
            return Repetition("WEEKLY", number, at, days=weekdays)
        self._fits(not said.without)
        if day is None:
            return Repetition(_FREQUENCIES[unit], number, at, day=begins.day, month=begins.month)
        if unit != "days" and day.weekdays:
            raise NotUnderstood("which-weekday", day=words.weekday(day.weekdays[0]))
        if day.month and unit == "months":
            # "every year" may be said as "of March".
            self._fits(number % 12 == 0 or said.every is None)
            number, unit = max(1, number // 12), "years"
        self._fits(unit == "months" or (unit == "years" and bool(day.month)))
        return self._monthly(day, at, _FREQUENCIES[unit], number)

    def _weekdays(self, weekdays: Iterable[int]) -> tuple[int, ...]:
        """Those that are not left out."""
        found = tuple(one for one in weekdays if one not in self.said.without)
        self._fits(bool(found))
        return found

    def _monthly(self, day: Day, at: time, frequency: str, number: int) -> Repetition:
        month = day.month or 1
        if day.nth:
            return Repetition(frequency, number, at, nth=day.nth, weekday=day.weekday, month=month)
        return Repetition(frequency, number, at, day=day.day or 1, month=month)

    def _within_day(self, number: int, unit: str) -> Interval | str:
        said, day = self.said, self.said.day
        self._fits(not said.times and not said.part)
        if day is None and said.hours is None and not said.without:
            return Interval(number, unit)
        self._fits(day is None or bool(day.weekdays))
        if (60 if unit == "minutes" else 24) % number:
            raise NotUnderstood("small-unit", said.timing)
        step = f"/{number}" if number > 1 else ""
        days = self._cron_days(day)
        if said.hours is None:
            return f"*{step} * * * {days}" if unit == "minutes" else f"0 *{step} * * {days}"
        return self._cron_hours(unit, step, days, *said.hours)

    def _cron_hours(self, unit: str, step: str, days: str, first: Clock, last: Clock) -> str:
        if first.is_unclear or last.time <= first.time:
            raise NotUnderstood("range", self.said.spans["clocks"].text)
        if first.minute != last.minute or (unit == "minutes" and first.minute):
            raise NotUnderstood("small-unit", self.said.timing)
        if unit == "minutes":
            # Not later than the end of the span: 9 to 17 in minutes ends before 17:00.
            return f"*{step} {first.hour}-{last.hour - 1} * * {days}"
        return f"{first.minute} {first.hour}-{last.hour}{step} * * {days}"

    def _at_times(self, number: int, unit: str) -> str:
        times = sorted({one.time for one in self._times()})
        if number != 1 or unit not in ("days", "weeks") or len({one.minute for one in times}) > 1:
            raise NotUnderstood("two-times")
        day = self.said.day
        if unit == "weeks" and day is None:
            day = Day(weekdays=(self.now.weekday(),))
        hours = ",".join(str(one.hour) for one in times)
        return f"{times[0].minute} {hours} * * {self._cron_days(day)}"

    def _cron_days(self, day: Day | None) -> str:
        weekdays = self._weekdays(range(7) if day is None else day.weekdays)
        return "*" if len(weekdays) == 7 else ",".join(DAYS[one][:3].lower() for one in weekdays)

    # The window.

    def _in_window(self, timing: Interval | Repetition | str) -> Understood:
        said = self.said
        starts, ends = self._begin(timing), None
        if said.within is not None:
            first = in_year(replace(said.within, year=self._date(replace(said.within, day=-1)).year))
            starts = max(starts or self.now, datetime.combine(first, time()))
            ends = later(datetime.combine(first, time()), [(1, "months")]) - _MINUTE
        if said.ends is not None:
            ends = self._end(said.ends, starts or self.now)
        if said.lasts is not None:
            if ends is not None:
                raise NotUnderstood("two-ends", said.timing)
            ends = later(starts or self.now.replace(second=0, microsecond=0), [said.lasts]) - _MINUTE
        if ends is not None and ends < (starts or self.now):
            raise NotUnderstood("passed", said.timing)
        return Understood(said.title, timing, self.zone, starts, ends, said.count)

    def _begin(self, timing: Interval | Repetition | str | None = None) -> datetime | None:
        """When the repetition starts. Without a day, steps of months or years begin one step from now."""
        said = self.said
        if isinstance(said.starts, Clock):
            return self._first(Repetition("DAILY", 1, self._clear(said.starts, "begins")))
        if said.starts is not None:
            return datetime.combine(self._date(said.starts), time())
        is_long = isinstance(timing, Repetition) and timing.interval > 1 and timing.frequency in ("MONTHLY", "YEARLY")
        if is_long and said.every is not None and said.day is None:
            return datetime.combine(later(self.now, [said.every]).date(), time())
        return None

    def _clear(self, clock: Clock, kind: str) -> time:
        if clock.is_unclear:
            raise self._which_time(kind, (clock,))
        return clock.time

    def _end(self, ends: Day | Clock, since: datetime) -> datetime:
        if isinstance(ends, Clock):
            return Repetition("DAILY", 1, self._clear(ends, "ends")).first(since)
        is_month = bool(ends.month) and not ends.day and not ends.nth
        last = self._date(ends, since=since) - timedelta(days=is_month)
        return datetime.combine(last, _LAST_MINUTE)

    def _date(self, day: Day, at: time = _LAST_MINUTE, since: datetime | None = None) -> date:
        """The next such day, today included until `at`."""
        since = since or self.now
        if day.shift:
            first = self._date(replace(day, shift=()), at, since)
            return later(datetime.combine(first, time()), list(day.shift)).date()
        if day.movable:
            return movable_day(day, since.date())
        if day.exact is not None:
            return day.exact
        if day.year and not day.nth:
            return in_year(day)
        if day.weekdays:
            repetition = Repetition("WEEKLY", 1, at, days=day.weekdays[:1])
        else:
            repetition = replace(self._monthly(day, at, "YEARLY" if day.month else "MONTHLY", 1), short="skip")
            since = datetime(day.year, 1, 1) if day.year else since  # noqa: DTZ001 - civil
        return repetition.first(since + civil.TICK).date()
