"""A cron expression in words: in English all of it, by cronsim; in other languages the common ones."""

import re
from collections.abc import Sequence
from datetime import time

from cronsim.explain import Expression
from django.utils.translation import get_language, gettext as _

from schedules.rules import words

_NUMBERS = re.compile(r"\d+(,\d+)*")
_STEP = re.compile(r"\*/(\d+)")


def explain(described: Sequence[str], day_and: bool) -> str:
    """The five fields `described`. `day_and`: day of month and day of week must both match."""
    if not (get_language() or "en").startswith("en"):
        return _common(*described) or _("By a cron expression")
    expression = Expression(["0", *described])
    expression.day_and = day_and
    return re.sub(r"\b(\d+)th\b", lambda match: words.ordinal(int(match[1])), expression.explain())


def _common(minute: str, hour: str, day: str, month: str, weekday: str) -> str:
    """ "" for one that is not common."""
    days = _days(day, weekday) if month == "*" else ""
    if not days:
        return ""
    if minute.isdigit() and _NUMBERS.fullmatch(hour):
        times = [f"{time(int(one), int(minute)):%H:%M}" for one in hour.split(",")]
        return words.at(days, *times)
    if (day, weekday) != ("*", "*"):
        return ""
    if hour == "*" and (minute == "*" or _STEP.fullmatch(minute)):
        return words.every(int(minute[2:] or 1), "minute")
    if minute == "0" and (hour == "*" or _STEP.fullmatch(hour)):
        return words.every(int(hour[2:] or 1), "hour")
    return ""


def _days(day: str, weekday: str) -> str:
    if weekday == "*":
        if day == "*":
            return words.every(1, "day")
        return (
            words.monthly(1, words.day_of_month(-1 if day == "L" else int(day))) if day == "L" or day.isdigit() else ""
        )
    if day != "*":
        return ""
    if weekday == "1-5":
        return _("Every weekday")
    if not _NUMBERS.fullmatch(weekday):
        return ""
    # Here 0 and 7 are Sunday.
    named = sorted({(int(number) - 1) % 7 for number in weekday.split(",")})
    return _("Every %(days)s") % {"days": words.listed([words.weekday(number) for number in named])}
