"""A flow: handlers by type of event that decide for one run at a time, and steps that may fetch. Pure.

See docs/adding-a-flow.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, Protocol
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from common.texts.types import StrOrPromise
from work.retry import SLOW, Policy


class FlowEvent(Protocol):
    """An event as handlers see it. Of two events, the one that was recorded later has the greater id."""

    @property
    def id(self) -> UUID: ...
    @property
    def type(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def occurred_at(self) -> datetime: ...
    @property
    def data(self) -> dict[str, Any]: ...


class State(BaseModel):
    """The base of a flow's state: 64 KiB of JSON at most."""

    model_config = ConfigDict(extra="forbid")


class NewEvent(NamedTuple):
    type: str
    data: Mapping[str, Any]
    delay: int


class NewMessage(NamedTuple):
    subject: str
    body: str
    channels: Sequence[UUID]
    urgent: bool


class NewStep(NamedTuple):
    """`key`: a step of this name and key is started once; `most_open`: see `Turn.begin`."""

    name: str
    input: Mapping[str, Any]
    key: str
    most_open: int | None


class Wait(NamedTuple):
    type: str
    seconds: int | None


@dataclass(slots=True)
class Turn:
    """A run while it handles one event: what its handler reads, and what it asks for.

    All of it is committed with the state and the event, or nothing is. `page` is the address of the run's page; `now`
    is when the event was taken.
    """

    key: str
    page: str
    state: Any
    settings: Any
    now: datetime
    events: list[NewEvent] = field(default_factory=list)
    messages: list[NewMessage] = field(default_factory=list)
    steps: list[NewStep] = field(default_factory=list)
    waiting: Wait | None = None
    is_finished: bool = False
    withdraws: bool = False

    def emit(self, type: str, data: Mapping[str, Any], delay: int = 0) -> None:
        """Emit an event of the same chain, `delay` seconds from now. Its id follows from the handled event."""
        self.events.append(NewEvent(type, data, delay))

    def notify(self, subject: str, body: str = "", channels: Sequence[UUID] = (), *, urgent: bool = False) -> None:
        """Send a message to those of the person's channels that work; to all of them if none is named or works."""
        self.messages.append(NewMessage(subject, body, channels, urgent))

    def withdraw(self) -> None:
        """Cancel those of this run's earlier messages that have not gone out."""
        self.withdraws = True

    def begin(self, step: str, input: Mapping[str, Any], *, key: str = "", most_open: int | None = None) -> None:
        """Begin a step. One with the same key is skipped if it exists already.

        While `most_open` steps of this name are open, it is held until one of them has ended.
        """
        self.steps.append(NewStep(step, input, key, most_open))

    def wait(self, type: str, timeout: int | None = None) -> None:
        """Wait for an event of this type, or for `timeout` seconds, after which `types.WAIT_OVER` is handled."""
        self.waiting = Wait(type, timeout)

    def finish(self) -> None:
        """End the run. Its key can begin another one."""
        self.is_finished = True


class TryLater(Exception):
    """Raised by a step: it is tried again, `after` seconds later if that is given. The text is for people."""

    def __init__(self, problem: str, after: float | None = None) -> None:
        super().__init__(problem)
        self.after = after


class StepRefused(Exception):
    """Raised by a step: no other try can succeed. The text is for people."""


@dataclass(frozen=True, slots=True)
class StepCall:
    """`key` is the same at each try, for the idempotency of the other side."""

    key: str
    tries: int
    correlation_id: str


Handler = Callable[[Any, Turn, FlowEvent], None]
StepCode = Callable[[Any, dict[str, Any], StepCall], Mapping[str, Any]]


class Step(NamedTuple):
    run: StepCode
    policy: Policy
    seconds: float


def on(*types: str, step: str = "") -> Callable[[Handler], Handler]:
    """Mark a handler of events of these types; of those of a step with its name. It may be marked several times."""

    def mark(handler: Handler) -> Handler:
        handled = getattr(handler, "handled", [])
        handler.handled = [*handled, *((type, step) for type in types)]  # type: ignore[attr-defined]
        return handler

    return mark


def step(policy: Policy = SLOW, seconds: float = 30.0) -> Callable[[StepCode], StepCode]:
    """Mark a step, whose name is that of its function. `seconds`: the deadline of each try, 60 at most."""

    def mark(code: StepCode) -> StepCode:
        code.step = Step(code, policy, min(seconds, 60.0))  # type: ignore[attr-defined]
        return code

    return mark


class UnknownVersion(Exception):
    """Raised by `Flow.migrate`: nobody knows what this state means to the code of today."""


class Flow(ABC):
    """`begins_on` are the types that begin a run where none is open; empty for all that it handles.

    With `Settings`, it handles the events of those who have switched it on, with their settings. `version` is stored
    with each run: where it differs, `migrate` is called first.
    """

    name: ClassVar[str]
    label: ClassVar[StrOrPromise] = ""
    position: ClassVar[int] = 100
    version: ClassVar[int] = 1
    begins_on: ClassVar[tuple[str, ...]] = ()
    State: ClassVar[type[BaseModel]]
    Settings: ClassVar[type[BaseModel] | None] = None

    def __init__(self) -> None:
        members = [getattr(type(self), name) for name in dir(type(self))]
        self.handlers: dict[tuple[str, str], Handler] = {
            handled: member for member in members for handled in getattr(member, "handled", ())
        }
        self.steps: dict[str, Step] = {
            member.__name__: member.step for member in members if isinstance(getattr(member, "step", None), Step)
        }

    @abstractmethod
    def key(self, event: FlowEvent) -> str:
        """The key of the run that handles an event: up to 200 characters."""

    def migrate(self, state: dict[str, Any], version: int) -> dict[str, Any]:
        """The state of a run that another version of this flow has written."""
        raise UnknownVersion
