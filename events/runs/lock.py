"""Lock runs, and begin those that do not exist, without waiting for anybody."""

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from common.database import correlation
from common.database.postgres import column, columns, execute, instance
from common.database.rows import Rows
from common.uuid7 import child
from events.flows.base import Flow
from events.intake.handling import EventClaim
from events.models import Run

NOWAIT, SKIP = "NOWAIT", "SKIP LOCKED"
"""Where somebody else has a run: an error for which `is_locked` is true, or it is left out."""


class Target(NamedTuple):
    """The run of a key."""

    user_id: int
    flow: str
    key: str


class NewRun(NamedTuple):
    """A run that the event begins."""

    event: EventClaim
    flow: Flow
    key: str


_TARGETS = Rows("given", Target)
_SELECT = f"SELECT {columns(Run, 'r')} FROM events_run r"  # noqa: S608 - names of columns
_BY_TARGET = f"""{_SELECT} JOIN {_TARGETS.sql} USING (user_id, flow, key) WHERE r.ended_at IS NULL
  FOR NO KEY UPDATE OF r"""
_BY_ID = f"{_SELECT} WHERE r.id = ANY(%(ids)s::uuid[]) FOR NO KEY UPDATE"
_NEW = Rows(
    "new",
    id=(UUID, lambda new: child(new.event.id, new.flow.name)),
    user_id=(int, lambda new: new.event.user_id),
    flow=(str, lambda new: new.flow.name),
    key=(str, lambda new: new.key),
    version=(int, lambda new: new.flow.version),
    correlation_id=(UUID, lambda new: correlation.key(new.event.chain)),
    correlation=(str, lambda new: correlation.text(new.event.chain)),
)
# An insert waits for a transaction that has inserted the same key: so only one may try.
_INSERT = _NEW.insert("events_run AS r", status="'open'", state="'{}'", waits="0", applied="0", begun="0")
_BEGIN = f"""
{_INSERT} WHERE pg_try_advisory_xact_lock(hashtextextended(user_id || ' ' || flow || ' ' || key, 0))
     ON CONFLICT DO NOTHING
RETURNING {columns(Run, "r")}
"""


def by_key(targets: Iterable[Target], otherwise: str) -> dict[Target, Run]:
    """The open runs of these keys. `otherwise`: see `NOWAIT` and `SKIP`."""
    return _by_target(execute(f"{_BY_TARGET} {otherwise}", _TARGETS.values(targets)))


def by_id(ids: Iterable[UUID], otherwise: str) -> dict[UUID, Run]:
    rows = execute(f"{_BY_ID} {otherwise}", {"ids": column(ids)}).fetchall()
    return {run.id: run for run in (instance(Run, row) for row in rows)}


def begin(new: Iterable[NewRun]) -> dict[Target, Run]:
    """Begin a run of each key, but for those of which somebody else has one, or begins it now."""
    return _by_target(execute(_BEGIN, _NEW.values(new)))


def _by_target(rows: Iterable[Any]) -> dict[Target, Run]:
    return {Target(run.user_id, run.flow, run.key): run for run in (instance(Run, row) for row in rows)}
