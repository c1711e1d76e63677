"""Try a rule on an event: nothing is saved or sent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field, model_validator

from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of
from api.protocol.fields import Body
from api.protocol.problems import FieldError, invalid
from api.resources.events.body import Data, Type
from api.resources.notifications.document import Length, ReasonDocument, lengths, reason
from api.resources.rules import body as bodies
from api.resources.rules.body import RuleBody
from api.resources.rules.document import ConditionDocument
from events.models import Event
from events.pure.envelope import as_sent
from events.pure.matching import Condition
from events.rules import preview
from notifications.channels import text_preview
from people.models import User
from work.reasons import Reason

router = Router(tags=["rules"], auth=Bearer("read"))

_EXAMPLE: Any = {
    "rule": {
        "name": "Big orders",
        "type_pattern": "order.*",
        "conditions": [{"field": "data.amount", "operator": "above", "value": 100}],
        "title": "Order {data.order_id}",
        "channels": ["01890a5d-ac96-774b-bcce-b302099a8057"],
    },
    "event": {"type": "order.paid", "source": "shop", "data": {"order_id": 1234, "amount": 129.5}},
}


class Sample(Body):
    type: Type
    source: str = Field("", max_length=200)
    data: Data = Field(default_factory=dict)


class PreviewBody(Body):
    """A rule, and an event of yours by its id or one that is given here."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    rule: RuleBody
    event_id: UUID | None = Field(None, strict=False)
    event: Sample | None = None

    @model_validator(mode="after")
    def _has_one(self) -> PreviewBody:
        if (self.event_id is None) == (self.event is None):
            raise ValueError("Give either event_id or event.")
        return self


class CheckedCondition(ConditionDocument):
    """`reason` says why it does not hold."""

    holds: bool
    reason: ReasonDocument


class RulePreview(BaseModel):
    """Its limit and digest aside. `missing` are the fields that the texts name and the event does not have."""

    rings: bool
    fits_type: bool
    fits_source: bool
    conditions: list[CheckedCondition]
    title: str
    body: str
    missing: list[str]
    lengths: list[Length]


@router.post("/preview", response=RulePreview, summary="Preview a rule")
def preview_rule(request: ApiRequest, body: PreviewBody) -> HttpResponse:
    """Checks a rule and says what it would make of an event. Nothing is saved or sent."""
    user = request.auth.user
    rule, channels = bodies.described(body.rule, user, place="rule.")
    conditions = [Condition(**one) for one in rule.conditions]
    found = preview.outcome(rule.type_pattern, rule.source, conditions, rule.title, rule.body, _envelope(body, user))
    reading = text_preview.read(user, found.said, channels, None)
    return answer(
        fields_of(
            RulePreview,
            found,
            conditions=[_checked(*one) for one in found.conditions],
            title=reading.subject,
            body=reading.body,
            lengths=lengths(reading),
        )
    )


def _envelope(body: PreviewBody, user: User) -> dict[str, Any]:
    if body.event is not None:
        return body.event.model_dump()
    assert body.event_id is not None  # noqa: S101 - `_has_one`
    if (event := Event.objects.for_user(user).filter(key=body.event_id).first()) is None:
        raise invalid(FieldError("event_id", "You have no event with this id. Correct it, or give the event itself."))
    return as_sent(event)


def _checked(condition: Condition, unmet: Reason | None) -> dict[str, Any]:
    why = reason("", {}) if unmet is None else reason(unmet.code, unmet.params)
    return fields_of(CheckedCondition, condition, holds=unmet is None, reason=why)
