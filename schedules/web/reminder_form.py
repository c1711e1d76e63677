"""The form of a reminder: text, timing, channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, cast

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.http import QueryDict
from django.utils import timezone

from common import postgres
from common.uuid7 import is_recent, uuid7
from notifications import text
from notifications.change_types import STATUS
from notifications.models import Channel
from people.models import User
from schedules import editing, words
from schedules.editing import Draft
from schedules.models import Schedule
from schedules.web.differences import differences
from schedules.web.late_form import LateForm
from schedules.web.order_form import OrderForm
from schedules.web.text_preview import LONGEST_BODY, LONGEST_TITLE
from schedules.web.timing_form import TimingForm, typed

# Fields that a form, a draft and a schedule hold alike.
_PLAIN = ("title", "body", "category", "urgent", "escalate_after", "grace", "spread", "stale_after")


class TemplateField(forms.CharField):
    """A text with placeholders, which are checked only if the text is not too long."""

    def run_validators(self, value: Any) -> None:
        super().run_validators(value)
        if problems := text.check(value):
            raise ValidationError(problems)


class TextField(TemplateField):
    """Several lines. Browsers count a line break as one character but send two."""

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class ChannelsField(forms.MultipleChoiceField):
    """Some of the channels in `own`."""

    own: Sequence[Channel] = ()

    def offer(self, own: Sequence[Channel]) -> None:
        self.own, self.choices = own, [(str(channel.id), str(channel)) for channel in own]

    def clean(self, value: Any) -> list[Channel]:  # Django's own gives the ids
        chosen = {str(one).lower().replace("-", "") for one in value or ()}
        if not chosen:
            raise ValidationError(self.error_messages["required"], code="required")
        found = [channel for channel in self.own if channel.id.hex in chosen]
        if len(found) < len(chosen):
            raise ValidationError(self.error_messages["invalid_choice"], code="invalid_choice")
        return found


# As `Channel.objects.for_user(…).for_messages()`, those that work or are in the schedule. And how many schedules there
# are: without a channel, no form is valid anyway.
_OFFERED = f"""
SELECT {postgres.columns(Channel, "c")},
       (SELECT count(*) FROM schedules_schedule WHERE user_id = %(user)s AND deleted_at IS NULL) AS schedules
  FROM notifications_channel c
 WHERE c.user_id = %(user)s AND c.removed_at IS NULL AND c.provider <> %(status)s
   AND (c.verified_at IS NOT NULL AND c.disabled_at IS NULL OR c.id = ANY(%(attached)s::uuid[]))
 ORDER BY c.id
"""  # noqa: S608  # names of columns


class SharedFields(dict[str, forms.Field]):
    """Fields that all forms of a class share: Django copies each of them, with its widget, for every form."""

    def __deepcopy__(self, memo: object) -> dict[str, forms.Field]:
        return dict(self)


class ReminderForm(OrderForm, LateForm, TimingForm):
    title = TemplateField(
        label="Title",
        max_length=LONGEST_TITLE,
        widget=forms.TextInput(attrs={"placeholder": "Water the plants", "autocomplete": "off"}),
        error_messages={
            "required": "Enter a title, such as “Water the plants”.",
            "max_length": "This title is %(show_value)d characters long; at most %(limit_value)d fit.",
        },
    )
    body = TextField(
        label="Text",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Placeholders: {name}, {schedule} (the title), {slot}, {date} and {time} (when it was due).",
        validators=[
            MaxLengthValidator(
                LONGEST_BODY, "This text is %(show_value)d characters long; at most %(limit_value)d are sent."
            ),
        ],
    )
    channels = ChannelsField(
        label="Channels",
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": "Choose at least one channel.",
            "invalid_choice": "This is not one of your channels. Choose from those listed.",
        },
    )
    category = forms.SlugField(
        label="Category",
        required=False,
        max_length=50,
        help_text="One word, such as plants. Your webhooks get it.",
        error_messages={
            "invalid": "Use letters, digits, “-” and “_” only, such as house-plants.",
            "max_length": "This category is %(show_value)d characters long; at most %(limit_value)d fit.",
        },
    )
    urgent = forms.BooleanField(label="Urgent", required=False, help_text="Also sent during your quiet hours.")
    # The version that the person edits; empty for a new reminder.
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    # The id of the new reminder, so that a form sent twice creates one reminder.
    made_as = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, user: User, now: datetime, schedule: Schedule | None = None
    ) -> None:
        if schedule is None:
            initial: dict[str, Any] = {"time_zone": user.time_zone, "made_as": uuid7()}
            attached = []
        else:
            initial = typed(schedule) | {name: getattr(schedule, name) for name in (*_PLAIN, "misfire", "version")}
            initial["one_by_one"] = "order" if schedule.channel_order else ""
            attached = list(schedule.channels.values_list("id", flat=True))
        rows = postgres.execute(_OFFERED, {"user": user.pk, "status": STATUS, "attached": attached}).fetchall()
        own = [postgres.instance(Channel, row) for row in rows]
        initial["channels"] = [channel.id for channel in own] if schedule is None else attached
        super().__init__(data, now=now, fired=0 if schedule is None else schedule.fired_count, initial=initial)
        self._is_new = schedule is None
        self._limit_reached = bool(rows) and rows[0].schedules >= settings.MOST_SCHEDULES
        self._stored_data = None if schedule is None else schedule.data
        self.fields["channels"] = field = copy(cast(ChannelsField, self.fields["channels"]))
        field.widget = copy(field.widget)
        field.offer(own)
        self.add_positions(own, [] if schedule is None else schedule.channel_order)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self._is_new and self._limit_reached:
            self.add_error(None, words.limit_reached())
        if self._is_new and not self._is_fresh():
            self._retype("made_as", str(uuid7()))
            self.add_error(None, "This form was open for more than a day. Check it, then save again.")
        return cleaned

    def _is_fresh(self) -> bool:
        """Whether the form was opened within the last day; a missing id is fine."""
        made_as = self.cleaned_data.get("made_as")
        return "made_as" not in self.errors and (made_as is None or is_recent(made_as, timezone.now()))

    def reschedule(self, schedule: Schedule, now: datetime, by: User) -> list[tuple[str, str, str]] | None:
        """Save a valid form; None. If somebody has changed the schedule since, save nothing and return the differences.

        Then the form has the current version, so that saving again overwrites.
        """
        draft = self.draft()
        try:
            editing.reschedule(schedule.id, draft, now, self.cleaned_data["version"], by)
        except editing.Conflict as conflict:
            self._retype("version", str(conflict.current.version))
            return differences(conflict.current, draft)
        return None

    def _retype(self, name: str, value: str) -> None:
        again = cast(QueryDict, self.data).copy()
        again[name] = value
        self.data = again

    def draft(self) -> Draft:
        """The draft that a valid form describes; the form has no field for `data`, which stays."""
        assert self.timetable is not None  # noqa: S101 - a valid form has one
        rule, cleaned = self.timetable.rule, self.cleaned_data
        return Draft(
            kind=rule.kind,
            rule=rule.data(),
            time_zone=rule.timezone,
            channels=self.ordered(),
            starts_at=self.timetable.starts,
            ends_at=self.timetable.ends,
            excluded=cleaned["excluded"],
            max_count=cleaned["max_count"],
            in_order=self.in_order(),
            misfire=Schedule.Misfire(cleaned["misfire"]),
            **{name: cleaned[name] for name in _PLAIN},
            data=self._stored_data,
        )


ReminderForm.base_fields = SharedFields(ReminderForm.base_fields)
