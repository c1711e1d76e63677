"""The audience section of the form: for whom a reminder is, where its owner may announce, and on whose clock."""

from typing import Any, cast

from django import forms
from django.utils.choices import flatten_choices
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import own_field, refuse
from common.texts.numbers import grouped
from common.zones import FIRST_ZONE
from jobs.batches import audiences
from jobs.batches.audiences import Chosen
from people.models import User
from schedules.inputs.timing_form import TimingForm
from schedules.models import Schedule

MOST_UNCONFIRMED = 100
"""A new announcement to more people than this is asked for twice."""


class _AudienceField(forms.ChoiceField):
    """Cleaned to one of its choices; None: for the owner alone."""

    def clean(self, value: Any) -> Chosen | None:
        text, offered = super().clean(value), list[Any](flatten_choices(cast(Any, self.choices)))
        return next((one for one, _label in offered if one and str(one) == text), None)


class AudienceForm(TimingForm):
    audience = _AudienceField(
        label=gettext_lazy("For"),
        required=False,
        help_text=gettext_lazy("An audience gets it on the channels that each of them uses, in their own quiet hours."),
        error_messages={"invalid_choice": gettext_lazy("There is no such audience for you. Choose from those listed.")},
    )
    local_time = forms.BooleanField(
        label=gettext_lazy("On each reader’s clock"),
        required=False,
        help_text=gettext_lazy("At 09:00 in Auckland, at 09:00 in Paris, and so on. The time zone is not used."),
    )
    # The audience whose size its author has seen.
    confirmed = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)

    def offer_audiences(self, user: User, schedule: Schedule | None) -> None:
        """Without the right to announce there is no such section, but for what is stored. Call it before validation."""
        self._stored = None if schedule is None else audience_of(schedule)
        self._origin = None if schedule is None else schedule.id
        self._may = audiences.may_announce(user)
        if not self._may and not self._stored:
            for name in ("audience", "local_time", "confirmed"):
                del self.fields[name]
            return
        own_field(self, "audience").choices = self._choices(user)
        if schedule is not None:
            self.initial.update(audience=self._stored, local_time=schedule.local_time)
            if schedule.local_time:
                self.initial["time_zone"] = user.time_zone

    def _choices(self, user: User) -> list[Any]:
        groups = [one for one in audiences.choices(user) if one[1]] if self._may else []
        listed: list[Any] = [("", _("Only me"))]
        for label, options in groups:
            listed += options if label == options[0][1] else [(label, options)]
        if self._stored and self._stored not in {value for label, options in groups for value, name in options}:
            listed.append((self._stored, _("The present one")))
        return listed

    @property
    def is_for_audience(self) -> bool:
        """Whether the data names one; also before validation."""
        return "audience" in self.fields and bool(self.data.get("audience"))

    @property
    def on_readers_clocks(self) -> bool:
        return self.is_for_audience and bool(self.cleaned_data.get("local_time"))

    def people(self) -> int | None:
        """Return the number of people that it reaches now; None without an audience that its author may tell."""
        chosen: Chosen | None = self.cleaned_data.get("audience")
        return audiences.count(chosen.kind, chosen.key, self._origin) if chosen and self._may else None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.is_for_audience and not self._may:
            self._refuse("audience", _("You may not make announcements any more. Choose “Only me”."), "not_allowed")
        if self.on_readers_clocks and cleaned.get("kind") == "interval":
            text = _("“Every…” has no time of day. Choose another timing, or untick this.")
            self._refuse("local_time", text, "no_time_of_day")
        return cleaned

    def is_confirmed(self) -> bool:
        """Whether its author knows how many it reaches, or these are few, or are told by it already."""
        chosen = self.cleaned_data.get("audience")
        if chosen in (None, self._stored) or str(chosen) == self.cleaned_data.get("confirmed"):
            return True
        people = self.people() or 0
        if people > MOST_UNCONFIRMED:
            text = _("This tells %(people)s people. Check the text and the time, then save again to confirm.")
            refuse(self, "audience", "unconfirmed", text % {"people": grouped(people)})
        return people <= MOST_UNCONFIRMED

    def audience_values(self) -> dict[str, Any]:
        chosen = self.cleaned_data.get("audience")
        kind, key = ("", "") if chosen is None else (chosen.kind, chosen.key)
        return {"audience": kind, "audience_key": key, "local_time": self.on_readers_clocks}

    def _zone(self) -> str:
        return FIRST_ZONE if self.on_readers_clocks else super()._zone()


def audience_of(schedule: Schedule) -> Chosen | None:
    return Chosen(schedule.audience, schedule.audience_key) if schedule.audience else None
