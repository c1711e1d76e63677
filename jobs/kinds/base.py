"""The interface of a kind of job: what it asks, where it asks, and what it makes of what it found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms

from common.parsing.budget import Budget
from common.texts.types import StrOrPromise
from jobs.reading.fetch import Fetch, Later, Refused
from work.reasons import Reason
from work.retry import Policy

if TYPE_CHECKING:
    from people.models import User

KEEP: Final = object()
"""The memory stays as it is."""

DAY = 86_400.0
LONGEST_FRESH = 7 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A person's connection: what of it is public, and its secrets. `version` grows with every edit."""

    id: UUID
    label: str
    address: Mapping[str, Any]
    secrets: Mapping[str, str]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question, with its person and time. Instants are aware UTC.

    `origin_id` is the id of the reminder (None for a job without one), `zone` the person's own, `slot` when it was due,
    `now` when it checks. `payload` is what the kind's form made; `memory` what the last check for this person and
    reminder left, None for the first one. `job_id`: None for Check now. `budget` is what `decide` may
    spend.
    """

    user_id: int
    origin_id: UUID | None
    zone: ZoneInfo
    slot: datetime
    now: datetime
    payload: Mapping[str, Any]
    memory: Any = None
    source: Source | None = None
    job_id: UUID | None = None
    budget: Budget = field(default_factory=Budget, compare=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A source's answer, as JSON: it may be kept and used again for the same question.

    `answered_at`: when the source gave it, for one that was kept; None for one of this check.
    """

    value: Any
    answered_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """Speak. `reason` is the evidence; `words` are the values of the kind's placeholders.

    `title` and `body` replace the reminder's own texts, with the same placeholders. `effect` runs in the transaction
    that records the notification, and returns what is remembered instead of `memory`, None for that.
    `changes_reminders`: the effect locks its person and reminders, so it runs before the job is settled.
    """

    reason: Reason
    words: Mapping[str, str] = field(default_factory=dict)
    memory: Any = KEEP
    title: str | None = None
    body: str | None = None
    effect: Callable[[], object] | None = None
    changes_reminders: bool = False


@dataclass(frozen=True, slots=True)
class Nothing:
    """Stay silent. `reason` is the evidence; `effect` runs in the transaction that settles the job, as in `Say`.

    `silent_since`: its person is told that the source has brought nothing since then.
    """

    reason: Reason
    memory: Any = KEEP
    effect: Callable[[], object] | None = None
    changes_reminders: bool = False
    silent_since: str | None = None


class JobKind(ABC):
    """It has no state: one object serves every job, from any thread."""

    name: ClassVar[str]
    """Stored with each job; the same as the module's name."""

    label: ClassVar[StrOrPromise]
    """Its name for people: "GitHub streak"."""

    about: ClassVar[StrOrPromise]
    """One line at the choice of a kind."""

    position: ClassVar[int] = 100
    """Its position in lists, lowest first."""

    queue: ClassVar[str] = "jobs"
    """The Celery queue of its jobs."""

    connection: ClassVar[str] = ""
    """The kind of connection that it uses; empty: none."""

    needs_connection: ClassVar[bool] = True
    """Whether it cannot check without one, where `connection` names a kind."""

    offered: ClassVar[bool] = True
    """Whether people choose it for their reminders; else Carillon alone records its jobs."""

    speaks: ClassVar[bool] = True
    """Whether it may say something, so that its reminder needs texts and channels."""

    policy: ClassVar[Policy] = Policy(tries=3, waits=(60, 120))

    deadline: ClassVar[float] = 20.0
    """Seconds for one whole check. A lease lasts 90 s."""

    fresh_for: ClassVar[float] = 0.0
    """Seconds for which an answer serves the same question again; 0: each check asks. At most 7 days."""

    conditional: ClassVar[bool] = False
    """Whether answers are kept for `ETag` and `Last-Modified`."""

    form: ClassVar[type[forms.Form]] = forms.Form
    """The fields of its question, the payload."""

    example: ClassVar[Mapping[str, Any]] = {}
    """Sample input for the form, where a field without an initial value needs one."""

    placeholders: ClassVar[Mapping[str, StrOrPromise]] = {}
    """Placeholders beyond a reminder's own, each with an example of its value."""

    title: ClassVar[StrOrPromise] = ""
    """The suggested title, and the suggested body below."""

    body: ClassVar[StrOrPromise] = ""

    def examples(self) -> dict[str, str]:
        """Return the placeholders with the examples, in the active language."""
        return {name: str(example) for name, example in self.placeholders.items()}

    def payload(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        return dict(cleaned)

    def form_initial(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the form's fields for a stored payload."""
        return dict(payload)

    def fresh(self, payload: Mapping[str, Any]) -> float:
        """Return `fresh_for`, or what the person who asks has chosen. Does not raise, whatever is stored."""
        return self.fresh_for

    def restrict(self, form: forms.Form, user: User) -> None:  # noqa: B027 - most kinds offer all to everybody
        """Remove from the form what this person may not choose."""

    @abstractmethod
    def summary(self, payload: Mapping[str, Any]) -> str:
        """Return one line that says what is checked, for lists: "commits of ada"."""

    def question(self, ask: Ask) -> Any:
        """Return, as JSON, what decides the answer beside the connection: the same question has the same answer."""
        return dict(ask.payload)

    @abstractmethod
    def check(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        """Ask the source. Outside of any transaction; it writes nothing, and returns within `deadline`.

        What `fetch` raises (NotSent, Unanswered) may pass through: it means `Later`, or `Refused` where the address is
        not allowed.
        """

    @abstractmethod
    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        """Return what follows from what was found. Pure: neither network nor database.

        It has five seconds of CPU time. A loop over what a stranger wrote spends from `ask.budget`.
        """
