"""Notice what is wrong with this installation, and tell its operators: a thread of web processes and of workers.

Of all these threads, one checks at a time. What it finds becomes alerts of the operators, which the engine sends. What
the engine itself suffers from is sent from here, and no failure here disturbs the process.
"""

import logging
import random
import threading
import time
from collections.abc import Sequence

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.db import Error, connection, transaction
from django.utils.translation import gettext as _

from common.database import encryption, postgres
from common.texts import languages
from common.uuid7 import uuid7
from events.runs import operators
from events.runs.operators import Alert, Operator
from notifications import providers
from notifications.deliveries import refusals
from notifications.messages.message import Message
from people.models import display_name
from schedules.beat import problems as clock
from work.answers import Done
from work.engine import hold
from work.operators import problems
from work.operators.problems import Problem

log = logging.getLogger(__name__)

EVERY = 10.0  # seconds
FIRST = 45.0  # seconds after the start of a process, in which others start
# Seconds without the database after which operators are told.
_AWAY = 20.0
# Seconds in which the same is not sent from here twice: what comes and goes.
_ONCE = 600
_TURN = "operator-alerts:turn"


class OperatorAlerts(threading.Thread):
    """Starts at once."""

    def __init__(self) -> None:
        super().__init__(name="operator-alerts", daemon=True)
        self._operators: Sequence[Operator] = []
        self._away_since: float | None = None
        self._unrecorded: dict[str, Problem] = {}
        self.start()

    def run(self) -> None:
        time.sleep(FIRST)
        while True:
            try:
                if cache.add(_TURN, 1, max(1, round(EVERY * 0.7))):
                    self._look()
            except Exception as error:
                log.error("Problems of this installation cannot be checked: %s", type(error).__name__)
            connection.close()
            time.sleep(EVERY * random.uniform(0.75, 1.25))  # noqa: S311 - no secret

    def _look(self) -> None:
        broker = problems.broker()
        queues = None if _is_away(broker) else problems.queues()
        try:
            alerts, is_direct = self._record(broker, queues)
        except Error as error:
            if not postgres.is_outage(error):
                raise
            self._without_database(error)
            return
        self._away_since = None
        self._unrecorded.clear()
        if is_direct:
            for alert in alerts:
                _send(alert)

    def _record(self, broker: list[Problem], queues: list[Problem] | None) -> tuple[list[Alert], bool]:
        with transaction.atomic():
            self._operators = operators.chosen()
            if not self._operators or hold.is_on():
                return [], False
            if self._unrecorded:
                every = {key.partition(":")[0] for key in operators.open_keys()}
                operators.update(self._operators, [*self._unrecorded.values()], every, is_direct=True)
            result, unknown = _find(operators.open_keys(), broker, queues)
            if any(problem.check == "beat" for problem in result) and not _is_away(broker):
                # Retries and incidents go on, on the next channel.
                transaction.on_commit(lambda: current_app.send_task("work.rescue", expires=EVERY), robust=True)
            is_direct = bool(_is_away(broker) or queues)
            return operators.update(self._operators, result, unknown, is_direct=is_direct), is_direct

    def _without_database(self, error: Error) -> None:
        now = time.monotonic()
        self._away_since = self._away_since or now
        is_full = problems.is_full(error)
        if is_full or now - self._away_since > _AWAY:
            problem = problems.DATABASE_FULL if is_full else problems.DATABASE_AWAY
            self._unrecorded[problem.key] = problem
            for operator in self._operators:
                with languages.override(operator.user.language):
                    if problem.words:
                        _send(Alert(operator, problem.key, problem.words()))


def _is_away(broker: list[Problem]) -> bool:
    return any(problem.check == "broker" for problem in broker)


def _find(open_keys: set[str], broker: list[Problem], queues: list[Problem] | None) -> tuple[list[Problem], set[str]]:
    """Return the problems, and the checks that are not made: they would only show what a problem has caused."""
    beat, unknown = clock.beat(), {"queue"} if queues is None else set()
    result = [*broker, *(queues or []), *beat]
    if beat or queues or queues is None:
        unknown |= {"periodic", "backup"}
    else:
        result += clock.periodic_tasks() + problems.backups()
    if _is_away(broker) or queues:
        unknown.add("late")
    else:
        result += problems.late_work()
    result += [*problems.disks(open_keys), *clock.broken_schedules(), *refusals.refusing(open_keys)]
    return [*result, *problems.dead_letters(open_keys)], unknown


def _send(alert: Alert) -> bool:
    """Send it on the first of the operator's channels that takes it; False if none does, or it was sent before."""
    user = alert.operator.user
    if not cache.add(f"operator-alerts:{user.pk}:{alert.key}:{alert.is_over}", 1, _ONCE):
        return False
    with languages.override(user.language):
        subject = _("Over: %(title)s") % {"title": alert.words.title} if alert.is_over else alert.words.title
    page = alert.words.url or settings.BASE_URL
    body = "\n".join(filter(None, (alert.words.summary, page)))
    message = Message(key=uuid7(), subject=subject, body=body, recipient=display_name(user.name, user.email))
    for channel in alert.operator.channels:
        if channel.provider == "inbox":  # which is read from the database
            continue
        try:
            answer = providers.get(channel.provider).send(message, channel.destination())
        except (providers.UnknownProvider, encryption.Unreadable):
            continue
        if isinstance(answer, Done):
            return True
    log.error("An operator was not told of a problem of this installation: account %s", user.pk)
    return False
