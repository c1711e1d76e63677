"""What is declared of a type of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

SOURCE = "carillon"
"""The source of the events that only Carillon emits."""


class Schema(BaseModel):
    """The data of a type: no other fields, and no value of another JSON type."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class EventType:
    """`emitted_by` and `handled_by` are for people. `is_inside`: only Carillon emits it."""

    name: str
    summary: str
    schema: type[Schema]
    example: dict[str, Any]
    emitted_by: str
    handled_by: str = "rules"
    is_inside: bool = True
