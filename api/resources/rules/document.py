"""A rule in an answer: everything that a body may say, and what Carillon knows of it."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from api.protocol.answers import fields_of
from api.protocol.fields import Instant, example
from events.models import Rule
from events.pure import matching

_EXAMPLE: Any = {
    "id": "01890a5b-1f0e-7d52-b8f4-2a6d0c9e7b13",
    "enabled": True,
    "version": 1,
    "name": "Big orders",
    "type_pattern": "order.*",
    "conditions": [{"field": "data.amount", "operator": "above", "value": "100"}],
    "title": "Order {data.order_id}",
    "body": "{data.amount} EUR from {source}",
    "channels": ["01890a5d-ac96-774b-bcce-b302099a8057"],
    "throttle_count": 3,
    "throttle_seconds": 3_600,
    "created": "2026-03-28T09:00:00Z",
    "updated": "2026-03-28T09:00:00Z",
}


class ConditionDocument(BaseModel):
    field: str
    operator: str
    value: str


class RuleDocument(BaseModel):
    """`digest_at` is a time of day in your time zone."""

    model_config = example(_EXAMPLE)

    id: UUID
    enabled: bool
    version: int = Field(description="As in `ETag`.")
    name: str
    type_pattern: str
    source: str
    conditions: list[ConditionDocument] = Field(description="Empty if they are damaged; then the rule does not ring.")
    title: str
    body: str
    channels: list[UUID]
    in_order: bool
    escalate_after: int | None
    urgent: bool
    throttle_count: int | None
    throttle_seconds: int | None
    digest_seconds: int | None
    digest_at: str | None
    digest_count: int | None
    digest_key: str
    series: str
    series_ends_on: str
    series_key: str
    created: Instant
    updated: Instant


def document(rule: Rule) -> dict[str, Any]:
    return fields_of(
        RuleDocument,
        rule,
        conditions=conditions(rule),
        channels=[str(channel.id) for channel in rule.ordered_channels()],
        in_order=bool(rule.channel_order),
        created=rule.created_at,
        updated=rule.updated_at,
    )


def conditions(rule: Rule) -> list[dict[str, str]]:
    """None if they are damaged."""
    try:
        found = matching.read_conditions(rule.conditions)
    except ValueError:
        return []
    return [{"field": one.field, "operator": one.operator, "value": matching.shown(one.value)} for one in found]
