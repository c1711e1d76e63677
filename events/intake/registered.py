"""Whether the data of an event fits the type that its person, or an operator, has registered.

Statements that run anyway find the type; its compiled schema is cached in each process by id and version.
"""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from common.parsing.budget import Budget
from events.models import RegisteredType
from events.pure import types
from events.pure.envelope import Envelope
from events.pure.types import Misfit
from events.reasons import EventCode
from work.reasons import NO_REASON, Reason

log = logging.getLogger(__name__)

_MOST_READY = 128
_ready: dict[tuple[UUID, int], Any] = {}
# Types by id and version, and until when they have a small budget, by the monotonic clock.
_costly: dict[tuple[UUID, int], float] = {}
_COSTLY_SECONDS = 60.0


class Registered(NamedTuple):
    """The registered type of an event. `refuses`: an event that does not fit is not handled."""

    id: UUID
    version: int
    refuses: bool


class Unfit(Exception):
    """Data that is refused. `misfits` are by the number of their event."""

    def __init__(self, misfits: dict[int, Misfit]) -> None:
        super().__init__("Data does not fit its type.")
        self.misfits = misfits


def sql(user: str, name: str) -> str:
    """The SQL of the type of a name for a person, as `read` takes it; NULL where there is none."""
    result = f"""SELECT t.id || ' ' || t.version || ' ' || t.on_misfit FROM events_registeredtype t
                 WHERE t.name = {name} AND t.user_id"""  # noqa: S608 - names of columns
    return f"coalesce(({result} = {user}), ({result} IS NULL))"


def read(value: str | None) -> Registered | None:
    if value is None:
        return None
    key, version, on_misfit = value.split()
    return Registered(UUID(key), int(version), on_misfit == RegisteredType.OnMisfit.REFUSE)


def check(envelopes: Sequence[Envelope], values: Iterable[str]) -> None:
    """Raise Unfit for those whose type refuses them, Carillon's own types too. `values`: each name, and what `sql`
    gives for it."""
    own = {number: wrong for number, one in enumerate(envelopes) if (wrong := types.misfit(one.type, one.data))}
    named = {name: read(given) for name, _space, given in (one.partition(" ") for one in values)}
    if misfits := own or _misfits(envelopes, {name: type for name, type in named.items() if type and type.refuses}):
        raise Unfit(misfits)


def _misfits(envelopes: Sequence[Envelope], refusing: Mapping[str, Registered]) -> dict[int, Misfit]:
    if not refusing:
        return {}
    from events.pure import json_schema

    schemas, budget = _schemas(list(refusing.values())), json_schema.new_budget()
    small = json_schema.small_budget(len(envelopes))
    misfits: dict[int, Misfit] = {}
    for number, one in enumerate(envelopes):
        if (type := refusing.get(one.type)) is None or (schema := schemas.get(type.id)) is None:
            continue
        if misfit := _misfit(type, schema, one.data, small if _is_costly(type) else budget):
            misfits[number] = misfit
    return misfits


def problem(type: Registered | None, data: dict[str, Any]) -> Reason:
    """Why data does not fit its type, in the active language."""
    if type is None or not (schema := _schemas([type]).get(type.id)):
        return NO_REASON
    from events.pure import json_schema

    budget = json_schema.small_budget() if _is_costly(type) else json_schema.budget_of_event()
    misfit = _misfit(type, schema, data, budget)
    return Reason(EventCode.UNFIT, field=misfit.path, problem=misfit.problem) if misfit else NO_REASON


def _misfit(type: Registered, schema: Any, data: dict[str, Any], budget: Budget) -> Misfit | None:
    from events.pure import json_schema

    misfit = json_schema.misfit(schema, data, budget)
    if misfit and misfit.keyword == "cost" and not _is_costly(type):
        if len(_costly) >= _MOST_READY:
            _costly.clear()
        _costly[type.id, type.version] = time.monotonic() + _COSTLY_SECONDS
    return misfit


def _is_costly(type: Registered) -> bool:
    """Whether a check of it has cost too much in this process lately."""
    return _costly.get((type.id, type.version), 0.0) > time.monotonic()


def _schemas(types: Sequence[Registered]) -> dict[UUID, Any]:
    """The compiled schemas by the id of their type. One statement reads those that this process has not met yet."""
    ready = {one.id: schema for one in types if (schema := _ready.get((one.id, one.version)))}
    if missing := [one.id for one in types if one.id not in ready]:
        if len(_ready) + len(missing) > _MOST_READY:
            _ready.clear()
        rows = RegisteredType.objects.filter(id__in=missing).values_list("id", "version", "data_schema")
        for key, version, text in rows:  # perhaps of a newer version
            ready[key] = _ready[key, version] = _compiled(key, text)
    return ready


def _compiled(key: UUID, text: str) -> Any:
    from events.pure import json_schema

    try:
        return json_schema.read(text)
    except json_schema.Unusable as error:  # SQL damaged it; it stops no event
        log.error("The schema of the registered type %s cannot be used: %s", key, error)
        return json_schema.read("{}")
