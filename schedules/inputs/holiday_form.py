"""The input of a holiday, for its page and the API."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import refuse
from people.models import User
from schedules.firing import holidays
from schedules.inputs.list_fields import TagsField
from schedules.models import Holiday
from schedules.parts import tags

_FIRST_DATE = date(1900, 1, 1)
_LAST_DATE = date(8999, 12, 31)


def _day(label: Any) -> forms.DateField:
    errors = {
        "required": gettext_lazy("Choose a date."),
        "invalid": gettext_lazy("Enter a date such as 2026-08-03."),
    }
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, widget=widget, input_formats=["%Y-%m-%d"], error_messages=errors)


class HolidayForm(forms.Form):
    """The dates are those of the person's clock. `tags` are some that their reminders have; none: all reminders."""

    first = _day(gettext_lazy("Nothing from"))
    last = _day(gettext_lazy("To and including"))
    tags = TagsField(
        label=gettext_lazy("Only reminders with these tags"),
        required=False,
        help_text=gettext_lazy("Separated by commas. Empty: all reminders."),
    )
    urgent_rings = forms.BooleanField(label=gettext_lazy("Urgent reminders still ring"), required=False, initial=True)
    note = forms.CharField(label=gettext_lazy("Note"), required=False, max_length=200)

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, user: User, today: date, holiday: Holiday | None = None
    ) -> None:
        self.user, self.today, self.holiday = user, today, holiday
        super().__init__(data, initial={} if holiday is None else forms.model_to_dict(holiday, self.base_fields))

    @property
    def own_tags(self) -> list[str]:
        return tags.own(self.user)

    def clean_tags(self) -> list[str]:
        """A tag that no reminder has would silence nothing, unseen."""
        typed: list[str] = self.cleaned_data["tags"]
        stored = [] if self.holiday is None else self.holiday.tags
        existing = {tags.key(tag) for tag in [*tags.spellings(self.user), *stored]} if typed else set()
        for tag in typed:
            if tags.key(tag) not in existing:
                text = _("None of your reminders has the tag “%(tag)s”. Add it to one first.") % {"tag": tag}
                raise forms.ValidationError(text, "unknown_tag")
        return typed

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        first, last = cleaned.get("first"), cleaned.get("last")
        to_come = Holiday.objects.filter(user=self.user, last__gte=self.today)
        if self.holiday is None and to_come.count() >= holidays.MOST:
            text = _("You have %(most)d holidays to come, as many as one person may have here. Delete one first.")
            raise forms.ValidationError(text % {"most": holidays.MOST}, "limit_reached")
        if first is not None and last is not None:
            if last < first:
                refuse(self, "last", "before_first", _("This is before the first day. Choose that day or a later one."))
            elif last < self.today:
                refuse(self, "last", "passed", _("This day has passed. Choose today or a later one."))
            elif first < _FIRST_DATE or last > _LAST_DATE:
                refuse(self, "last", "out_of_reach", _("Choose dates in the years 1900 to 8999."))
        return cleaned

    def save(self) -> Holiday:
        """The same as one that is planned already is that one: its form was sent twice."""
        same = Holiday.objects.filter(user=self.user, ended_at=None, **self.cleaned_data)
        if self.holiday is None and (planned := same.first()) is not None:
            return planned
        holiday = self.holiday or Holiday(user=self.user)
        for name, value in self.cleaned_data.items():
            setattr(holiday, name, value)
        holiday.ended_at = None
        holiday.save()
        return holiday
