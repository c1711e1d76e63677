"""A kind of work: a declaration of its rows, of what a worker loads, and of what running it means.

A kind subclasses `Kind`, and registers one object of it. Everything else about its life is the engine's.
See docs/adding-a-kind-of-work.md.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from string import Template
from typing import Annotated, Any, ClassVar, Generic, TypeVar, cast, get_type_hints
from uuid import UUID

from common.database.rows import Rows
from work.answers import Answer, Cancel, Defer, Rejected
from work.models import Attempt, Work
from work.reasons import Reason, WorkCode
from work.retry import Policy

Settle = Callable[[Sequence[int]], None]


class Loaded:
    """Annotates a field of a claim with the SQL that loads it, and what reads it from the value.

    The SQL may name attributes of the kind, such as `$person`. Without it, the field is a column of the row.
    """

    def __init__(self, sql: str = "", read: Callable[[Any], Any] | None = None) -> None:
        self.sql, self.read = sql, read


FROM_ROW = Loaded()
"""Annotates a field of a claim that `from_row` of its kind reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Work that a worker holds, or held when it was lost.

    `handler` is the code that runs it, such as the provider of a delivery; `on_unknown`: see `Kind.may_repeat`. `tries`
    counts this try, starting at 1 after each replay.
    """

    id: UUID
    token: Annotated[UUID, Loaded("d.lease_token")]
    handler: Annotated[str, Loaded("$handler")] = ""
    on_unknown: Annotated[str, Loaded("$on_unknown")] = ""
    tries: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Lease):
    """A lease with all that a worker needs to run it without the database; a kind adds its own fields.

    `person_id` is whose it is, None for nobody's; `language` is theirs, in which everything is written while it runs;
    `is_bulk`: see `Work`; `queue` is its own, if any. `released`: how often it was given back before it began. It was
    due at `available_at` and claimed at `claimed_at`, on the database's clock. `left`: seconds until it is stale, None
    for never. `caused_by` and `chain`: its cause and its correlation id, see `Kind`.
    """

    person_id: Annotated[int | None, Loaded("$person")]
    language: Annotated[str, Loaded("$language")]
    is_bulk: bool
    queue: Annotated[str | None, Loaded("$queue_of")] = None
    released: int
    replays: int
    available_at: datetime
    claimed_at: Annotated[datetime, Loaded("now()")]
    left: Annotated[float | None, Loaded("extract(epoch FROM d.expires_at - now())::float")]
    caused_by: Annotated[str, Loaded("$caused_by")]
    chain: Annotated[str | None, Loaded("$chain")]


def from_json(text: str | None) -> Any:
    """Django hands jsonb to a raw cursor as text: its decoder sits in JSONField."""
    return None if text is None else json.loads(text)


C = TypeVar("C", bound=Claim)


class Kind(Generic[C]):
    """The class attributes with a value are optional.

    `queue_of` is the SQL of the queue of one row, where not all of a kind have the same (NULL: `queue`).
    `claim` is the dataclass of a claim. Its fields are columns of the claimed row `d`, or annotated with `Loaded`.
    `joins` is the SQL of the other rows, by default its person `p`; `columns` that of what `from_row` reads, by name.
    `handler` is the column that names the code that runs it, `on_unknown` the SQL of what its owner chose for an
    unknown outcome, `most_tries` the SQL of the tries that they allow (NULL: as many as the policy), `person` the SQL
    of whose it is, and `cost` that of how many usual pieces of work it is like, for the fair queue; `language` that of
    the language that they read; `source` that of what it comes from, for operators; `caused_by` that of its cause,
    often an id, and `chain` that of its correlation id, for the log.
    `follow` is the SQL of what else a settlement writes, as CTEs that see `settled` and read `follow_rows`;
    `follow_locks` are the foreign keys to the rows that it writes to, which are locked first. `rescues` is the SQL of
    rows for which `rescue` has something to do. `waits_for_locks` are the shortest and the longest wait, in seconds, of
    work whose effect needs what somebody else has locked. `retries` and `repeats`: see `policy` and `may_repeat`.
    """

    task: ClassVar[str]
    queue: ClassVar[str]
    model: ClassVar[type[Work]]
    attempts: ClassVar[type[Attempt]]
    handler: ClassVar[str]
    claim: ClassVar[type[Claim]] = Claim
    columns: ClassVar[Mapping[str, str]] = {}
    joins: ClassVar[str] = "JOIN people_user p ON p.id = d.user_id"
    on_unknown: ClassVar[str] = "''"
    most_tries: ClassVar[str] = "NULL::int"
    person: ClassVar[str] = "d.user_id"
    language: ClassVar[str] = "p.language"
    source: ClassVar[str] = "''"
    caused_by: ClassVar[str] = "''"
    chain: ClassVar[str] = "NULL::text"
    queue_of: ClassVar[str] = "NULL::text"
    cost: ClassVar[str] = "1"
    follow: ClassVar[str] = ""
    follow_locks: ClassVar[tuple[str, ...]] = ()
    follow_rows: ClassVar[Rows | None] = None
    rescues: ClassVar[str] = "SELECT WHERE false"
    waits_for_locks: ClassVar[tuple[float, float]] = (1.0, 20.0)
    retries: ClassVar[Policy]
    repeats: ClassVar[bool] = False

    def __init__(self) -> None:
        self.words = self.model.words
        self._names: dict[str, str] | None = None
        self._statements: dict[str, str] = {}
        self._loaded = _loaded(self.claim)
        self._readers = [(name, field.read) for name, field in self._loaded.items() if field is not FROM_ROW]
        KINDS[self.name] = self

    @property
    def name(self) -> str:
        """The name in interventions and on the command line: the name of its model."""
        return str(self.model._meta.model_name)

    def counted(self, count: int) -> str:
        """The name for people of so many rows, such as "delivery" or "deliveries"."""
        options = self.model._meta
        return str(options.verbose_name if count == 1 else options.verbose_name_plural)

    @property
    def rows(self) -> str:
        """The prefix of the names of its rows' pages in the admin."""
        return f"admin:{self.model._meta.app_label}_{self.name}"

    @property
    def dead_letters(self) -> str:
        """The prefix of the names of its dead letters' pages: of the proxy `DeadLetter` in the app of its model."""
        return f"admin:{self.model._meta.app_label}_deadletter"

    @property
    def handler_name(self) -> str:
        """The name for people of the code that runs it, such as "provider"."""
        return str(self.model._meta.get_field(self.handler).verbose_name)  # type: ignore[union-attr]

    def read(self, row: Any) -> C:
        """The claim. What this raises ends the work."""
        values = self.from_row(row)
        for name, read in self._readers:
            values[name] = read(getattr(row, name)) if read else getattr(row, name)
        return cast(C, self.claim(**values))

    def from_row(self, row: Any) -> dict[str, Any]:
        """Return the fields of the claim that are annotated with `FROM_ROW`."""
        return {}

    def prepare(self, claim: C) -> Defer | Cancel | Answer | Callable[[], Answer | Defer]:
        """Return the step after a claim: running it, by the callable, or why it is not run.

        Nothing may have happened outside when this returns: a worker that stops here has not begun.
        """
        return partial(self.run, claim)

    def run(self, claim: C) -> Answer | Defer:
        """Do it, outside of any transaction. What it raises is a bug, and the outcome unknown.

        `Defer` where a part is done and recorded: it goes on later, and the try does not count.
        """
        raise NotImplementedError

    def policy(self, handler: str) -> Policy:
        """Return the retry policy. Does not raise, whatever the row says."""
        return self.retries

    def may_repeat(self, handler: str, on_unknown: str) -> bool:
        """Whether it may be run again where nobody knows how a try ended."""
        return self.repeats

    def keeps_receipt(self, receipt: Reason) -> bool:
        """Whether the row keeps this receipt of its success as its reason, and not only its attempt."""
        return False

    def lost(self, handler: str) -> Reason:
        """Why a try is over whose lease expired."""
        return Reason(WorkCode.LOST)

    def next_try(self, claim: C, wait: float, reason: Reason) -> Defer | Rejected:
        """When it is tried again after a try that failed for `reason`: in `wait` seconds, later, or not at all."""
        return Defer(wait, reason)

    def follow_row(self, claim: C, answer: Answer, state: str) -> object | None:
        """The row of `follow_rows` for a settlement as `state`; None where `follow` has nothing to write."""
        return None

    def apply_together(self, shared: Sequence[Any], settle: Settle) -> list[bool | Exception]:
        """Run the effects of several pieces of work in one transaction. `shared` has `Done.shared` of each.

        `settle(indexes)` settles the work at these indexes of `shared` in the same transaction, or raises. Returns a
        result for each: true if its effect was run and it was settled, Busy if it must be tried again, Alone if
        `Done.effect` must be run in a transaction of its own, as is done for all if this raises. A lock is waited for
        at most a second.
        """
        raise NotImplementedError

    def after(self, claim: C, answer: Answer) -> None:
        """Act after a committed end."""

    def pulled_again(self, ids: Collection[UUID]) -> None:
        """Act after a replay, in its transaction, for work that programs pull."""

    def discarded(self, ids: Collection[UUID]) -> None:
        """Act after dead letters were discarded or marked as fixed, in the transaction of that."""

    def rescue(self) -> int:
        """Do this kind's own part of rescue, soon after `rescues` has rows. Returns how many rows."""
        return 0

    def sql(self, template: str) -> str:
        """A statement of the engine, with the names of this kind."""
        if (made := self._statements.get(template)) is None:
            self._names = self._names or self._all_names()
            made = self._statements[template] = Template(template).substitute(self._names)
        return made

    def _all_names(self) -> dict[str, str]:
        written = (name for name, hint in Kind.__annotations__.items() if hint == ClassVar[str])
        names = {name: getattr(self, name) for name in written} | {
            "name": self.name,
            "work": self.model._meta.db_table,
            "attempt": self.attempts._meta.db_table,
            "working": self.words.working,
            "done": self.words.done,
            "key": f"{self.words.key}_id",
            "handler": f"d.{self.handler}",
            "locked": self._joined(self.model.locks),
            "lock": ", ".join([*self.model.locks, "d"]),
            "follow_lock": "".join(f"{key}, " for key in self.follow_locks),
            "follow_locked": self._joined(self.follow_locks),
        }
        selected = {"lease": _columns(_loaded(Lease)), "claim": {**_columns(self._loaded), **self.columns}}
        lists = {
            name: ", ".join(f"{sql} AS {column}" for column, sql in all_.items()) for name, all_ in selected.items()
        }
        return names | {name: Template(columns).substitute(names) for name, columns in lists.items()}

    def _joined(self, keys: Iterable[str]) -> str:
        """The SQL that joins the rows to which foreign keys refer."""
        fields = {key: self.model._meta.get_field(key) for key in keys}
        return "".join(
            f" JOIN {field.related_model._meta.db_table} {key} ON {key}.id = d.{key}_id"  # type: ignore[union-attr]
            for key, field in fields.items()
        )


def of_all(statement: str) -> str:
    """One statement of those of all kinds."""
    return " UNION ALL ".join(f"({kind.sql(statement)})" for kind in KINDS.values())


def _loaded(claim: type[Lease]) -> dict[str, Loaded]:
    """How each field is loaded."""
    hints = get_type_hints(claim, include_extras=True)
    return {
        name: next(iter(getattr(hint, "__metadata__", ())), None) or Loaded(f"d.{name}") for name, hint in hints.items()
    }


def _columns(fields: Mapping[str, Loaded]) -> dict[str, str]:
    return {name: field.sql for name, field in fields.items() if field is not FROM_ROW}


KINDS: dict[str, Kind[Any]] = {}
"""By name."""


def kind_of(model: type[Any]) -> Kind[Any]:
    """The kind whose rows these are; `model` may be a proxy."""
    return KINDS[model._meta.concrete_model._meta.model_name]


def route(name: str, *_: Any, **__: Any) -> dict[str, str] | None:
    """Celery's router: each kind's task goes to its kind's queue."""
    return next(({"queue": kind.queue} for kind in KINDS.values() if kind.task == name), None)
