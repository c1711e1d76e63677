"""The types of events that Carillon knows: what their data holds, who emits them, and who handles them.

One file each group. Producers may publish any other type; its data is then not checked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from events.types import alert, channel, delivery, notification, schedule
from events.types.base import SOURCE, EventType

__all__ = ["INSIDE", "SOURCE", "TYPES", "EventType", "Problem", "is_reserved", "problem"]

TYPES: dict[str, EventType] = {
    type.name: type for group in (schedule, notification, delivery, channel, alert) for type in group.TYPES
}
"""By name."""

INSIDE = [type.name for type in TYPES.values() if type.is_inside]
"""What only Carillon emits."""


@dataclass(frozen=True, slots=True)
class Problem:
    """`field` is a path such as `data.schedule_id`."""

    field: str
    text: str


def problem(name: str, data: dict[str, Any]) -> Problem | None:
    """The first reason why `data` does not fit its type; None if it does, or nobody knows the type."""
    known = TYPES.get(name)
    if known is None:
        return None
    try:
        known.schema.model_validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return Problem(".".join(["data", *map(str, first["loc"])]), f"{first['msg']}.")
    return None


def is_reserved(name: str) -> bool:
    """Whether only Carillon itself emits events of this type."""
    return name in INSIDE
