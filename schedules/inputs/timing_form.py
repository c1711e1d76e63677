"""The timing section of the form: kind, its fields, time zone and window."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import WholeNumberField, refuse
from common.texts.types import StrOrPromise
from common.uuid7 import uuid7
from people.models import User
from schedules import rules
from schedules.firing.forecast import Coming, Forecast, Silent
from schedules.inputs import repeat_form
from schedules.inputs.list_fields import DatesField
from schedules.inputs.repeat_form import ClockField, RepeatForm, select
from schedules.models import Schedule
from schedules.parts.slots import Slots, left, settled
from schedules.rules import InvalidRule, Timetable, Work, civil, from_done, repetition, rrule_text, working_days
from schedules.rules.invalid import all_of
from schedules.rules.once import Once
from schedules.rules.rrule import RRule
from schedules.rules.timetable import check_window

KINDS = [
    ("once", gettext_lazy("Once")),
    ("interval", gettext_lazy("Every…")),
    ("daily", gettext_lazy("Daily")),
    ("weekly", gettext_lazy("Weekly")),
    ("monthly", gettext_lazy("Monthly")),
    ("yearly", gettext_lazy("Yearly")),
    ("cron", gettext_lazy("Cron")),
    ("rrule", gettext_lazy("Advanced")),
]
_UNITS = [("minutes", gettext_lazy("minutes")), ("hours", gettext_lazy("hours")), ("days", gettext_lazy("days"))]

_OFF_DAYS: list[tuple[str, StrOrPromise]] = [
    ("", gettext_lazy("as on other days")),
    ("skip", gettext_lazy("nothing")),
    ("next", gettext_lazy("on the next working day instead")),
]

# Rule parameters with another name on the form.
_FIELD = {"timezone": "time_zone", "starts": "starts_at", "ends": "ends_at"}
# Fields that hold a civil time.
_MOMENTS = ("anchor", "starts_at", "ends_at")
_MAX_COUNT = 1_000_000
ONE_TIMING = gettext_lazy("Choose exactly one timing. Create a second reminder for the other.")
# Messages for fields that are pickers; the rules have messages for the others.
_MISSING = {
    "once": ("at", gettext_lazy("Choose a date and a time."), "required"),
    "weekly": ("days", gettext_lazy("Choose at least one day, such as Monday."), "required"),
}


def _moment(label: StrOrPromise, help_text: StrOrPromise = "") -> ClockField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "autocomplete": "off"})
    widget.supports_microseconds = True  # else a form that is saved as it is shown would move it
    return ClockField(label=label, required=False, widget=widget, help_text=help_text)


class TimingForm(RepeatForm):
    """Accept any text, so that only `schedules.rules` validates and writes the messages.

    `now` is aware. `timetable` is set after a successful `is_valid()`. `parameters` are those of the rule, where they
    are known already: then the fields of the rule are not read, but for `kind` and `anchor`.
    """

    kind = forms.ChoiceField(
        label=gettext_lazy("When"),
        choices=KINDS,
        initial="once",
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(
            ("required", "invalid_choice"),
            gettext_lazy("Choose one timing: Once, Every…, Daily, Weekly, Monthly, Yearly, Cron or Advanced."),
        ),
    )
    at = _moment(gettext_lazy("Date and time"))
    every = forms.CharField(
        label=gettext_lazy("Every"),
        required=False,
        initial="1",
        widget=forms.NumberInput(attrs={"min": 1, "inputmode": "numeric"}),
    )
    unit = select(
        gettext_lazy("Unit"), _UNITS, "hours", gettext_lazy("For weeks, months or years: Weekly, Monthly or Yearly.")
    )
    anchor = _moment(gettext_lazy("Counting from"), gettext_lazy("Empty: from now."))
    expression = forms.CharField(
        label=gettext_lazy("Cron expression"),
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "0 9 * * mon-fri", "autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy("Minute, hour, day of month, month, day of week."),
    )
    rule = forms.CharField(
        label=gettext_lazy("Calendar rule"),
        required=False,
        widget=forms.Textarea(
            attrs={"rows": 3, "placeholder": "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH", "spellcheck": "false"}
        ),
        help_text=gettext_lazy("RRULE as calendars write it (RFC 5545). Without DTSTART it counts from now."),
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        required=False,
        widget=forms.TextInput(attrs={"list": "zones", "data-guess-zone": True, "autocomplete": "off"}),
    )
    starts_at = _moment(gettext_lazy("Not before"))
    ends_at = _moment(gettext_lazy("Not after"))
    excluded = DatesField(
        label=gettext_lazy("Not on"),
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "2026-12-25, 2027-01-01", "autocomplete": "off"}),
        help_text=gettext_lazy("Dates on which nothing is sent, separated by commas."),
    )
    off_days = select(gettext_lazy("On weekends and public holidays"), _OFF_DAYS, "")
    public_holidays = forms.CharField(
        label=gettext_lazy("Public holidays of"),
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "DE-BY", "autocomplete": "off"}),
        help_text=gettext_lazy("A country or its region, such as DE, DE-BY or US-CA. Empty: weekends only."),
    )
    max_count = WholeNumberField(
        gettext_lazy("At most"),
        1,
        _MAX_COUNT,
        help_text=gettext_lazy("How often it rings in total."),
    )
    after_done = forms.BooleanField(
        label=gettext_lazy("Count from Done"),
        required=False,
        initial=False,
        help_text=gettext_lazy("The next time is one step after you press “Done”, not after the last time."),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        now: datetime,
        fired: int = 0,
        parameters: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(data, **options)
        self.now, self.fired, self.parameters = now, fired, parameters
        if parameters is not None:
            self.taken = _OF_THE_RULE
        self.timetable: Timetable | None = None
        # Limits the computation for this form.
        self.work = Work()

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        zone = self._zone()
        cleaned |= {name: self._instant(name, zone) for name in _MOMENTS}
        if isinstance(self.data, QueryDict) and len(set(self.data.getlist("kind"))) > 1:
            self._refuse("kind", ONE_TIMING, "one_timing")
        if "kind" in cleaned:
            timetable = self._read(cleaned, zone)
            if cleaned.get("after_done") and timetable is not None and from_done.step(timetable.rule) is None:
                text = _("Only a step such as every 3 days can be counted from Done. Choose one, or untick this.")
                self._refuse("after_done", text, "no_step")
            if not self.errors.keys() & TimingForm.base_fields.keys():
                self.timetable = timetable
        return cleaned

    def upcoming(self, count: int, silent: Silent, schedule: Schedule | None = None) -> list[Coming]:
        """Up to `count` next slots of a valid form, as what `schedule` would have once this is saved.

        Raises InvalidRule where they cost more than `work` has left.
        """
        if self.timetable is None:
            return []
        cleaned = self.cleaned_data
        coming = Slots(self.timetable, left(cleaned.get("max_count"), self.fired, cleaned.get("after_done", False)))
        if schedule is not None:
            taken = settled([schedule.id], self.now)[schedule.id]
            coming = replace(coming, snoozed_until=schedule.snoozed_until, settled=taken)
        return Forecast(coming, silent).upcoming(self.now, count, self.work)

    @property
    def problem(self) -> str:
        """All errors in one text."""
        return " ".join(str(error) for errors in self.errors.values() for error in errors)

    @property
    def on_readers_clocks(self) -> bool:
        return False

    @property
    def described(self) -> str:
        if self.timetable is None:
            return ""
        rule = self.timetable.rule
        return from_done.describe(rule) if self.cleaned_data["after_done"] else rule.describe(self.on_readers_clocks)

    def refuse(self, error: InvalidRule) -> None:
        for one in (error, *error.others):
            name = _FIELD.get(one.field, one.field)
            if name == "expression" and self.cleaned_data.get("kind") == "rrule":
                name = "rule"  # @daily and the like
            self._refuse(name if name in self.fields else "kind", str(one), one.code)

    def _refuse(self, name: str, message: StrOrPromise, code: str) -> None:
        """Add an error to the field, unless it already has one: the first is the cause."""
        if name not in self.errors:
            refuse(self, name, code, message)

    def _zone(self) -> str:
        """The typed zone; UTC if it is wrong, so that the other fields are still checked."""
        try:
            return civil.zone(self.cleaned_data.get("time_zone")).key
        except InvalidRule as error:
            self._refuse("time_zone", str(error), error.code)
            return "UTC"

    def _read(self, cleaned: dict[str, Any], zone: str) -> Timetable | None:
        given = cleaned if self.parameters is None else self.parameters
        if (missing := _MISSING.get(cleaned["kind"])) and not given.get(missing[0]):
            self._refuse(*missing)
        window = (cleaned["starts_at"], cleaned["ends_at"])
        read: Callable[[], rules.Rule] = partial(self._rule, cleaned, given, zone)
        if given.get("off_days") and working_days.fits(rules.KINDS.get(cleaned["kind"], RRule)):
            read = partial(rules.WorkingDays.of, read, given)
        try:
            values = all_of(rule=read, window=lambda: check_window(*window))
            timetable = Timetable(values["rule"], *window, frozenset(cleaned.get("excluded") or []))
            self._refuse_what_never_fires(timetable)
        except InvalidRule as error:
            self.refuse(error)
            return None
        return timetable

    def _instant(self, name: str, zone: str) -> datetime | None:
        """The instant of a civil time, read by the rule `once`."""
        if not (value := self.cleaned_data.get(name)) or (isinstance(value, datetime) and value.tzinfo):
            return value or None
        try:
            return rules.parse("once", {"at": value}, zone).next_after(civil.FIRST_INSTANT)
        except InvalidRule as error:
            self._refuse(name, str(error), error.code)
            return None

    def _rule(self, cleaned: dict[str, Any], given: Mapping[str, Any], zone: str) -> rules.Rule:
        kind, shown = cleaned["kind"], civil.local(civil.zone(zone), self.now)
        if self.parameters is None and kind.upper() in repetition.UNITS:
            anchor = cleaned["anchor"] and civil.local(civil.zone(zone), cleaned["anchor"])
            return repeat_form.rule(cleaned, zone, shown, anchor)
        values = {name: given.get(name) for name in rules.KINDS[kind].parameters}
        if kind == "rrule":
            text = given.get("rule", "").strip()
            if text.startswith("@"):
                return rules.parse("cron", {"expression": text}, zone)
            values["rule"] = rrule_text.with_start(text, shown)
        if kind == "interval":
            values["anchor"] = cleaned["anchor"] or self.now.replace(second=0, microsecond=0)
            if self.parameters is None:
                values["every"] = repeat_form.number(cleaned.get("every", ""))
        return rules.parse(kind, values, zone)

    def _refuse_what_never_fires(self, timetable: Timetable) -> None:
        if (most := self.cleaned_data.get("max_count")) is not None and most <= self.fired:
            text = _("It was already sent %(count)s times. Enter more than that, or leave this empty.")
            self._refuse("max_count", text % {"count": self.fired}, "count_reached")
        elif (first := timetable.next_after(self.now, self.work)) is not None:
            timetable.next_after(first, self.work)  # refuse here a rule that would break when it fires
        elif timetable.without_exclusions().next_after(self.now, self.work) is not None:
            self._refuse("excluded", _("All remaining times are on these dates. Remove some of them."), "all_excluded")
        elif timetable.rule.next_after(self.now, self.work) is not None:
            at_fault = "starts_at" if timetable.ends is None else "ends_at"
            text = _("Nothing is sent in this window. Choose an earlier start or a later end.")
            self._refuse(at_fault, text, "empty_window")
        elif isinstance(timetable.rule, Once):
            moment = timetable.rule.moment(self.on_readers_clocks)
            self._refuse("at", _("%(moment)s, has passed. Choose a later time.") % {"moment": moment}, "passed")
        else:
            self._refuse("rule", _("This rule has ended. Choose a later end, or none."), "ended")


_OF_THE_RULE = {*RepeatForm.base_fields, "at", "every", "unit", "expression", "rule", *working_days.PARAMETERS}


def first_values(user: User, now: datetime) -> dict[str, Any]:
    """The first values of a new form. For a person with a zone: today, and a full hour, 15 to 75 minutes ahead."""
    values: dict[str, Any] = {"time_zone": user.time_zone, "made_as": uuid7()}
    if not user.time_zone:
        return values
    today = civil.local(user.zone, now)
    ahead = civil.local(user.zone, now + timedelta(minutes=75)).replace(minute=0, second=0, microsecond=0)
    return values | {"at": ahead, "days": [today.weekday()], "day": today.day, "month": today.month}


def typed(schedule: Any, now: datetime) -> dict[str, Any]:
    """The form's initial values for a schedule or a watch; for an invalid rule, without its parameters and window."""
    values = {name: getattr(schedule, name) for name in ("kind", "time_zone", "max_count", "excluded")}
    try:
        rule = schedule.timetable().rule
    except InvalidRule:
        return values
    moments = {"starts_at": schedule.starts_at, "ends_at": schedule.ends_at, "anchor": getattr(rule, "anchor", None)}
    shown = {name: civil.local(rule.zone, moment) for name, moment in moments.items() if moment is not None}
    return values | schedule.rule | shown | repeat_form.typed(rule, civil.local(rule.zone, now))
