"""The entries of a file: their parts, which are read with problems that name the field; and what becomes of them."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

from api.protocol import words
from api.protocol.fields import Instant
from api.protocol.problems import FieldError, invalid
from schedules.models import Schedule

Entry = dict[str, Any]
Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Trouble:
    """An entry that was not taken; `field` is where in it."""

    section: str
    name: str
    field: str
    detail: str


@dataclass(slots=True)
class Outcome:
    """How much was added and was there already, by section; what the person must do, and why the rest was not read."""

    added: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    troubles: list[Trouble] = field(default_factory=list)
    to_confirm: list[str] = field(default_factory=list)
    stopped: str = ""


class Snoozed(BaseModel):
    snoozed_until: Instant | None = None


def with_rest(entry: Entry) -> Entry:
    """It rings as often as is left of its number."""
    most, fired = entry.get("max_count"), entry.get("fired_count")
    if isinstance(most, int) and isinstance(fired, int) and entry.get("state") != Schedule.State.FINISHED:
        return entry | {"max_count": max(1, most - max(0, fired))}
    return entry


def read(model: type[Body], entry: Entry) -> Body:
    """Raises a 422 problem."""
    try:
        return model.model_validate({name: entry[name] for name in model.model_fields if name in entry})
    except ValidationError as error:
        found = error.errors()
        raise invalid(*(FieldError(".".join(map(str, one["loc"])), words.detail({**one})) for one in found)) from None


def text(entry: Entry, name: str) -> str:
    value = entry.get(name, "")
    if not isinstance(value, str):
        raise invalid(FieldError(name, _("This must be a text.")))
    return value


def fields(entry: Entry) -> Entry:
    value = entry.get("fields", {})
    if not isinstance(value, dict):
        raise invalid(FieldError("fields", _("This must be an object.")))
    return value


def uuid(value: Any) -> UUID | None:
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
