"""The fields of what repeats by the calendar: daily, weekly, monthly, yearly, and every so many of them."""

from collections.abc import Callable, Sequence
from datetime import datetime, time
from typing import Any

from django import forms
from django.utils.dates import MONTHS, WEEKDAYS
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy

from common.forms.edit_form import TypedForm
from common.texts.types import StrOrPromise
from schedules.rules import Rule, WorkingDays, fields, repetition, words
from schedules.rules.dated import Daily, Monthly, Weekly, read_day, read_days, read_short
from schedules.rules.invalid import all_of
from schedules.rules.repetition import WORKDAY, Repetition
from schedules.rules.rrule import RRule

_SHORT: list[tuple[str, StrOrPromise]] = [
    ("last", gettext_lazy("its last day instead")),
    ("skip", gettext_lazy("nothing in that month")),
]
_ordinal = lazy(words.ordinal, str)
_DAYS_OF_MONTH: list[tuple[str, StrOrPromise]] = [
    *((str(day), _ordinal(day)) for day in range(1, 32)),
    ("last", gettext_lazy("last day")),
]
_NTH = [
    ("", gettext_lazy("a day of the month")),
    ("1", gettext_lazy("the first …")),
    ("2", gettext_lazy("the second …")),
    ("3", gettext_lazy("the third …")),
    ("4", gettext_lazy("the fourth …")),
    ("-1", gettext_lazy("the last …")),
]
_DAYS = [(str(number), name) for number, name in WEEKDAYS.items()]
_WEEKDAYS: list[tuple[str, StrOrPromise]] = [*_DAYS, (str(WORKDAY), gettext_lazy("Monday to Friday"))]
_MONTHS: list[tuple[str, StrOrPromise]] = [(str(number), name) for number, name in MONTHS.items()]
_MOST = 1_000
_DATED = {rule.kind: rule for rule in (Daily, Weekly, Monthly)}


class ClockField(forms.CharField):
    """A civil time or a time of day: a value, or a text that the rule reads. An instant stays what it is."""

    def to_python(self, value: Any) -> Any:
        return value if isinstance(value, datetime | time) else super().to_python(value)

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, datetime | time):
            return value
        return value.isoformat(timespec="auto" if value.second or value.microsecond else "minutes")


class _Days(forms.MultipleChoiceField):
    """Whole numbers, or texts that the rule refuses."""

    def valid_value(self, value: Any) -> bool:
        return True

    def clean(self, value: Any) -> list[Any]:
        return [number(day) for day in super().clean(value)]

    def prepare_value(self, value: Any) -> Any:
        return value and [*map(str, value)]


def select(
    label: StrOrPromise, choices: Sequence[tuple[str, StrOrPromise]], initial: str, help_text: StrOrPromise = ""
) -> forms.CharField:
    """One of several; only the rule refuses other values."""
    widget = forms.Select(choices=choices)
    return forms.CharField(label=label, required=False, initial=initial, widget=widget, help_text=help_text)


class RepeatForm(TypedForm):
    """If a plain rule suffices, it is one of our own kinds; otherwise it is a calendar rule."""

    step = forms.CharField(
        label=gettext_lazy("Repeat every"),
        required=False,
        widget=forms.NumberInput(attrs={"min": 1, "max": _MOST, "inputmode": "numeric", "placeholder": "1"}),
    )
    days = _Days(label=gettext_lazy("Days"), choices=_DAYS, required=False, widget=forms.CheckboxSelectMultiple)
    month = select(gettext_lazy("Month"), _MONTHS, "1")
    nth = select(gettext_lazy("On"), _NTH, "")
    weekday = select(gettext_lazy("Day of the week"), _WEEKDAYS, "0")
    day = select(gettext_lazy("Day of the month"), _DAYS_OF_MONTH, "1")
    short = select(gettext_lazy("In a shorter month"), _SHORT, "last")
    time = ClockField(
        label=gettext_lazy("Time"),
        required=False,
        initial="09:00",
        widget=forms.TimeInput(attrs={"type": "time", "autocomplete": "off"}),
    )


def rule(cleaned: dict[str, Any], zone: str, now: datetime, anchor: datetime | None) -> Rule:
    """`now` and `anchor`, from whose day it counts, are civil. Raises InvalidRule."""
    typed, since = _read(cleaned), now
    if typed.is_dated:
        return _DATED[cleaned["kind"]](zone, typed)
    if anchor is not None:
        since = datetime.combine(anchor, time())
        if typed.interval == 1:
            # It counts nothing: keep the day on which it began, but leave out no day before.
            since = min(since, now)
    return RRule.parse({"rule": typed.text(since)}, zone)


def typed(rule: Rule, now: datetime) -> dict[str, Any]:
    """The values of the fields for `rule`, if they can show all of it. `now` is civil."""
    rule = rule.rule if isinstance(rule, WorkingDays) else rule
    if not isinstance(rule, RRule) or (repeats := repetition.of(rule.calendar_rule)) is None:
        return {}
    start = rule.calendar_rule.start
    if repeats.first(start) != start:
        return {}
    # Saved again, these would become a plain rule, or begin before the DTSTART that somebody wrote.
    if repeats.is_dated or (repeats.interval == 1 and start > repeats.first(now)):
        return {}
    return shown(repeats) | {"anchor": start}


def shown(repetition: Repetition) -> dict[str, Any]:
    """The values of the fields for it."""
    values: dict[str, Any] = {
        "kind": repetition.frequency.lower(),
        "step": repetition.interval if repetition.interval > 1 else "",
        "time": repetition.time.replace(second=0, microsecond=0),
    }
    if repetition.frequency == "WEEKLY":
        return values | {"days": [*repetition.days]}
    if repetition.frequency == "DAILY":
        return values
    values |= {"month": repetition.month, "nth": repetition.nth or ""}
    if repetition.nth:
        return values | {"weekday": repetition.weekday}
    return values | {"day": "last" if repetition.day == -1 else repetition.day, "short": repetition.short}


def number(text: str) -> int | str:
    """The typed whole number, or the text itself, which the rule then refuses."""
    return int(text) if text.isascii() and text.removeprefix("-").isdigit() and len(text) < 10 else text


def _read(cleaned: dict[str, Any]) -> Repetition:
    kind = cleaned["kind"]
    step = number(cleaned.get("step") or "1")
    reads: dict[str, Callable[[], Any]] = {
        "interval": lambda: fields.whole_number(step, "step", 1, _MOST, "step", most=_MOST),
        "time": lambda: fields.time_of_day(cleaned),
    }
    if kind == "weekly":
        reads["days"] = lambda: read_days(cleaned.get("days"))
    if kind == "yearly":
        reads["month"] = lambda: _chosen(cleaned, "month", _MONTHS)
    if kind in ("monthly", "yearly"):
        reads["nth"] = lambda: _chosen(cleaned, "nth", _NTH)
        if cleaned.get("nth"):
            reads["weekday"] = lambda: _chosen(cleaned, "weekday", _WEEKDAYS)
        else:
            reads["day"] = lambda: read_day(number(cleaned.get("day", "")))
            reads["short"] = lambda: read_short(cleaned.get("short") or "last")
    return Repetition(frequency=kind.upper(), **all_of(**reads))


def _chosen(cleaned: dict[str, Any], name: str, choices: Sequence[tuple[str, StrOrPromise]]) -> int:
    value = cleaned.get(name) or ("" if name == "nth" else choices[0][0])
    if value not in dict(choices):
        raise fields.unusable(name, name, value)
    return int(value or 0)
