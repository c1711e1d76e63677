"""The form of a reminder: text, what it checks, timing, channels, and what happens if it is late."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime
from itertools import islice, pairwise
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.utils.text import Truncator
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import Differences, SharedFields, WholeNumberField, refuse
from common.texts.numbers import grouped
from notifications.inputs.channels_form import ChannelsForm
from notifications.inputs.text_fields import BodyField, TitleField
from notifications.messages import text
from notifications.models import Channel
from people.models import User
from schedules.changes import editing
from schedules.inputs.audience_form import AudienceForm
from schedules.inputs.differences import differences
from schedules.inputs.job_form import JobForm
from schedules.inputs.list_fields import EarlyField, TagsField
from schedules.inputs.nag_form import NagForm
from schedules.inputs.timing_form import first_values, typed
from schedules.models import Schedule
from schedules.parts import tags, words
from schedules.rules import InvalidRule, Timetable, early

LONGEST_GRACE = 7 * 24 * 3600  # seconds
LONGEST_SPREAD = 24 * 3600  # seconds
# An early message needs a gap before one of the next times of a rule that is longer than it. So many times are checked.
_TIMES_CHECKED = 8
LONGEST_STALE = 30 * 24 * 3600  # seconds


class LateForm(forms.Form):
    """An empty field means its initial value."""

    misfire = forms.ChoiceField(
        label=gettext_lazy("If Carillon was off"),
        choices=Schedule.Misfire.choices,
        required=False,
        initial=Schedule.Misfire.LATEST,
        help_text=gettext_lazy("One-time reminders are always sent, even if late."),
        error_messages={"invalid_choice": gettext_lazy("Choose the newest missed one, every missed one, or none.")},
    )
    grace = WholeNumberField(
        gettext_lazy("Missed after"),
        0,
        LONGEST_GRACE,
        empty=60,
        help_text=gettext_lazy("Seconds of delay that do not count as missed."),
    )
    spread = WholeNumberField(
        gettext_lazy("Spread over"),
        0,
        LONGEST_SPREAD,
        empty=0,
        help_text=gettext_lazy("Maximum delay in seconds, so that not everything is sent at once."),
    )
    stale_after = WholeNumberField(
        gettext_lazy("Do not send if older than"),
        1,
        LONGEST_STALE,
        help_text=gettext_lazy("Seconds after it was due. One-time reminders are dropped too. Empty: no limit."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "misfire" in cleaned:
            cleaned["misfire"] = cleaned["misfire"] or self.fields["misfire"].initial
        stale_after, spread = cleaned.get("stale_after"), cleaned.get("spread", 0)
        if stale_after and stale_after <= spread:
            problem = _("Enter more than the spread of %(spread)s s, or leave this empty.")
            refuse(self, "stale_after", "within_spread", problem % {"spread": grouped(spread)})
        return cleaned


_FOLDED = (
    *("body", "time_zone", "starts_at", "ends_at", "excluded", "off_days", "max_count", "after_done"),
    *("early", "nag_every", "nag_times", "misfire", "grace", "spread", "stale_after", "tags", "category"),
)
"""Fields that the page folds, beside those of checks and audiences."""


class ReminderForm(JobForm, ChannelsForm, LateForm, NagForm, AudienceForm):
    title = TitleField(check=text.check, example=gettext_lazy("Water the plants"))
    body = BodyField(
        check=text.check,
        help_text=gettext_lazy(
            "Placeholders: {name}, {schedule} (the title), {slot}, {date} and {time} (when it was due)."
        ),
    )
    tags = TagsField(
        label=gettext_lazy("Tags"),
        required=False,
        help_text=gettext_lazy("Words to find it by, separated by commas, such as home, health."),
    )
    early = EarlyField(
        label=gettext_lazy("Also before"),
        required=False,
        initial=[],
        help_text=gettext_lazy("Such as 1 day, 10 minutes. A whole day before is the same time of day."),
    )
    category = forms.SlugField(
        label=gettext_lazy("Category"),
        required=False,
        max_length=50,
        help_text=gettext_lazy("One word, such as plants. Your webhooks get it."),
        error_messages={"invalid": gettext_lazy("Use letters, digits, “-” and “_” only, such as house-plants.")},
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        user: User,
        now: datetime,
        schedule: Schedule | None = None,
        filled: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        also: Iterable[UUID] = (),
    ) -> None:
        """`filled` are values of a new form, as from quick add. `parameters`: see `TimingForm`.

        `also` are channels that may be chosen although they do not work yet.
        """
        super().__init__(data, now=now, fired=schedule.fired_count if schedule else 0, parameters=parameters)
        if not self.is_typed:
            values = {**first_values(user, now), **(filled or {})} if schedule is None else _stored(schedule, now)
            self.initial = {"public_holidays": user.public_holidays, **values}
        self.user = user
        self.is_new = schedule is None
        self._schedules = self.offer_channels(user, "schedules_schedule", schedule, also)
        self.offer_nag_channels(schedule)
        self.offer_audiences(user, schedule)
        stored = "" if schedule is None else schedule.audience
        self.offer_jobs(user, schedule, self.is_for_audience if self.is_bound else bool(stored))
        if self.is_for_audience:
            self.fields["channels"].required = False

    @property
    def set_further(self) -> list[str]:
        """The values of the folded fields in words, such as "Tags: home"."""
        shown = [] if self.job is None else [str(self.job.label)]
        for name in _FOLDED:
            usual = self.user.time_zone if name == "time_zone" else self.fields[name].initial
            if (value := self[name].value()) in (None, "", []) or str(value) == str(usual):
                continue
            named = dict(getattr(self.fields[name].widget, "choices", ()))
            text = ", ".join(value) if isinstance(value, list) else str(named.get(value, value))
            label = str(self.fields[name].label)
            shown.append(label if value in (True, "on") else f"{label}: {Truncator(text).chars(40)}")
        return shown

    @property
    def unfolded(self) -> bool:
        """Whether a folded field is refused, or one is in use that says more than a line."""
        folded = {*_FOLDED, *JobForm.base_fields, "nag_channel_ids", "audience", "local_time"}
        is_told = "audience" in self.fields and self["audience"].value()
        return bool(self.errors.keys() & folded or is_told or (self.is_bound and self.question))

    @property
    def described(self) -> str:
        rule = super().described
        return early.describe(rule, self.cleaned_data.get("early", ())) if rule else ""

    @property
    def own_tags(self) -> list[str]:
        return tags.own(self.user)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self.check_room(self._schedules, settings.MOST_SCHEDULES, words.limit_reached())
        if self.is_for_audience:
            self._clear_channels()
            cleaned |= {"after_done": False, "early": []}
            if not self.errors and not self.is_confirmed():
                self.retype("confirmed", str(self.data["audience"]))
        elif cleaned.get("after_done") and self.job is not None:
            text = _("A reminder that checks first may send nothing to press “Done” for. Untick this.")
            refuse(self, "after_done", "checks_first", text)
        if cleaned.get("early") and self.job is not None:
            text = _(
                "A reminder that checks first knows only at its time whether it has something to say. Leave this empty."
            )
            refuse(self, "early", "checks_first", text)
        elif cleaned.get("early") and self.timetable is not None:
            self._check_early(cleaned["early"], self.timetable)
        return cleaned

    def _clear_channels(self) -> None:
        """An audience is told on the channels that each of its people uses, so the page hides this section."""
        for name in list(self.errors):
            if name in ChannelsForm.base_fields or name.startswith("position_"):
                del self.errors[name]
        self.clear_order()
        self.clear_nag()

    def _check_early(self, minutes: Sequence[int], timetable: Timetable) -> None:
        """Refuse what would never ring."""
        try:
            slots = list(islice(timetable.after(self.now, self.work), _TIMES_CHECKED))
        except InvalidRule as error:
            self.refuse(error)
            return
        gaps = [*pairwise([self.now, *slots] if self.is_new else slots)]
        zone = timetable.rule.zone
        never = [one for one in minutes if gaps and not any(early.before(b, one, zone) > a for a, b in gaps)]
        if never:
            text = _("It comes again sooner than “%(time)s”. Enter less.")
            text = text if len(slots) > 1 else _("“%(time)s” before it has passed. Leave it out.")
            refuse(self, "early", "never", text % {"time": early.length(never[0])})

    def ordered(self) -> list[Channel]:
        return [] if self.is_for_audience else super().ordered()

    def reschedule(self, now: datetime, by: User) -> Differences | None:
        wanted, channels = self.as_schedule(), self.ordered()
        return self.try_to_save(
            lambda: editing.reschedule(wanted, now, channels, by),
            lambda current: differences(current, wanted, channels),
        )

    def as_schedule(self) -> Schedule:
        """The schedule that a valid form describes, not saved. What has no field, such as `data`, stays."""
        assert self.timetable is not None  # noqa: S101 - a valid form has one
        values = {
            **self.timetable.row(),
            "channel_order": self.channel_order(),
            **{name: self.cleaned_data[name] for name in PLAIN},
            **self.row(self._schedule),
            **self.job_values(),
            **self.audience_values(),
        }
        wanted = Schedule(user=self.user) if self._schedule is None else copy(self._schedule)
        for name, value in values.items():
            setattr(wanted, name, value)
        return wanted


def _stored(schedule: Schedule, now: datetime) -> dict[str, Any]:
    return typed(schedule, now) | {name: getattr(schedule, name) for name in (*PLAIN, "version")}


# Fields that a form and a schedule hold alike.
PLAIN = (
    *("title", "body", "grace", "spread", "misfire", "excluded", "max_count", "after_done"),
    *(name for name in Schedule.SENT_BY if name in ReminderForm.base_fields),
)
ReminderForm.base_fields = SharedFields(ReminderForm.base_fields)
