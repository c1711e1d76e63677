"""The timing section of the form: kind, its fields, time zone and window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django import forms
from django.http import QueryDict

from schedules import rules
from schedules.models import Schedule
from schedules.rules import InvalidRule, Timetable, Work, civil, words
from schedules.slots import Slots, left, settled
from schedules.web.dates_field import DatesField

KINDS = [
    ("once", "Once"),
    ("interval", "Every…"),
    ("daily", "Daily"),
    ("weekly", "Weekly"),
    ("monthly", "Monthly"),
    ("cron", "Cron"),
    ("rrule", "Advanced"),
]
_UNITS = [("minutes", "minutes"), ("hours", "hours"), ("days", "days")]
_SHORT = [("last", "its last day instead"), ("skip", "nothing in that month")]
_DAYS_OF_MONTH = [*((str(day), words.ordinal(day)) for day in range(1, 32)), ("last", "last day")]

# Rule parameters with another name on the form.
_FIELD = {"timezone": "time_zone", "starts": "starts_at", "ends": "ends_at"}
# Fields that hold a civil time.
_MOMENTS = ("anchor", "starts_at", "ends_at")
_MAX_COUNT = 1_000_000
# Messages for fields that are pickers; the rules have messages for the others.
_MISSING = {
    "once": ("at", "Choose a date and a time."),
    "weekly": ("days", "Choose at least one day, such as Monday."),
}


def _moment(label: str, help_text: str = "") -> forms.CharField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "autocomplete": "off"})
    return forms.CharField(label=label, required=False, widget=widget, help_text=help_text)


class TimingForm(forms.Form):
    """Accept any text, so that only `schedules.rules` validates and writes the messages.

    `now` is aware. `timetable` is set after a successful `is_valid()`.
    """

    kind = forms.ChoiceField(
        label="When",
        choices=KINDS,
        initial="once",
        widget=forms.RadioSelect,
        error_messages={
            "required": "Choose one timing: Once, Every…, Daily, Weekly, Monthly, Cron or Advanced.",
            "invalid_choice": "There is no such timing. Choose Once, Every…, Daily, Weekly, Monthly, Cron or Advanced.",
        },
    )
    at = _moment("Date and time")
    every = forms.CharField(
        label="Every",
        required=False,
        initial="1",
        widget=forms.NumberInput(attrs={"min": 1, "inputmode": "numeric"}),
    )
    unit = forms.CharField(label="Unit", required=False, initial="hours", widget=forms.Select(choices=_UNITS))
    anchor = _moment("Counting from", "Empty: from now.")
    days = forms.MultipleChoiceField(
        label="Days",
        choices=[(str(number), name) for number, name in enumerate(words.DAYS)],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "“%(value)s” is no day of the week. Choose from Monday to Sunday."},
    )
    day = forms.CharField(
        label="Day of the month", required=False, initial="1", widget=forms.Select(choices=_DAYS_OF_MONTH)
    )
    short = forms.CharField(
        label="In a shorter month", required=False, initial="last", widget=forms.Select(choices=_SHORT)
    )
    time = forms.CharField(
        label="Time",
        required=False,
        initial="09:00",
        widget=forms.TimeInput(attrs={"type": "time", "autocomplete": "off"}),
    )
    expression = forms.CharField(
        label="Cron expression",
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "0 9 * * mon-fri", "autocomplete": "off", "spellcheck": "false"}),
        help_text="Minute, hour, day of month, month, day of week.",
    )
    rule = forms.CharField(
        label="Calendar rule",
        required=False,
        widget=forms.Textarea(
            attrs={
                "rows": 3,
                "placeholder": "DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2",
                "spellcheck": "false",
            }
        ),
        help_text="DTSTART and RRULE, as calendars write them (RFC 5545).",
    )
    time_zone = forms.CharField(
        label="Time zone",
        required=False,
        widget=forms.TextInput(attrs={"list": "zones", "data-guess-zone": True, "autocomplete": "off"}),
    )
    starts_at = _moment("Not before")
    ends_at = _moment("Not after")
    excluded = DatesField(
        label="Not on",
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "2026-12-25, 2027-01-01", "autocomplete": "off"}),
        help_text="Dates on which nothing is sent, separated by commas.",
    )
    max_count = forms.IntegerField(
        label="At most",
        required=False,
        min_value=1,
        max_value=_MAX_COUNT,
        widget=forms.NumberInput(attrs={"min": 1, "inputmode": "numeric"}),
        help_text="How often it rings in total.",
        error_messages={
            "invalid": "Enter a whole number, such as 10, or leave this empty.",
            "min_value": "Enter 1 or more, or leave this empty.",
            "max_value": "At most %(limit_value)d times. Leave this empty for no limit.",
        },
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, now: datetime, fired: int = 0, **options: Any) -> None:
        super().__init__(data, **options)
        self.now, self.fired = now, fired
        self.timetable: Timetable | None = None
        # Limits the computation for this form.
        self.work = Work()

    def clean(self) -> dict[str, Any]:
        """Report all errors at once."""
        cleaned = self.cleaned_data
        zone = self._zone()
        cleaned |= {name: self._instant(name, zone) for name in _MOMENTS}
        if "kind" in cleaned and len(self._kinds()) > 1:
            self._refuse("kind", "Choose exactly one timing. Create a second reminder for the other.")
        if "kind" in cleaned:
            timetable = self._read(cleaned, zone)
            if not self.errors.keys() & TimingForm.base_fields.keys():
                self.timetable = timetable
        return cleaned

    def upcoming(self, count: int, schedule: Schedule | None = None) -> list[datetime]:
        """Up to `count` next slots of a valid form, as what `schedule` would have once this is saved.

        Raises InvalidRule where they cost more than `work` has left.
        """
        if self.timetable is None:
            return []
        coming = Slots(self.timetable, left(self.cleaned_data.get("max_count"), self.fired))
        if schedule is not None:
            taken = settled([schedule.id], self.now)[schedule.id]
            coming = replace(coming, snoozed_until=schedule.snoozed_until, settled=taken)
        return coming.upcoming(self.now, count, self.work)

    def _kinds(self) -> set[str]:
        return set(self.data.getlist("kind")) if isinstance(self.data, QueryDict) else {self.data["kind"]}

    def refuse(self, error: InvalidRule) -> None:
        """Show the rule's error at the matching field."""
        name = _FIELD.get(error.field, error.field)
        self._refuse(name if name in self.fields else "kind", str(error))

    def _refuse(self, name: str, message: str) -> None:
        """Add an error to the field, unless it already has one: the first is the cause."""
        if name not in self.errors:
            self.add_error(name, message)

    def _zone(self) -> str:
        """The typed zone; UTC if it is wrong, so that the other fields are still checked."""
        try:
            return civil.zone(self.cleaned_data.get("time_zone")).key
        except InvalidRule as error:
            self._refuse("time_zone", str(error))
            return "UTC"

    def _read(self, cleaned: dict[str, Any], zone: str) -> Timetable | None:
        if (missing := _MISSING.get(cleaned["kind"])) and not cleaned.get(missing[0]):
            self._refuse(*missing)
            return None
        try:
            rule = rules.parse(cleaned["kind"], self._parameters(cleaned), zone)
            timetable = Timetable(
                rule, cleaned["starts_at"], cleaned["ends_at"], frozenset(cleaned.get("excluded") or [])
            )
            self._refuse_what_never_fires(timetable)
        except InvalidRule as error:
            self.refuse(error)
            return None
        return timetable

    def _instant(self, name: str, zone: str) -> datetime | None:
        """The instant of a typed civil time, parsed by the rule `once`."""
        if not (written := self.cleaned_data.get(name)):
            return None
        try:
            once = rules.parse("once", {"at": written}, zone)
        except InvalidRule as error:
            self._refuse(name, str(error))
            return None
        return once.next_after(civil.FIRST_INSTANT)

    def _parameters(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        kind = cleaned["kind"]
        values = {name: cleaned.get(name) for name in rules.KINDS[kind].parameters}
        if kind == "interval":
            values["every"] = _number(cleaned.get("every", ""))
            values["anchor"] = (cleaned["anchor"] or self.now.replace(second=0, microsecond=0)).isoformat()
        elif kind == "weekly":
            values["days"] = [int(day) for day in cleaned.get("days", [])]
        elif kind == "monthly":
            values["day"], values["short"] = _number(cleaned.get("day", "")), cleaned.get("short") or "last"
        return values

    def _refuse_what_never_fires(self, timetable: Timetable) -> None:
        most = self.cleaned_data.get("max_count")
        if most is not None and most <= self.fired:
            self._refuse(
                "max_count", f"It was already sent {self.fired} times. Enter more than that, or leave this empty."
            )
        elif (first := timetable.next_after(self.now, self.work)) is not None:
            timetable.next_after(first, self.work)  # refuse here a rule that would break when it fires
        elif timetable.without_exclusions().next_after(self.now, self.work) is not None:
            self._refuse("excluded", "All remaining times are on these dates. Remove some of them.")
        elif timetable.rule.next_after(self.now, self.work) is not None:
            at_fault = "starts_at" if timetable.ends is None else "ends_at"
            self._refuse(at_fault, "Nothing is sent in this window. Choose an earlier start or a later end.")
        elif timetable.rule.kind == "once":
            when = timetable.rule.describe().removeprefix("Once, on ")
            self._refuse("at", f"{when}, has passed. Choose a later time.")
        else:
            self._refuse("rule", "This rule has ended. Choose a later end, or none.")


def typed(schedule: Schedule) -> dict[str, Any]:
    """The form's initial values for `schedule`; for an invalid rule, without its parameters and window."""
    readable = ("kind", "time_zone", "max_count", "excluded")
    try:
        zone = schedule.timetable().rule.zone
    except InvalidRule:
        return {name: getattr(schedule, name) for name in readable}
    values: dict[str, Any] = schedule.rule | {name: getattr(schedule, name) for name in readable}
    moments = {"starts_at": schedule.starts_at, "ends_at": schedule.ends_at}
    if schedule.kind == "interval":
        moments["anchor"] = datetime.fromisoformat(schedule.rule["anchor"])
    for name, moment in moments.items():
        if moment is not None:
            values[name] = civil.local(zone, moment).isoformat()
    return values


def _number(text: str) -> int | str:
    """The typed whole number, or the text itself, which the rule then refuses."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text
