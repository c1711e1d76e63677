"""Run one piece of work: claim it, run it outside of any transaction, decide, settle under the lease's token."""

import logging
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db import transaction

from common.database import fault_points
from common.database.postgres import blames_no_row, is_locked, lend_connection
from common.redis import live_wakes
from common.texts import languages
from work.answers import Answer, Busy, Cancel, Defer, NotStarted, Overtaken, OwnFault, effects_of
from work.broker import load
from work.broker.wakes import Wake, publish
from work.engine import log_lines
from work.engine.claim import claim, seconds_until_available, unreadable
from work.engine.decision import decide, give_back
from work.engine.manual import cancel
from work.engine.settlement import release, settle
from work.kinds import C, Kind
from work.reasons import Reason, WorkCode
from work.retry import wait_when_busy

log = logging.getLogger(__name__)


class TryAgain(Exception):
    """It is settled for another try, in `wait` seconds. Celery's autoretry catches it and publishes."""

    def __init__(self, reason: Reason, wait: float) -> None:
        super().__init__(str(reason))
        self.wait = wait


def run(kind: Kind[Any], work_id: UUID, worker: str) -> None:
    """Try once. Does nothing when it is not due, not pending, or in another worker's hands.

    Raises `TryAgain` where another try follows.
    """
    if (claimed := claim(kind, work_id, worker)) is None:
        wait = seconds_until_available(kind, work_id)
        if wait:  # the message came before its time: clocks differ, or the row waits since
            publish([Wake(kind.task, work_id, wait)])
        return
    with languages.override(claimed.language):
        if (call := begin(kind, claimed)) is not None:
            lend_connection()
            answer = _call(kind, claimed, call)
            if isinstance(answer, Defer):
                _defer(kind, claimed, answer)
            else:
                finish(kind, claimed, answer)


def begin(kind: Kind[C], claimed: C) -> Callable[[], Answer | Defer] | None:
    """The call that runs it; None where it is not run now, which is settled. Raises `TryAgain` as `finish` does."""
    match prepared := _prepare(kind, claimed):
        case Cancel(reason):
            _withdraw(kind, claimed, reason)
        case Defer():
            _defer(kind, claimed, prepared)
        case _ if callable(prepared):
            return prepared
        case _:
            finish(kind, claimed, prepared)
    return None


def _defer(kind: Kind[C], claimed: C, later: Defer) -> None:
    fault_points.reach("deferring")
    if release(kind, claimed, later.reason, later.wait):
        publish([Wake(kind.task, claimed.id, later.wait, claimed.person_id, claimed.is_bulk, claimed.queue)])


def _prepare(kind: Kind[C], claimed: C) -> Defer | Cancel | Answer | Callable[[], Answer | Defer]:
    try:
        return kind.prepare(claimed)
    except Exception as error:
        if blames_no_row(error):
            release(kind, claimed, Reason(WorkCode.DATABASE_AWAY))
            raise
        log.error("%s %s cannot be read: %s", kind.task, claimed.id, type(error).__name__)
        return NotStarted(unreadable(error))
    except (SystemExit, KeyboardInterrupt):  # a worker that must stop now
        release(kind, claimed, Reason(WorkCode.RELEASED))
        raise


def _call(kind: Kind[C], claimed: C, prepared: Callable[[], Answer | Defer]) -> Answer | Defer:
    """The answer. Where it raises, that is a bug, and the outcome unknown."""
    try:
        fault_points.reach("running")
        with load.calling(claimed.person_id):
            answer = prepared()
        fault_points.reach("ran")
        return answer
    except Exception as error:
        return _fault(kind, claimed, error)
    except (SystemExit, KeyboardInterrupt):
        with suppress(TryAgain):
            finish(kind, claimed, OwnFault(Reason(WorkCode.STOPPED)), jitter=0.0)
        raise


def _fault(kind: Kind[C], claimed: C, error: Exception) -> OwnFault:
    # The text of a foreign exception may hold a secret (a URL, a header): only its type is kept.
    name = type(error).__name__
    log.error("%s raised %s for %s %s", claimed.handler, name, kind.task, claimed.id)
    return OwnFault(Reason(WorkCode.FAULT, kind=claimed.handler, error=name))


def finish(kind: Kind[C], claimed: C, answer: Answer, jitter: float | None = None) -> None:
    """Decide what follows the answer and settle. Raises `TryAgain` where another try follows.

    `jitter` is a number in [0, 1), random where None.
    """
    decision = decide(kind, claimed, answer, random.random() if jitter is None else jitter)  # noqa: S311
    try:
        settled = settle(kind, claimed, decision, answer)
    except Overtaken:
        # Each time another one has ended, so this cannot go on for ever.
        decision = give_back(Reason(WorkCode.OVERTAKEN))
        settled = settle(kind, claimed, decision)
    except Exception as error:
        _finish_unsettled(kind, claimed, answer, error, jitter)
        return
    if not settled:
        log.warning("%s %s was taken over while it ran; this result is not recorded", kind.task, claimed.id)
        return
    log_lines.ended(kind, claimed, decision)
    if claimed.person_id is not None:
        live_wakes.wake(claimed.person_id)
    if decision.wait is not None:
        raise TryAgain(decision.reason, decision.wait)
    kind.after(claimed, answer)


def _finish_unsettled(kind: Kind[C], claimed: C, answer: Answer, error: Exception, jitter: float | None) -> None:
    """An effect failed, or the answer cannot be stored: nothing was written. Raises the error if no row caused it."""
    if isinstance(error, Busy) or (is_locked(error) and effects_of(answer).has_effect):
        # Its effect needs what another transaction has locked: it is done again later.
        wait = wait_when_busy(*kind.waits_for_locks, claimed.released)
        _defer(kind, claimed, Defer(wait, Reason(WorkCode.LOCKED)))
    elif isinstance(answer, OwnFault) or blames_no_row(error):
        raise error
    else:
        finish(kind, claimed, _fault(kind, claimed, error), jitter)


def _withdraw(kind: Kind[C], claimed: C, reason: Reason) -> None:
    with transaction.atomic():
        if not release(kind, claimed, reason):
            return
        cancel(kind.model, [claimed.id], reason)
    log_lines.write(kind, claimed, "cancelled", reason)
