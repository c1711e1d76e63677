"""What a line means: a time, an interval, a repetition or a cron expression, within a window."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

from django.utils.translation import gettext as _

from schedules.inputs.sentences.days import LAST_MINUTE, PARTS, Clock, Day, Step, Times, Timing, Understood, later
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.inputs.sentences.reader import ELAPSED, Said
from schedules.rules import InvalidRule, civil, words
from schedules.rules.repetition import Repetition
from schedules.rules.words import DAYS

LONGEST = 300
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
        found = _Meaning(line, instant, zone, language)
        if found.said.zone not in ("", zone):
            # Which day it is there may differ.
            found = _Meaning(line, instant, found.said.zone, language)
        return replace(found.understood(), body=found.said.body)
    except (NotUnderstood, InvalidRule):
        raise
    except (OverflowError, ValueError):  # beyond the years of datetime
        raise NotUnderstood("date", line) from None


class _Meaning:
    def __init__(self, line: str, instant: datetime, zone: str, language: str) -> None:
        self.instant, self.zone = instant, zone
        self.now = civil.local(civil.zone(zone), instant)
        self.said = Said(line, self.now, language)
        if self.said.offset is not None:
            self.now = instant.astimezone(UTC).replace(tzinfo=None) + timedelta(minutes=self.said.offset)

    def understood(self) -> Understood:
        said = self.said
        if said.wait:
            self._fits(not (said.day or said.every or said.shorthand or said.ends or said.starts))
            return self._waited()
        if said.shorthand:
            self._fits(not (said.every or said.day or said.times or said.part or said.hours))
            return self._in_window(said.shorthand)
        if said.every:
            if said.offset:
                raise NotUnderstood("zone", said.timing)
            return self._in_window(self._repeating(*said.every))
        if said.ends or said.starts:
            raise NotUnderstood("until-once", said.timing)
        if not (said.day or said.times or said.part):
            raise NotUnderstood("nothing", said.timing or said.line)
        return self._once()

    def _fits(self, fits: bool) -> None:
        if not fits:
            raise NotUnderstood("unfit", self.said.timing)

    # Once.

    def _waited(self) -> Understood:
        said = self.said
        elapsed = [step for step in said.wait if step[1] in ELAPSED]
        day = later(self.now, [step for step in said.wait if step[1] not in ELAPSED])
        if not elapsed:
            return self._at(datetime.combine(day.date(), self._time().time))
        self._fits(not said.times and not said.part)
        is_plain = len(elapsed) == len(said.wait)
        since = self.instant if is_plain else civil.first_instant(civil.zone(self.zone), day)
        return self._at_instant(later(since.astimezone(UTC), elapsed), any(unit == "seconds" for _, unit in elapsed))

    def _at(self, found: datetime) -> Understood:
        if self.said.offset is None:
            return Understood(self.said.title, found, self.zone)
        return self._at_instant(found.replace(tzinfo=UTC) - timedelta(minutes=self.said.offset), True)

    def _at_instant(self, instant: datetime, is_exact: bool) -> Understood:
        instant, zone = instant.replace(microsecond=0), civil.zone(self.zone)
        if instant.second and not is_exact:
            instant += _MINUTE - timedelta(seconds=instant.second)
        at = civil.local(zone, instant)
        if civil.first_instant(zone, at) != instant:
            # The clock shows this time twice, and a reminder fires the first time.
            return Understood(self.said.title, instant.replace(tzinfo=None), "UTC")
        return Understood(self.said.title, at, self.zone)

    def _once(self) -> Understood:
        said, day = self.said, self.said.day
        if len(said.times) > 1:
            raise NotUnderstood("two-times")
        clock = self._time()
        found = self._moment(day, clock) if day else self._first(clock.time)
        since = found if day and day.exact and not day.shift else self.now
        if found <= self.now or (day and day.until and day.until.next(since) < found.date()):
            raise NotUnderstood("passed", said.timing)
        return self._at(found)

    def _moment(self, day: Day, clock: Clock) -> datetime:
        said, at = self.said, clock.time
        if clock.hour >= 24:
            self._fits(day.exact is not None and (day.part == "night" or not at.hour))
            is_today = day.exact == self.now.date()
            return self._first(at) if is_today else datetime.combine(day.next(self.now), at) + _DAY
        if len(day.weekdays) > 1:
            raise NotUnderstood("two-days", said.timing)
        if day.nth and not day.is_of:
            name = words.weekday(day.weekday % 7)
            raise NotUnderstood("past" if day.nth == -1 else "which-weekday", said.spans["day"].text, day=name)
        if day == Day(day=-1):
            day = Day(exact=day.next(self.now))  # of this month, even on its last evening
        found = datetime.combine(day.next(self.now, at), at)
        if (day.month, day.day) == (2, 29) and not day.year and found - self.now > timedelta(days=366):
            raise NotUnderstood("date", said.spans["day"].text)
        return self._certain(day, found)

    def _certain(self, day: Day, found: datetime) -> datetime:
        """Asks if another day may be meant. A day that has begun means a later hour, if none is said."""
        if day.said is not None and day.said != found.weekday():
            near = found + timedelta(days=(day.said - found.weekday() + 3) % 7 - 3)
            raise self._which_day("which-day", found, near)
        is_today = found.date() == self.now.date()
        if not is_today or self.said.times:
            return found
        if day == Day(weekdays=day.weekdays) and not self.said.part:
            raise self._which_day("which-week", found, found + 7 * _DAY)
        if day.exact and not day.shift and found <= self.now:
            soon = (self.now + timedelta(minutes=75)).replace(minute=0, second=0, microsecond=0)
            return soon if soon.date() == self.now.date() and soon.hour <= PARTS[self.said.part][3] else found
        return found

    def _first(self, at: time, since: datetime | None = None) -> datetime:
        return Repetition("DAILY", 1, at).first(since or self.now + civil.TICK)

    def _time(self) -> Clock:
        """The only time that was said, or that of the part of the day."""
        return self._times()[0] if self.said.times else Clock(PARTS[self.said.part][0])

    def _times(self) -> list[Clock]:
        """The times, each in the part of the day. Asks for the half of the day where it is not clear."""
        said = self.said
        if said.part:
            found = [one.within(said.part) for one in said.times]
            self._fits(all(found))
            return [one for one in found if one is not None]
        self._check_half("time", said.times, said.hours if said.hours and said.times[0] in said.hours else ())
        return list(said.times)

    # Questions back.

    def _which_day(self, code: str, *days: datetime) -> NotUnderstood:
        dates = [one.date() for one in days if one > self.now]
        choices = [(f"{words.weekday(one.weekday())}, {words.day(one)}", f"{one}") for one in dates]
        return self.said.which(code, self.said.spans["day"], choices)

    def _is_elsewhere(self, clock: Clock) -> bool:
        """Whether a meal has it in the other half of the day, as "dinner at 8"."""
        meals = (piece.kinds["meal"] for piece in self.said.pieces if "meal" in piece.kinds)
        meant = [one.time for one in map(clock.within, meals) if one is not None]
        return clock.is_open and any(one != clock.time for one in meant)

    def _check_half(self, kind: str, times: Times, shown: Times = ()) -> None:
        """Asks for the half of the day, if one of these times may be in both."""
        piece = self.said.spans[kind]
        if not any(one.is_unclear or (":" not in piece.text and self._is_elsewhere(one)) for one in times):
            return
        before = "" if kind == "time" else f"{piece.text.split()[0]} "  # "until 5", without the time
        separator = "-" if self.said.hours else ", "
        night, day = (
            separator.join(
                f"{one.hour % 12 + half if one.is_open else one.hour:02}:{one.minute:02}" for one in shown or times
            )
            for half in (0, 12)
        )
        name = _("%(time)s at night") if night < _MORNING_BEGINS else _("%(time)s in the morning")
        raise self.said.which("which-time", piece, [(name % {"time": night}, before + night), (day, before + day)])

    # Repeating.

    def _repeating(self, number: int, unit: str) -> Timing:
        said, day = self.said, self.said.day
        if number < 1 or (day and (day.movable or day.shift)):
            raise NotUnderstood("every", said.timing)
        if unit == "seconds":
            raise NotUnderstood("seconds")
        if said.without:
            self._fits(bool(day) or unit in ELAPSED or (number, unit) == (1, "days"))
            unit = "weeks" if unit == "days" and not day else unit
            weekdays = tuple(one for one in (day.weekdays if day else range(7)) if one not in said.without)
            said.day = day = replace(day or Day(), weekdays=weekdays)
        if unit in ELAPSED:
            return self._within_day(number, unit)
        if said.hours:
            raise NotUnderstood("range", said.spans["clocks"].text)
        if len(said.times) > 1:
            return self._at_times(number, unit)
        if day and (day.exact or day.year):
            raise NotUnderstood("two-days", said.timing)
        return self._repetition(number, unit, self._time().time)

    def _repetition(self, number: int, unit: str, at: time) -> Repetition:
        if (day := self.said.day) is None:
            begins = self._begin() or self.now
            weekdays = (begins.weekday(),) if unit == "weeks" else ()
            return Day(day=begins.day, month=begins.month, weekdays=weekdays).repetition(unit, number, at)
        if unit in ("months", "years") and day.weekdays:
            raise NotUnderstood("which-weekday", day=words.weekday(day.weekdays[0]))
        if day.month and unit == "months":
            # "every year" may be said as "of March".
            self._fits(number % 12 == 0)
            number, unit = number // 12, "years"
        self._fits(unit == day.unit)
        return day.repetition(unit, number, at)

    def _within_day(self, number: int, unit: str) -> Step | str:
        said, day = self.said, self.said.day
        self._fits(not said.times and not said.part)
        if not (day or said.hours):
            return number, unit
        step, days = f"/{number}" if number > 1 else "", self._cron_days(day)
        if (60 if unit == "minutes" else 24) % number:
            raise NotUnderstood("small-unit", said.timing)
        minute, hours = self._cron_hours(unit, *said.hours) if said.hours else (0, "*")
        return f"*{step} {hours} * * {days}" if unit == "minutes" else f"{minute} {hours}{step} * * {days}"

    def _cron_hours(self, unit: str, first: Clock, last: Clock) -> tuple[int, str]:
        if first.is_unclear or last.time <= first.time:
            raise NotUnderstood("range", self.said.spans["clocks"].text)
        if first.minute != last.minute or (unit == "minutes" and first.minute):
            raise NotUnderstood("small-unit", self.said.timing)
        # Not later than the end of the span: 9 to 17 in minutes ends before 17:00.
        return first.minute, f"{first.hour}-{last.hour - (unit == 'minutes')}"

    def _at_times(self, number: int, unit: str) -> str:
        times = sorted({one.time for one in self._times()})
        if number != 1 or unit not in ("days", "weeks") or len({one.minute for one in times}) > 1:
            raise NotUnderstood("two-times")
        today = Day(weekdays=(self.now.weekday(),)) if unit == "weeks" else None
        hours = ",".join(str(one.hour) for one in times)
        return f"{times[0].minute} {hours} * * {self._cron_days(self.said.day or today)}"

    def _cron_days(self, day: Day | None) -> str:
        weekdays = day.weekdays if day else range(7)
        self._fits(bool(weekdays))
        return "*" if len(weekdays) == 7 else ",".join(DAYS[one][:3].lower() for one in weekdays)

    # The window.

    def _in_window(self, timing: Timing) -> Understood:
        """Without a day, steps of months or years begin one step from now."""
        said = self.said
        starts, ends = self._begin(), None
        number, unit = said.every or (1, "")
        if not (starts or said.day) and number > 1 and unit in ("months", "years"):
            starts = datetime.combine(later(self.now, [(number, unit)]).date(), time())
        if said.within:
            first = datetime.combine(said.within.next(self.now.replace(day=1)), time())
            starts, ends = max(starts or self.now, first), later(first, [(1, "months")]) - _MINUTE
        if said.ends:
            ends = self._end(said.ends, starts or self.now)
        if said.lasts:
            if ends:
                raise NotUnderstood("two-ends", said.timing)
            ends = later(starts or self.now.replace(second=0, microsecond=0), [said.lasts]) - _MINUTE
        if ends and ends < (starts or self.now):
            raise NotUnderstood("passed", said.timing)
        return Understood(said.title, timing, self.zone, starts, ends, said.count)

    def _begin(self) -> datetime | None:
        starts = self.said.starts
        if isinstance(starts, Clock):
            self._check_half("begins", (starts,))
            return self._first(starts.time)
        return datetime.combine(starts.next(self.now), time()) if starts else None

    def _end(self, ends: Day | Clock, since: datetime) -> datetime:
        if isinstance(ends, Clock):
            self._check_half("ends", (ends,))
            return self._first(ends.time, since)
        last = ends.next(since) - timedelta(days=ends.is_month)
        return datetime.combine(last, LAST_MINUTE)
