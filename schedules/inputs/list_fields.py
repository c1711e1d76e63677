"""Form fields that hold lists: dates, tags, and minutes."""

import re
from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import get_language, gettext as _

from schedules.inputs import sentences
from schedules.parts import tags
from schedules.rules import civil, early
from schedules.rules.refusals import REACH

MOST_DATES = 366
_LONGEST_DATES = 6_000


class DatesField(forms.CharField):
    """Dates separated by commas or blanks, or a list of dates or texts, cleaned to a sorted list without duplicates."""

    def to_python(self, value: Any) -> list[date]:  # type: ignore[override]  # as Django's own fields do
        typed = value if isinstance(value, list) else [str(super().to_python(value) or "")]
        if sum(len(one) for one in typed if isinstance(one, str)) > _LONGEST_DATES:
            text = _("This is too long; at most %(most)s dates can be left out.") % {"most": MOST_DATES}
            raise ValidationError(text, "max_length")
        words = value if isinstance(value, list) else filter(None, re.split(r"[\s,;]+", typed[0]))
        days = sorted({one if isinstance(one, date) else _date(one) for one in words})
        if len(days) > MOST_DATES:
            text = _("These are %(count)s dates; at most %(most)s can be left out.")
            raise ValidationError(text % {"count": len(days), "most": MOST_DATES}, "too_many")
        return days

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) or value is None else written(value)


def _date(word: str) -> date:
    try:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", word, re.ASCII):
            raise ValueError(word)
        day = date.fromisoformat(word)
    except ValueError:
        text = _("“%(word)s” is not a date. Enter dates such as 2026-12-25, 2027-01-01.") % {"word": word[:40]}
        raise ValidationError(text, "date_format") from None
    if not civil.is_in_reach(datetime.combine(day, time())):
        text = _("“%(word)s” is out of range: %(reach)s.") % {"word": word, "reach": REACH}
        raise ValidationError(text, "out_of_reach")
    return day


def written(days: Iterable[date]) -> str:
    return ", ".join(day.isoformat() for day in days)


_LONGEST_TAGS = 1_000


class TagsField(forms.CharField):
    """Tags separated by commas, or a list of them, cleaned to a list without repeats."""

    widget = forms.TextInput(attrs={"list": "own-tags", "data-tags": True, "autocomplete": "off"})

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]  # as Django's own fields do
        if isinstance(value, list):
            refuse_commas(value)
            typed = value
        else:
            if len(text := str(super().to_python(value) or "")) > _LONGEST_TAGS:
                problem = _("This is too long; at most %(most)d tags fit.") % {"most": tags.MOST}
                raise ValidationError(problem, "max_length")
            typed = text.split(",")
        if len(cleaned := tags.without_repeats(typed)) > tags.MOST:
            numbers = {"count": len(cleaned), "most": tags.MOST}
            raise ValidationError(_("These are %(count)d tags; at most %(most)d fit.") % numbers, "too_many")
        for tag in cleaned:
            _check_tag(tag)
        return cleaned

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value


def refuse_commas(words: Iterable[str]) -> None:
    """Of a list whose field shows it with commas between its words."""
    if with_comma := next((word for word in words if "," in word), None):
        raise ValidationError(_("“%(tag)s” contains a comma. Leave it out.") % {"tag": with_comma[:60]}, "comma")


def _check_tag(tag: str) -> None:
    if len(tag) > tags.LONGEST:
        problem = _("“%(tag)s…” is %(length)d characters long; a tag has at most %(most)d.")
        raise ValidationError(problem % {"tag": tag[:20], "length": len(tag), "most": tags.LONGEST}, "max_length")
    if not tag.isprintable():
        raise ValidationError(_("A tag contains a control character. Remove it."), "control_character")


class OneTagField(TagsField):
    """A single tag."""

    def to_python(self, value: Any) -> Any:
        if len(tags := super().to_python(value)) > 1:
            raise ValidationError(_("Give one tag, without a comma."), "one_tag")
        return tags[0] if tags else ""


class EarlyField(forms.CharField):
    """Lengths of time such as "1 day, 10 minutes", or a list of minutes, cleaned to a list from the longest to the
    shortest."""

    def to_python(self, value: Any) -> list[int]:  # type: ignore[override]  # as Django's own fields do
        typed = value if isinstance(value, list) else _lengths(str(super().to_python(value) or ""))
        if any(not 0 < minutes <= early.LONGEST for minutes in typed):
            raise ValidationError(_("Enter times from 1 minute to 4 weeks before it."), "out_of_range")
        if len(cleaned := sorted(set(typed), reverse=True)) > early.MOST:
            numbers = {"count": len(cleaned), "most": early.MOST}
            raise ValidationError(_("These are %(count)d times; at most %(most)d fit.") % numbers, "too_many")
        return cleaned

    def prepare_value(self, value: Any) -> Any:
        return early.written(value) if isinstance(value, list) else value


def _lengths(text: str) -> list[int]:
    if (minutes := sentences.early(text, get_language()) if text.strip() else []) is None:
        raise ValidationError(_("Enter lengths of time, such as “1 day, 10 minutes”."), "not_understood")
    return minutes
