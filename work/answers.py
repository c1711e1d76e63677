"""Answers of a piece of work before and after it runs, as values that perform nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from work.reasons import NO_REASON, Reason


@dataclass(frozen=True, slots=True)
class Defer:
    """It must not run now, but `wait` seconds later. The try does not count."""

    wait: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class Cancel:
    """Nobody wants it any more."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Done:
    """It succeeded. `effect` runs in the transaction that settles it: both are committed, or neither is.

    `before` is an effect too. It runs before the work is settled, because it locks what comes before work in the order
    of locks. Where another worker has taken over, it is rolled back.
    `shared`: what `Kind.apply_together` gets instead of `effect`, where several are settled at the same moment.
    """

    receipt: Reason = NO_REASON
    effect: Callable[[], object] | None = None
    before: Callable[[], object] | None = None
    shared: Any = None

    @property
    def has_effect(self) -> bool:
        return self.effect is not None or self.before is not None


class Overtaken(Exception):
    """Raised by an effect: another worker has changed what the claim had read. It is claimed and run again at once."""


class Busy(Exception):
    """Raised by an effect: somebody else has what it needs now. Nothing is written, and it is done again later."""


@dataclass(frozen=True, slots=True)
class Retryable:
    """Nothing happened, or a service asked to try later: in `retry_after` seconds from now, if it said when."""

    reason: Reason
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """No retry can succeed."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Failed(Rejected):
    """No try is left, or none can succeed. `effect` as in `Done`."""

    effect: Callable[[], object] | None = None


class NotStarted(Rejected):
    """It cannot run as things stand here. No external service was asked."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The outcome is unknown: it may have happened."""

    reason: Reason


class OwnFault(Ambiguous):
    """It broke off here: a bug, or a worker that must stop. No external service caused it."""


Answer = Done | Retryable | Rejected | Ambiguous


def effects_of(answer: object) -> Done:
    """The effects of an answer, as those of a success."""
    if isinstance(answer, Done):
        return answer
    return Done(effect=answer.effect if isinstance(answer, Failed) else None)
