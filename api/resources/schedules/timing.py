"""The timing in a body: exactly one of the friendly ones or of our own kinds."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, FailFast, Field

from api.protocol.fields import Body, FormBody, Instant, Partial, one_error
from api.protocol.problems import FORM_NAMES, FieldError
from schedules import rules
from schedules.inputs.timing_form import ONE_TIMING, TimingForm
from schedules.rules import InvalidRule, Rule, civil
from schedules.rules.working_days import PARAMETERS

Hour = Annotated[int, Field(ge=0, le=23, description="On the clock of the schedule.")]
Minute = Annotated[int, Field(ge=0, le=59, description="Of that hour.")]


class DailyTime(Body):
    hour: Hour
    minute: Minute


class WeeklyTime(DailyTime):
    dayOfWeek: Annotated[int, Field(ge=0, le=6, description="0 is Sunday.")]


class MonthlyTime(DailyTime):
    day: Annotated[int, Field(ge=1, le=31, description="In a shorter month, its last day.")]


class Once(Body):
    at: str = Field(description="A civil time, without an offset.", examples=["2026-03-29T09:00"])


class Interval(Body):
    every: int = Field(description="So many units lie between two slots.")
    unit: Literal["minutes", "hours", "days"] = Field(description="The unit of `every`.")
    anchor: str | None = Field(None, description="A civil time to count from; now, without it.")


class _OnDays(Body):
    """On working days only. Absent in an answer: on all days."""

    off_days: Literal["skip", "next"] | None = Field(
        None, description="On weekends and public holidays: nothing, or on the next working day instead."
    )
    public_holidays: str | None = Field(
        None, description="The country or region of these; without it, weekends only.", examples=["DE-BY"]
    )


class Daily(_OnDays):
    time: str = Field(examples=["09:00"], description="A time of day on the clock of the schedule.")


class Weekly(Daily):
    days: Annotated[list[int], FailFast()] = Field(description="0 is Monday.", examples=[[0, 3]])


class Monthly(Daily):
    day: Annotated[int | Literal["last"], one_error("literal_error", expected="1 to 31, last")] = Field(
        description="The day of the month, from 1 to 31, or its last."
    )
    short: Literal["last", "skip"] = Field("last", description="What a month without that day does.")


class Cron(_OnDays):
    expression: str = Field(examples=["0 9 * * mon-fri"], description="Minute, hour, day, month and day of the week.")


class RRule(_OnDays):
    rule: str = Field(
        examples=["DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2"],
        description="Lines of iCalendar (RFC 5545), with civil times.",
    )


class TimingDocument(Partial):
    """Exactly one of these."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    once: Once = Field(description="At one time.")
    interval: Interval = Field(description="Every so many minutes, hours or days.")
    daily: Daily = Field(description="Every day at a time.")
    weekly: Weekly = Field(description="On days of the week at a time.")
    monthly: Monthly = Field(description="On a day of each month at a time.")
    cron: Cron = Field(description="As a line of cron says.")
    rrule: RRule = Field(description="As a rule of a calendar says.")


_DEPRECATED: dict[str, Any] = {"deprecated": True}


class Timing(TimingDocument):
    """Exactly one of these. The deprecated ones are an older system's: `weeklyTime` counts days from Sunday, as 0."""

    intervalMinutes: int = Field(description="Use `interval`.", json_schema_extra=_DEPRECATED)
    dailyTime: DailyTime = Field(description="Use `daily`.", json_schema_extra=_DEPRECATED)
    weeklyTime: WeeklyTime = Field(description="Use `weekly`.", json_schema_extra=_DEPRECATED)
    monthlyTime: MonthlyTime = Field(description="Use `monthly`.", json_schema_extra=_DEPRECATED)
    onceAt: Instant = Field(description="Use `once`.", json_schema_extra=_DEPRECATED)


@dataclass(frozen=True, slots=True)
class Typed:
    """The kind and the parameters of a rule. `paths` are the names of the parameters in the body.

    The `anchor` of an interval is a civil time, as text or naive, or a stored instant.
    """

    kind: str
    parameters: dict[str, Any]
    paths: dict[str, str]


_NONE = Typed("", {}, {})


def read(body: FormBody, timing: Timing | None, time_zone: str) -> Typed:
    """Refuses anything but exactly one."""
    if len(given := sorted(timing.model_fields_set if timing else ())) != 1:
        none = FieldError("timing", f"Give exactly one of {', '.join(TimingDocument.model_fields)}.", "required")
        body.refuse(*[FieldError(f"timing.{name}", str(ONE_TIMING), "one_timing") for name in given] or [none])
        return _NONE
    [name] = given
    value = getattr(timing, name)
    if name in TimingDocument.model_fields:
        return Typed(name, value.model_dump(exclude_none=True), _paths(name))
    kind, parameters, paths = _friendly(body, name, value, time_zone)
    return Typed(kind, parameters, {field: f"timing.{name}{inner}" for field, inner in paths.items()})


def readable(row: Any) -> Rule | None:
    """The rule of a schedule or a watch; None where it has none, or one that cannot be read."""
    try:
        rule: Rule = row.timetable().rule
        return rule
    except InvalidRule:
        return None


def stored(body: FormBody, rule: Rule | None, moves: bool) -> Typed:
    """The timing that a schedule has, for a patch that leaves it alone; `moves`: to the same times on another clock."""
    if rule is None:
        body.refuse(FieldError("timing", "The stored timing cannot be read any more. Give a new one.", "rule"))
        return _NONE
    parameters, anchor = rule.data(), getattr(rule, "anchor", None)
    if anchor is not None:
        parameters["anchor"] = civil.local(rule.zone, anchor) if moves else anchor
    return Typed(rule.kind, parameters, _paths(rule.kind))


def _paths(name: str) -> dict[str, str]:
    return {field: f"timing.{name}.{field}" for field in (*rules.KINDS[name].parameters, *PARAMETERS)}


def called(body: type[Body], paths: Mapping[str, str], name: str) -> str:
    """Return the name of a form field in `body`; `paths` has those of the timing."""
    default = "timing" if name in TimingForm.base_fields else ""
    return name if name in body.model_fields else paths.get(name) or FORM_NAMES.get(name, default)


def _friendly(body: FormBody, name: str, value: Any, time_zone: str) -> tuple[str, dict[str, Any], dict[str, str]]:
    """A deprecated timing as one of our own, with the names of the parameters within it."""
    if name == "intervalMinutes":
        return "interval", {"every": value, "unit": "minutes"}, {"every": ""}
    if name == "onceAt":
        return "once", {"at": _civil(body, value, time_zone)}, {"at": ""}
    at, paths = {"time": time(value.hour, value.minute)}, {"time": ""}
    if name == "dailyTime":
        return "daily", at, paths
    if name == "weeklyTime":
        return "weekly", at | {"days": [(value.dayOfWeek + 6) % 7]}, paths | {"days": ".dayOfWeek"}
    return "monthly", at | {"day": value.day, "short": "last"}, paths | {"day": ".day"}


def _civil(body: FormBody, instant: datetime, time_zone: str) -> datetime:
    try:
        zone = civil.zone(time_zone)
    except InvalidRule:  # the form says so, at time_zone
        return instant.replace(tzinfo=None)
    local = civil.local(zone, instant)
    if civil.first_instant(zone, local) != instant:
        body.refuse(
            FieldError(
                "timing.onceAt",
                f"The clock of {time_zone} shows this time twice, and a reminder fires the first time. "
                "Choose another time, or the time zone UTC.",
                "repeated_hour",
            )
        )
    return local


def fields(rule: Rule | None, row: Any) -> dict[str, Any]:
    """The fields of an answer that need a readable rule: `timing`, and the civil times of `row`."""
    times = {name: at and at.isoformat() for name, at in civil_times(rule, row).items()}
    return {"timing": rule and document(rule), **times}


def civil_times(rule: Rule | None, row: Any) -> dict[str, datetime | None]:
    """When a schedule or a watch starts and ends, on the rule's clock; None without either."""
    times = {name: getattr(row, name) for name in ("starts_at", "ends_at")}
    return {name: None if rule is None else at and civil.local(rule.zone, at) for name, at in times.items()}


def document(rule: Rule) -> dict[str, Any]:
    """The timing of an answer: one of our own kinds, with a civil `anchor`."""
    anchor: datetime | None = getattr(rule, "anchor", None)
    civil_anchor = {} if anchor is None else {"anchor": civil.local(rule.zone, anchor).isoformat()}
    return {rule.kind: rule.data() | civil_anchor}
