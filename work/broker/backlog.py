"""The broker as rescue sees it: how many messages wait, and whether it has lost its messages.

Through kombu, so it works for RabbitMQ and Redis.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from celery import current_app
from kombu import Connection, Queue
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

# A queue that nobody reads, with one message in it. A broker that has lost this one has lost the others too.
MARKER = Queue("marker")


@dataclass(frozen=True, slots=True)
class Broker:
    """`waiting`: by queue, messages that nobody has taken. `forgot`: it was emptied or is new."""

    waiting: Mapping[str, int]
    forgot: bool


def read(queues: Iterable[str]) -> Broker | None:
    """The broker as it is for these queues; None when it cannot be reached."""
    with current_app.connection_for_write() as connection:
        away: tuple[type[BaseException], ...] = (OperationalError, *connection.connection_errors)
        try:
            connection.connect()  # tries once: rescue comes again in seconds
            waiting = {name: _count(connection, current_app.amqp.queues[name]) for name in queues}
            return Broker(waiting, forgot=_count(connection, MARKER) == 0)
        except away as error:
            log.warning("The broker cannot be reached, so nothing is published: %s", error)
            return None


def mark() -> None:
    """Leave the message that only a broker that forgets will lose. Several do no harm."""
    with current_app.connection_for_write() as connection:
        connection.Producer().publish({}, exchange="", routing_key=MARKER.name)


def _count(connection: Connection, queue: Queue) -> int:
    # Not a passive declaration: with a key prefix, kombu's Redis transport takes every queue for missing then.
    declared: Any = queue.bind(connection.default_channel).queue_declare()
    return int(declared.message_count)
