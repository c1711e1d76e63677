"""A rule in an answer: everything that a body may say, and what Carillon knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from api.fields import Instant, written
from events import matching
from events.models import Rule

_EXAMPLE: Any = {
    "id": "01890a5b-1f0e-7d52-b8f4-2a6d0c9e7b13",
    "enabled": True,
    "version": 1,
    "name": "Big orders",
    "type_pattern": "order.*",
    "source": "",
    "conditions": [{"field": "data.amount", "operator": "above", "value": "100"}],
    "title": "Order {data.order_id}",
    "body": "{data.amount} EUR from {source}",
    "channels": ["01890a5d-ac96-774b-bcce-b302099a8057"],
    "in_order": False,
    "escalate_after": None,
    "urgent": False,
    "throttle_count": 3,
    "throttle_seconds": 3_600,
    "digest_seconds": None,
    "digest_at": None,
    "digest_count": None,
    "digest_key": "",
    "series": "",
    "series_ends_on": "",
    "series_key": "",
    "created": "2026-03-28T09:00:00Z",
    "updated": "2026-03-28T09:00:00Z",
}


class ConditionDocument(BaseModel):
    field: str
    operator: str
    value: str


class RuleDocument(BaseModel):
    """`digest_at` is a time of day in your time zone."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

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


def document(rule: Rule, channels: Sequence[UUID] | None = None) -> dict[str, Any]:
    """`channels` are the ids of its channels, in order (None: read here)."""
    if channels is None:
        channels = [channel.id for channel in rule.ordered_channels()]
    return {
        "id": str(rule.id),
        "enabled": rule.enabled,
        "version": rule.version,
        "name": rule.name,
        "type_pattern": rule.type_pattern,
        "source": rule.source,
        "conditions": _conditions(rule),
        "title": rule.title,
        "body": rule.body,
        "channels": [str(channel) for channel in channels],
        "in_order": bool(rule.channel_order),
        "escalate_after": rule.escalate_after,
        "urgent": rule.urgent,
        "throttle_count": rule.throttle_count,
        "throttle_seconds": rule.throttle_seconds,
        "digest_seconds": rule.digest_seconds,
        "digest_at": rule.digest_at and f"{rule.digest_at:%H:%M}",
        "digest_count": rule.digest_count,
        "digest_key": rule.digest_key,
        "series": rule.series,
        "series_ends_on": rule.series_ends_on,
        "series_key": rule.series_key,
        "created": written(rule.created_at),
        "updated": written(rule.updated_at),
    }


def _conditions(rule: Rule) -> list[dict[str, str]]:
    try:
        found = matching.read_conditions(rule.conditions)
    except ValueError:
        return []
    return [{"field": one.field, "operator": one.operator, "value": matching.shown(one.value)} for one in found]
