"""What a line means: a time, an interval, a repetition or a cron expression, within a window."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from schedules.quick_add import english
from schedules.quick_add.days import Day, in_year, months_later
from schedules.quick_add.english import NotUnderstood
from schedules.quick_add.reader import Reader
from schedules.quick_add.said import Said
from schedules.rules import InvalidRule, civil, words
from schedules.rules.repetition import Repetition
from schedules.rules.words import DAYS

LONGEST = 300
_LAST_MINUTE = time(23, 59)
_FREQUENCIES = {"days": "DAILY", "weeks": "WEEKLY", "months": "MONTHLY", "years": "YEARLY"}
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Interval:
    """Every `number` "minutes" or "hours"."""

    number: int
    unit: str


@dataclass(frozen=True)
class Understood:
    """`timing` is a civil time (once), an interval, a repetition or a cron expression; the window is civil.

    `title` is what is left of the line; it may be empty.
    """

    title: str
    timing: datetime | Interval | Repetition | str
    zone: str
    starts: datetime | None = None
    ends: datetime | None = None
    count: int | None = None


def read(line: str, instant: datetime, zone: str, language: str = "en") -> Understood:
    """What `line` means at an aware `instant` for somebody in the IANA `zone`; beside English, in their `language`.

    Raises NotUnderstood, or InvalidRule for a zone that there is not.
    """
    line = " ".join(line.split())
    if not line:
        raise NotUnderstood("empty")
    if len(line) > LONGEST:
        raise NotUnderstood("long", f"{LONGEST}")
    said = Reader(line, civil.local(civil.zone(zone), instant).date(), language).read()
    if said.zone and said.zone != zone:
        # Which day it is there may differ.
        zone = said.zone
        said = Reader(line, civil.local(civil.zone(zone), instant).date(), language).read()
    try:
        return _Meaning(said, line, instant, zone).understood()
    except (NotUnderstood, InvalidRule):
        raise
    except (OverflowError, ValueError):  # beyond the years of datetime
        raise NotUnderstood("date", said.timing) from None


class _Meaning:
    def __init__(self, said: Said, line: str, instant: datetime, zone: str) -> None:
        self.said, self.line, self.instant, self.zone = said, line, instant, zone
        self.now = civil.local(civil.zone(zone), instant)

    def understood(self) -> Understood:
        said = self.said
        if said.wait:
            self._fits(not (said.repeats or said.every or said.shorthand or said.ends or said.starts))
            return self._waited()
        if said.shorthand:
            self._fits(not (said.every or said.day or said.times or said.part or said.hours))
            return self._in_window(said.shorthand)
        if said.every or said.repeats:
            return self._in_window(self._repeating())
        if said.day is None and not said.times and not said.part:
            raise self._nothing()
        if said.ends is not None or said.starts is not None:
            raise NotUnderstood("until-once", said.timing)
        return self._once()

    def _nothing(self) -> NotUnderstood:
        words = self.line.lower().split()
        if slashed := next((word for word in words if word.count("/") and word.replace("/", "").isdigit()), None):
            return NotUnderstood("slashes", slashed)
        if vague := next((word.strip(".,!") for word in words if word.strip(".,!") in english.VAGUE), None):
            return NotUnderstood("vague", vague)
        return NotUnderstood("nothing", self.line)

    def _fits(self, fits: bool) -> None:
        if not fits:
            raise NotUnderstood("unfit", self.said.timing)

    # Once.

    def _waited(self) -> Understood:
        said, elapsed, day = self.said, timedelta(), self.now
        months = 0
        for number, unit in said.wait:
            if unit in ("months", "years"):
                months += number * (12 if unit == "years" else 1)
            elif unit == "weeks":
                elapsed += timedelta(weeks=number)
            else:
                elapsed += timedelta(**{unit: number})
        if all(unit in ("seconds", "minutes", "hours") for _, unit in said.wait):
            self._fits(said.day is None and not said.times and not said.part)
            return self._at_instant(self.instant + elapsed, {unit for _, unit in said.wait})
        self._fits(said.day is None)
        day = months_later(day + elapsed, months)
        return Understood(said.title, datetime.combine(day, self._time()), self.zone)

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

    def _once(self) -> Understood:
        said, day = self.said, self.said.day
        if len(said.times) > 1:
            raise NotUnderstood("two-times")
        at = self._time()
        if day is None:
            found = self._first(Repetition("DAILY", 1, at))
        elif day.exact is not None:
            found = datetime.combine(day.exact, at)
            if found <= self.now and not said.times and day.exact == self.now.date():
                # That part of the day has begun: a full hour, 15 to 75 minutes ahead.
                later = (self.now + timedelta(minutes=75)).replace(minute=0, second=0, microsecond=0)
                found = later if later.date() == day.exact else found
        elif len(day.weekdays) > 1:
            raise NotUnderstood("two-days", said.timing)
        elif day.weekdays:
            found = self._first(Repetition("WEEKLY", 1, at, days=day.weekdays))
        elif day.nth == -1 and not day.is_of:
            name = said.timing.split()[-1]
            raise NotUnderstood("past", said.timing, day=name)
        elif day.year and not day.nth:
            found = datetime.combine(in_year(day), at)
        else:
            repetition = self._monthly(day, at, "YEARLY" if day.month else "MONTHLY", 1)
            since = self.now if not day.year else datetime(day.year, 1, 1)  # noqa: DTZ001 - civil
            found = replace(repetition, short="skip").first(since)
        if found <= self.now:
            raise NotUnderstood("passed", said.timing)
        return Understood(said.title, found, self.zone)

    def _first(self, repetition: Repetition) -> datetime:
        return repetition.first(self.now + civil.TICK)

    # Repeating.

    def _repeating(self) -> Interval | Repetition | str:
        said = self.said
        number, unit = said.every or (1, self._implied_unit())
        if number < 1:
            raise NotUnderstood("every", said.timing)
        if unit == "seconds":
            raise NotUnderstood("seconds")
        if unit in ("minutes", "hours"):
            return self._within_day(number, unit)
        self._fits(said.hours is None)
        if len(said.times) > 1:
            return self._at_times(number, unit)
        return self._repetition(number, unit, self._time())

    def _implied_unit(self) -> str:
        day = self.said.day
        if day is None:
            return "days"
        if day.weekdays:
            return "weeks"
        return "years" if day.month else "months"

    def _repetition(self, number: int, unit: str, at: time) -> Repetition:
        said, day = self.said, self.said.day
        begins = self._begin() or self.now
        if day is not None and (day.exact is not None or day.year):
            raise NotUnderstood("two-days", said.timing)
        if unit == "days" and said.without and number == 1 and day is None:
            day, unit = Day(weekdays=(0, 1, 2, 3, 4, 5, 6)), "weeks"
        if unit == "days":
            self._fits(day is None and not said.without)
            return Repetition("DAILY", number, at)
        if unit == "weeks":
            weekdays = day.weekdays if day is not None else (begins.weekday(),)
            weekdays = tuple(one for one in weekdays if one not in said.without)
            self._fits(bool(weekdays))
            return Repetition("WEEKLY", number, at, days=weekdays)
        self._fits(not said.without)
        if day is None:
            return Repetition(_FREQUENCIES[unit], number, at, day=begins.day, month=begins.month)
        if day.weekdays:
            raise NotUnderstood("which-weekday", day=words.weekday(day.weekdays[0]))
        if day.month and unit == "months":
            # "every year" may be said as "of March".
            self._fits(number % 12 == 0 or said.every is None)
            number, unit = max(1, number // 12), "years"
        if unit == "years" and not day.month:
            self._fits(False)
        return self._monthly(day, at, _FREQUENCIES[unit], number)

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
        first, last = said.hours or (time(0), time(23, 59))
        whole = 60 if unit == "minutes" else 24
        if whole % number or (unit == "minutes" and (first.minute or (said.hours and last.minute))):
            raise NotUnderstood("small-unit", said.timing)
        if unit == "hours" and said.hours and first.minute != last.minute:
            raise NotUnderstood("small-unit", said.timing)
        # Not later than the end of the span: 9 to 17 in minutes ends before 17:00.
        end = last.hour - (unit == "minutes" and said.hours is not None)
        hours = "*" if said.hours is None else f"{first.hour}-{end}"
        step = f"/{number}" if number > 1 else ""
        if unit == "minutes":
            return f"*{step} {hours} * * {self._cron_days(day)}"
        return f"{first.minute} {hours}{step} * * {self._cron_days(day)}"

    def _at_times(self, number: int, unit: str) -> str:
        times = sorted(set(self.said.times))
        if number != 1 or unit not in ("days", "weeks") or len({one.minute for one in times}) > 1:
            raise NotUnderstood("two-times")
        day = self.said.day
        if unit == "weeks" and day is None:
            day = Day(weekdays=(self.now.weekday(),))
        hours = ",".join(str(one.hour) for one in times)
        return f"{times[0].minute} {hours} * * {self._cron_days(day)}"

    def _cron_days(self, day: Day | None) -> str:
        weekdays = tuple(range(7)) if day is None else day.weekdays
        weekdays = tuple(one for one in weekdays if one not in self.said.without)
        self._fits(bool(weekdays))
        return "*" if len(weekdays) == 7 else ",".join(DAYS[one][:3].lower() for one in weekdays)

    # The window.

    def _in_window(self, timing: Interval | Repetition | str) -> Understood:
        said = self.said
        starts, ends = self._begin(), None
        if said.ends is not None:
            ends = self._end(said.ends, starts or self.now)
        if said.lasts is not None:
            if ends is not None:
                raise NotUnderstood("two-ends", said.timing)
            number, unit = said.lasts
            days = timedelta(days=number if unit == "days" else 7 * number if unit == "weeks" else 0)
            months = {"months": number, "years": 12 * number}.get(unit, 0)
            ends = months_later((starts or self.now.replace(second=0, microsecond=0)) + days, months)
            ends -= _MINUTE
        if ends is not None and ends < (starts or self.now):
            raise NotUnderstood("passed", said.timing)
        return Understood(said.title, timing, self.zone, starts, ends, said.count)

    def _begin(self) -> datetime | None:
        return None if self.said.starts is None else datetime.combine(self._date(self.said.starts), time())

    def _end(self, ends: Day | time, since: datetime) -> datetime:
        if isinstance(ends, time):
            return Repetition("DAILY", 1, ends).first(since)
        is_month = bool(ends.month) and not ends.day and not ends.nth
        last = self._date(ends, since) - timedelta(days=is_month)
        return datetime.combine(last, _LAST_MINUTE)

    def _date(self, day: Day, since: datetime | None = None) -> date:
        """The next such day, today included."""
        since = since or self.now
        if day.exact is not None:
            return day.exact
        if day.weekdays:
            return Repetition("WEEKLY", 1, _LAST_MINUTE, days=day.weekdays[:1]).first(since).date()
        if day.year and not day.nth:
            return in_year(day)
        repetition = self._monthly(day, _LAST_MINUTE, "YEARLY" if day.month else "MONTHLY", 1)
        return repetition.first(since).date()

    def _time(self) -> time:
        said = self.said
        if not said.times:
            return english.PARTS_OF_DAY.get(said.part, english.MORNING)
        at = said.times[0]
        if said.part in english.SECOND_HALF and 1 <= at.hour < 12:
            return at.replace(hour=at.hour + 12)
        return at
