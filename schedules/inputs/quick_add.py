"""Quick add: the values of a reminder's form from one line."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.text import get_text_list
from django.utils.translation import get_language, gettext_lazy as _

from schedules.inputs import repeat_form, sentences
from schedules.inputs.reminder_form import ReminderForm
from schedules.inputs.sentences import NotUnderstood, Understood
from schedules.inputs.timing_form import TimingForm
from schedules.rules import InvalidRule, Timetable, civil, early
from schedules.rules.repetition import Repetition


@dataclass(frozen=True)
class Reading:
    """The meaning of a line: values of the form's fields, and their timetable. Otherwise `error` says why not.

    `choices` are lines that say what an unclear one may mean, each with its name. `parts` are those of a `Sentence`.
    """

    fields: dict[str, Any]
    timetable: Timetable | None = None
    next: datetime | None = None
    error: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    parts: tuple[tuple[str, bool], ...] = ()
    described: str = ""

    @property
    def shown(self) -> dict[str, Any]:
        """The values as a page has them in the fields of the form."""
        values = {name: ReminderForm.base_fields[name].prepare_value(value) for name, value in self.fields.items()}
        return values | ({"after_done": "on"} if "after_done" in values else {})

    @property
    def json(self) -> str:
        return json.dumps(self.shown)

    @property
    def refusal(self) -> str:
        """The error with the choices, for who has no buttons."""
        if not self.choices:
            return self.error
        lines: list[Any] = [f"“{line}”" for _name, line in self.choices]
        return f"{self.error} " + _("Write %(lines)s.") % {"lines": get_text_list(lines, _("or"))}


def read(line: str, zone: str, now: datetime, needs_title: bool = False, country: str = "") -> Reading:
    """In English or the active language. `now` is aware; `zone` is as it was typed.

    "Every working day" leaves out the public holidays of `country`; without one, it is Monday to Friday.
    """
    try:
        understood = sentences.read(line, now, civil.zone(zone).key, get_language())
        values = fields(understood)
        day = understood.sentence.day
        if country and day and day.is_working:
            values |= _without_holidays(understood.timing, country)
        if needs_title and "title" not in values:
            raise NotUnderstood("title", line)
    except (NotUnderstood, InvalidRule) as error:
        return Reading({}, error=str(error), choices=getattr(error, "choices", ()))
    form = TimingForm(values, now=now)
    if not form.is_valid() or form.timetable is None:
        return Reading({}, error=form.problem)
    next_slot = form.timetable.next_after(now, form.work)
    described = early.describe(form.described, understood.sentence.early)
    return Reading(values, form.timetable, next_slot, parts=understood.sentence.parts, described=described)


def _without_holidays(timing: object, country: str) -> dict[str, str]:
    off_days = {"off_days": "skip", "public_holidays": country}
    if isinstance(timing, str):
        return off_days
    is_each = isinstance(timing, Repetition) and timing.is_dated and timing.days == (0, 1, 2, 3, 4)
    return off_days | {"kind": "daily"} if is_each else {}


def only_time(line: str, zone: str, now: datetime, language: str) -> dict[str, Any]:
    """The form's fields for a line without a title, in English or this language.

    Raises NotUnderstood and InvalidRule.
    """
    offered = language if language in sentences.languages() else "en"
    understood = sentences.read(line, now, civil.zone(zone).key, offered)
    if understood.sentence.title:
        raise NotUnderstood("rest", understood.sentence.title)
    return fields(understood)


def other_time(title: str, timetable: Timetable, now: datetime) -> Reading | None:
    """The meaning of a title that holds another time than `timetable`; None for most titles."""
    try:
        sentence = sentences.read(title, now, timetable.rule.timezone, get_language()).sentence
    except (NotUnderstood, InvalidRule):
        return None
    reading = read(title, timetable.rule.timezone, now, needs_title=True)
    names_time = sentence.times or sentence.wait or sentence.every
    if not names_time or reading.timetable is None or reading.next is None:
        return None
    if reading.timetable.rule.kind != "once":
        is_other = timetable.rule.kind == "once"
    elif sentence.day or sentence.wait:
        is_other = timetable.next_after(reading.next - civil.TICK) != reading.next
    else:
        slots = (reading.next, timetable.next_after(now) or now)
        is_other = len({civil.local(timetable.rule.zone, slot).time() for slot in slots}) > 1
    return reading if is_other else None


def fields(understood: Understood) -> dict[str, Any]:
    """Typed values of the form of a reminder, with civil times. Without a title, that field is left as it is."""
    sentence, timing = understood.sentence, understood.timing
    values: dict[str, Any] = {"time_zone": understood.zone}
    values |= {name: value for name in ("title", "body") if (value := getattr(sentence, name))}
    values |= {"early": [*sentence.early]} if sentence.early else {}
    if isinstance(timing, datetime):
        return values | {"kind": "once", "at": timing}
    starts = understood.starts
    values |= {"starts_at": starts, "ends_at": understood.ends, "max_count": sentence.count}
    values |= {"after_done": True} if sentence.after_done else {}
    if isinstance(timing, tuple):
        return values | {"kind": "interval", "every": timing[0], "unit": timing[1], "anchor": starts}
    if isinstance(timing, str):
        return values | {"kind": "cron", "expression": timing}
    return values | repeat_form.shown(timing) | {"anchor": starts if timing.interval > 1 else None}
