"""Repeat from Done: "3 days after I did it". Only rules of one step have it, not those of dates such as weekdays."""

from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import NamedTuple

from dateutil.relativedelta import relativedelta
from django.utils.translation import gettext as _

from schedules.rules import civil, repetition, words
from schedules.rules.dated import DatedRule
from schedules.rules.interval import Interval
from schedules.rules.repetition import Repetition
from schedules.rules.rrule import RRule
from schedules.rules.rule import Rule

_MINUTE = timedelta(minutes=1)


class Step(NamedTuple):
    """`unit` is "minute" to "year"; `at`: the time of day, None for minutes and hours."""

    number: int
    unit: str
    at: time | None


def step(rule: Rule) -> Step | None:
    match rule:
        case Interval():
            at = civil.local(rule.zone, rule.anchor).time() if rule.unit == "days" else None
            return Step(rule.every, rule.unit.removesuffix("s"), at)
        case DatedRule():
            repeat: Repetition | None = rule.repetition
        case RRule():
            repeat = repetition.of(rule.calendar_rule)
        case _:
            return None
    if repeat is None or repeat.nth or len(repeat.days) > 1:
        return None
    return Step(repeat.interval, repetition.UNITS[repeat.frequency], repeat.time)


def begin(rule: Rule, done: datetime) -> Rule:
    """The rule that begins one step after an aware `done`: from days on at the same time of day, else at a full minute.

    A rule without a step stays as it is.
    """
    if (period := step(rule)) is None:
        return rule
    if period.at is None and isinstance(rule, Interval):
        full = done.replace(second=0, microsecond=0)
        return replace(rule, anchor=full + rule.step + (_MINUTE if full < done else timedelta(0)))
    day = civil.local(rule.zone, done) + relativedelta(**{f"{period.unit}s": period.number})
    first = datetime.combine(day, period.at or time())
    if isinstance(rule, Interval):
        return replace(rule, anchor=civil.first_instant(rule.zone, first))
    frequency = next(name for name, unit in repetition.UNITS.items() if unit == period.unit)
    text = f"DTSTART:{first:%Y%m%dT%H%M%S}\nRRULE:FREQ={frequency};INTERVAL={period.number}"
    return RRule.parse({"rule": text}, rule.timezone)


def brief(rule: Rule) -> str:
    """ "Every 3 days at 09:00, counted from Done"."""
    if (period := step(rule)) is None:
        return rule.brief()
    text = words.every(period.number, period.unit)
    text = text if period.at is None else words.at(text, f"{period.at:%H:%M}")
    return _("%(rule)s, counted from Done") % {"rule": text}


def describe(rule: Rule) -> str:
    """ "Every 3 days at 09:00, counted from Done, Berlin time"."""
    return words.in_zone(brief(rule), rule.timezone, readers=False)
