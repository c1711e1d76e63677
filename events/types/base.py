"""What is declared of a type of events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

SOURCE = "carillon"
"""The source of the events that only Carillon emits."""


class Schema(BaseModel):
    """The data of a type: no other fields, and no value of another JSON type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Field(NamedTuple):
    """One field of the data, for people. `holds` is its JSON type."""

    name: str
    holds: str
    example: str


@dataclass(frozen=True, slots=True)
class EventType:
    """`emitted_by` and `handled_by` are for people. `is_inside`: only Carillon emits it."""

    name: str
    summary: StrOrPromise
    schema: type[Schema]
    example: dict[str, Any]
    emitted_by: StrOrPromise
    handled_by: str = "rules"
    is_inside: bool = True

    @property
    def fields(self) -> list[Field]:
        properties = self.schema.model_json_schema()["properties"]
        return [
            Field(name, _holds(shape), json.dumps(self.example.get(name), ensure_ascii=False))
            for name, shape in properties.items()
        ]


def _holds(shape: dict[str, Any]) -> str:
    """A part of a JSON schema as a word or two: "text (uuid)", "text or nothing"."""
    if "anyOf" in shape:
        return get_text_list([_holds(one) for one in shape["anyOf"]], _("or"))
    word = {"string": _("text"), "null": _("nothing"), "integer": _("whole number")}.get(shape["type"], shape["type"])
    return f"{word} ({shape['format']})" if "format" in shape else word
