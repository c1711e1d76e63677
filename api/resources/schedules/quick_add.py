"""Read a schedule from one line, such as "water the plants every Sunday 18:00"."""

from typing import Any

from django.http import HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer
from api.protocol.fields import Body, Instant, written
from api.protocol.problems import FieldError, invalid
from api.resources.schedules import timing
from api.resources.schedules.timing import Timing
from schedules.firing import fire
from schedules.inputs import quick_add
from schedules.inputs.sentences.meaning import LONGEST
from schedules.rules import InvalidRule, civil

router = Router(tags=["schedules"], auth=Bearer("read"))

_EXAMPLE: Any = {"text": "water the plants every Sunday 18:00", "time_zone": "Europe/Berlin"}


class Line(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    text: str = Field(description="What and when, in English.", json_schema_extra={"maxLength": LONGEST})
    time_zone: str | None = Field(None, description="An IANA name; without one, your own time zone.")


class QuickDraft(BaseModel):
    """A body of “Create a schedule”, without channels; `description` and `next_run` are for people to check."""

    title: str
    body: str
    timing: Timing
    time_zone: str
    starts_at: str | None
    ends_at: str | None
    max_count: int | None
    description: str
    next_run: Instant | None


@router.post("/quick-add", response=QuickDraft, summary="Read a schedule from one line")
def quick_add_schedule(request: ApiRequest, body: Line) -> HttpResponse:
    """Says what a line means. Nothing is saved: add `channels`, and create it."""
    zone = request.auth.user.time_zone if body.time_zone is None else body.time_zone
    try:
        civil.zone(zone)
    except InvalidRule as error:
        raise invalid(FieldError("time_zone", str(error), error.code)) from None
    reading = quick_add.read(body.text, zone, fire.read_clock().now, needs_title=True)
    if reading.timetable is None:
        raise invalid(FieldError("text", reading.refusal))
    rule, found = reading.timetable.rule, reading.fields
    return answer(
        {
            "title": found["title"],
            "body": found.get("body", ""),
            "timing": timing.document(rule),
            "time_zone": rule.timezone,
            "starts_at": found.get("starts_at") or None,
            "ends_at": found.get("ends_at") or None,
            "max_count": int(found.get("max_count") or 0) or None,
            "description": rule.describe(),
            "next_run": written(reading.next),
        }
    )
