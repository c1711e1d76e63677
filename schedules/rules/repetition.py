"""Calendar rules as calendars offer them: every n days, weeks, months or years, on which days, at one time."""

from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import Any

from django.utils.translation import gettext as _, pgettext

from schedules.rules import rrule_text, words
from schedules.rules.calendar_rule import CalendarRule
from schedules.rules.civil import TICK
from schedules.rules.invalid import InvalidRule, Work
from schedules.rules.rrule_text import WEEKDAYS

# A day of `Repetition.weekday`, beside 0 (Monday) to 6.
WORKDAY = 7
_SHORTEST = 28
UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_A_LEAP_YEAR = 2000


@dataclass(frozen=True)
class Repetition:
    """Every `interval` of `frequency` (of an RRULE) at `time`.

    WEEKLY: on `days`, 0 for Monday. MONTHLY and YEARLY: on the `nth` (1 to 4, -1 for the last) `weekday` of the month,
    or, where `nth` is 0, on `day` (-1 for the last); a month without that day uses its last one, or none (`short`).
    YEARLY: in `month`.
    """

    frequency: str
    interval: int
    time: time
    days: tuple[int, ...] = ()
    nth: int = 0
    weekday: int = 0
    day: int = 1
    short: str = "last"
    month: int = 1

    @property
    def is_dated(self) -> bool:
        """Whether a rule of dates is enough for it: daily, weekly or monthly."""
        return self.interval == 1 and self.frequency != "YEARLY" and not self.nth

    def text(self, since: datetime) -> str:
        """The text of the calendar rule that begins at `first(since)`. Raises InvalidRule("day")."""
        return self._from(self.first(since))

    def first(self, since: datetime) -> datetime:
        """The first of these times from the civil time `since` on, whatever the interval.

        Raises InvalidRule("day") if `month` has no such day.
        """
        if self.frequency == "YEARLY" and not self.nth:
            longest = monthrange(_A_LEAP_YEAR, self.month)[1]
            if self.day > longest:
                raise InvalidRule("day", "month_too_short", month=self.month, longest=longest)
        begin = datetime.combine(since, self.time)
        rule, _text = rrule_text.read(replace(self, interval=1)._from(begin), "UTC", Work())
        return next(rule.after(since - TICK, Work()), begin)

    def _from(self, start: datetime) -> str:
        return f"DTSTART:{start:%Y%m%dT%H%M%S}\nRRULE:{';'.join(self._parts())}"

    def _parts(self) -> list[str]:
        parts = [f"FREQ={self.frequency}"]
        if self.interval > 1:
            parts.append(f"INTERVAL={self.interval}")
        if self.frequency == "WEEKLY":
            parts.append(f"BYDAY={_listed(self.days)}")
        if self.frequency == "YEARLY":
            parts.append(f"BYMONTH={self.month}")
        return parts if self.frequency in ("DAILY", "WEEKLY") else [*parts, self._day_of_month()]

    def _day_of_month(self) -> str:
        if self.nth and self.weekday == WORKDAY:
            return f"BYDAY={_listed(range(5))};BYSETPOS={self.nth}"
        if self.nth:
            return f"BYDAY={self.nth}{WEEKDAYS[self.weekday]}"
        if self.day <= _SHORTEST or self.short == "skip":
            return f"BYMONTHDAY={self.day}"
        if self.day == 31:
            return "BYMONTHDAY=-1"
        # The latest of these days that the month has.
        return f"BYMONTHDAY={','.join(map(str, range(_SHORTEST, self.day + 1)))};BYSETPOS=-1"

    def describe(self) -> str:
        """ "On the last Friday of every month at 16:00"."""
        return words.at(self._described(), f"{self.time:%H:%M}")

    def _which_day(self) -> str:
        if not self.nth:
            return words.day_of_month(self.day)
        day = pgettext("first, second …", "weekday") if self.weekday == WORKDAY else words.weekday(self.weekday)
        return str(words.NTH[self.nth] % {"day": day})

    def _described(self) -> str:
        often = words.every(self.interval, UNITS[self.frequency])
        if self.frequency == "DAILY":
            return often
        if self.frequency == "WEEKLY":
            if self.interval == 1:
                return words.each(self.days)
            days = words.listed([words.weekday(day) for day in self.days])
            return _("%(rule)s on %(days)s") % {"rule": often, "days": days}
        which = self._which_day()
        if self.frequency == "YEARLY":
            parts = {"rule": often, "which": which, "month": words.month(self.month)}
            rule = _("%(rule)s on %(which)s of %(month)s") % parts
        else:
            rule = words.monthly(self.interval, which)
        if self.nth or self.day <= _SHORTEST:
            return rule
        return _("%(rule)s (if there is one)") % {"rule": rule} if self.short == "skip" else words.last_if_shorter(rule)


def of(rule: CalendarRule) -> Repetition | None:
    if rule.frequency not in UNITS or rule.start.second:
        return None
    rule = rule.explicit()
    repetition = replace(
        Repetition(rule.frequency, rule.interval, rule.start.time(), month=rule.months[0] if rule.months else 1),
        **_days(rule),
    )
    if repetition.day < -1 or (repetition.nth and repetition.nth not in words.NTH):
        return None
    # The rule may have parts that a repetition does not.
    again, _text = rrule_text.read(repetition._from(rule.start), "UTC", Work())
    return repetition if again == rule else None


def _days(rule: CalendarRule) -> dict[str, Any]:
    """The fields of a repetition that say on which days it is."""
    if rule.frequency == "WEEKLY":
        return {"days": tuple(day for _, day in rule.days)}
    if rule.days:
        nth, weekday = (rule.positions[-1], WORKDAY) if rule.positions else rule.days[0]
        return {"nth": nth, "weekday": weekday}
    if rule.month_days:
        day = rule.month_days[-1]
        return {"day": day, "short": "last" if rule.positions or day <= _SHORTEST else "skip"}
    return {}


def _listed(days: range | tuple[int, ...]) -> str:
    return ",".join(WEEKDAYS[day] for day in days)
