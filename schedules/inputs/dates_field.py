"""A form field for several dates."""

import re
from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from schedules.rules import civil
from schedules.rules.refusals import REACH

MOST = 366
_LONGEST = 6_000


class DatesField(forms.CharField):
    """Dates separated by commas or blanks, or a list of them, cleaned to a sorted list without duplicates.

    A list may have dates, or texts.
    """

    def to_python(self, value: Any) -> list[date]:  # type: ignore[override]  # as Django's own fields do
        typed = value if isinstance(value, list) else [str(super().to_python(value) or "")]
        if sum(len(one) for one in typed if isinstance(one, str)) > _LONGEST:
            said = _("This is too long; at most %(most)s dates can be left out.") % {"most": MOST}
            raise ValidationError(said, "max_length")
        words = value if isinstance(value, list) else [word for word in re.split(r"[\s,;]+", typed[0]) if word]
        if len(days := sorted({one if isinstance(one, date) else self._date(one) for one in words})) > MOST:
            raise ValidationError(
                _("These are %(count)s dates; at most %(most)s can be left out.") % {"count": len(days), "most": MOST},
                "too_many",
            )
        return days

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) or value is None else written(value)

    @staticmethod
    def _date(word: str) -> date:
        try:
            if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", word, re.ASCII):
                raise ValueError(word)
            day = date.fromisoformat(word)
        except ValueError:
            said = _("“%(word)s” is not a date. Enter dates such as 2026-12-25, 2027-01-01.") % {"word": word[:40]}
            raise ValidationError(said, "date_format") from None
        if not civil.is_in_reach(datetime.combine(day, time())):
            said = _("“%(word)s” is out of range: %(reach)s.") % {"word": word, "reach": REACH}
            raise ValidationError(said, "out_of_reach")
        return day


def written(days: Iterable[date]) -> str:
    return ", ".join(day.isoformat() for day in days)
