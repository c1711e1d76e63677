"""The types of events that Carillon knows: what their data holds, and who emits them.

Producers may publish any other type; its data is then not checked.
"""

import json
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from django.utils.text import get_text_list
from django.utils.translation import gettext as _, gettext_lazy
from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic.fields import Field as DataField

from common.texts.types import StrOrPromise
from events.reasons import EventCode
from work.reasons import Reason

SOURCE = "carillon"
"""The source of the events that only Carillon emits."""


class Schema(BaseModel):
    """The data of a type: no other fields, and no value of another JSON type. Each field has an example."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _such_as(example: Any, default: Any = ...) -> Any:
    return DataField(default, examples=[example])


class Field(NamedTuple):
    """One field of the data, for people. `holds` is its JSON type."""

    name: str
    holds: str
    example: str


class EventType(NamedTuple):
    """`emitted_by` is for people. `is_inside`: only Carillon emits it."""

    name: str
    summary: StrOrPromise
    schema: type[Schema]
    emitted_by: StrOrPromise
    is_inside: bool = True

    @property
    def fields(self) -> list[Field]:
        properties = self.schema.model_json_schema()["properties"].items()
        return [
            Field(name, _holds(one), json.dumps(one["examples"][0], ensure_ascii=False)) for name, one in properties
        ]


def _holds(shape: dict[str, Any]) -> str:
    """A part of a JSON schema as a word or two: "text (uuid)", "text or nothing"."""
    if "anyOf" in shape:
        return get_text_list([_holds(one) for one in shape["anyOf"]], _("or"))
    word = {"string": _("text"), "null": _("nothing"), "integer": _("whole number")}.get(shape["type"], shape["type"])
    return f"{word} ({shape['format']})" if "format" in shape else word


_CHAIN = "01890a5f-2c0f-7b11-8e3d-7a6b5c4d3e2f"
_ROW = "01890a5d-ac96-774b-bcce-b302099a8057"
_AT = "2026-03-29T16:00:00Z"
_LABELS = {"alertname": "DiskFull", "instance": "db1", "severity": "critical"}
_SUMMARY = "The disk of db1 is 95 % full."


class ScheduleData(Schema):
    schedule_id: UUID = _such_as(_ROW)


class FiredData(ScheduleData):
    slot_at: AwareDatetime = _such_as(_AT)
    correlation_id: str = _such_as(_CHAIN)
    reason: str = _such_as("")


class NotificationData(Schema):
    notification_id: UUID = _such_as("01890a5f-2c10-7c44-9d02-0b8a7c6d5e4f")
    schedule_id: UUID | None = _such_as(None)
    correlation_id: str = _such_as(_CHAIN)


class DeliveryData(Schema):
    delivery_id: UUID = _such_as("01890a5f-2c11-7a0e-8f57-5f0c6a1b2d3e")
    notification_id: UUID = _such_as("01890a5f-2c10-7c44-9d02-0b8a7c6d5e4f")
    channel_id: UUID = _such_as(_ROW)
    provider: str = _such_as("webhook")
    schedule_id: UUID | None = _such_as(None)
    correlation_id: str = _such_as(_CHAIN)
    reason: str = _such_as("http")


class ChannelData(Schema):
    channel_id: UUID = _such_as(_ROW)
    provider: str = _such_as("webhook")
    reason: str = _such_as("address-gone")


class AlertData(Schema):
    """`key` is the same for all events of one alert. Times are as the monitoring system writes them."""

    key: Annotated[str, StringConstraints(min_length=1)] = _such_as("c4ca4238a0b92382")
    title: str = _such_as("DiskFull")
    summary: str = _such_as(_SUMMARY, "")
    severity: str = _such_as("critical", "")
    labels: dict[str, str] = _such_as(_LABELS, {})
    annotations: dict[str, str] = _such_as({"summary": _SUMMARY}, {})
    url: str = _such_as("https://grafana.example.org/d/disk", "")
    value: str = _such_as("95", "")
    starts_at: str = _such_as(_AT, "")
    ends_at: str = _such_as("", "")


class ResolvedData(AlertData):
    title: str = _such_as("DiskFull", "")


class WatchData(Schema):
    """`at`: when it should have come, failed, recovered, or became slow. `seconds`: how long its run took, if known.
    `lock`: of a run that became slow while it held it."""

    watch_id: UUID = _such_as(_ROW)
    name: str = _such_as("Backup")
    tags: list[str] = _such_as(["db"])
    at: AwareDatetime = _such_as(_AT)
    exit_code: int | None = _such_as(None)
    seconds: float | None = _such_as(None)
    lock: str = _such_as("", "")


_CLOCK, _DELIVERIES = gettext_lazy("the clock"), gettext_lazy("deliveries")
_WATCHES = gettext_lazy("watches")
_MONITORING = gettext_lazy("Grafana and Alertmanager, through an inbound address; your programs")
_OUTCOMES = {
    "open": gettext_lazy("Channels are being tried again."),
    "full": gettext_lazy("It arrived on all channels."),
    "partial": gettext_lazy("It arrived on some channels only."),
    "failed": gettext_lazy("It arrived on no channel."),
    "dropped": gettext_lazy("It was cancelled, or too late."),
}
_ENDS = {
    "delivered": gettext_lazy("A channel took it."),
    "dead": gettext_lazy("It failed for good, and waits for a person."),
    "unknown": gettext_lazy("Nobody knows whether it arrived; it waits for a person."),
    "expired": gettext_lazy("It was too late to send it."),
}
_SIGNS = {
    "missed": gettext_lazy("A sign of life did not come in time."),
    "failed": gettext_lazy("What is watched has reported a failure."),
    "recovered": gettext_lazy("It has reported success again."),
    "slow": gettext_lazy("A run takes longer than it may."),
}

TYPES: dict[str, EventType] = {
    one.name: one
    for one in (
        EventType("schedule.fired", gettext_lazy("A reminder was due, and was sent."), FiredData, _CLOCK),
        EventType("schedule.broken", gettext_lazy("A reminder cannot be read."), ScheduleData, _CLOCK),
        *(
            EventType(f"notification.{outcome}", summary, NotificationData, _DELIVERIES)
            for outcome, summary in _OUTCOMES.items()
        ),
        *(EventType(f"delivery.{state}", summary, DeliveryData, _DELIVERIES) for state, summary in _ENDS.items()),
        EventType("channel.disabled", gettext_lazy("Nothing is sent to a channel any more."), ChannelData, _DELIVERIES),
        *(EventType(f"watch.{sign}", summary, WatchData, _WATCHES) for sign, summary in _SIGNS.items()),
        EventType("alert.raised", gettext_lazy("Something is wrong."), AlertData, _MONITORING, is_inside=False),
        EventType("alert.resolved", gettext_lazy("It is well again."), ResolvedData, _MONITORING, is_inside=False),
    )
}
"""By name."""

INSIDE = [type.name for type in TYPES.values() if type.is_inside]
"""Types that only Carillon emits."""
FROM_CHANGES = [name for name in INSIDE if not name.startswith("watch.")]
"""Those that are read from the feed of changes, where a rule is for them."""

STEP_DONE, STEP_FAILED, WAIT_OVER = TO_RUNS = ("step.done", "step.failed", "wait.over")
"""Types that only Carillon emits, each to one run of a flow."""


class Misfit(NamedTuple):
    """The first place where data does not fit a schema, as a path; the keyword that it violates; what is wrong."""

    path: str
    keyword: str
    problem: str


def misfit(name: str, data: dict[str, Any]) -> Misfit | None:
    """The first place where `data` does not fit its type; None if it does, or nobody knows the type."""
    if name not in TYPES:
        return None
    try:
        TYPES[name].schema.model_validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return Misfit(".".join(["data", *map(str, first["loc"])]), first["type"], f"{first['msg']}.")
    return None


def problem(name: str, data: dict[str, Any]) -> Reason | None:
    """As `misfit`, as a reason."""
    result = misfit(name, data)
    return Reason(EventCode.UNFIT, field=result.path, problem=result.problem) if result else None


def is_reserved(name: str) -> bool:
    return name in INSIDE or name in TO_RUNS
