"""The broker as rescue sees it: how many messages wait, and whether it has lost its messages.

Through kombu, so it works for RabbitMQ and Redis.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext as _
from kombu import Connection, Exchange, Queue
from kombu.exceptions import OperationalError

from work.broker import rabbitmq

log = logging.getLogger(__name__)

# A queue that nobody reads, with one message in it. A broker that has lost this one has lost the others too.
MARKER = Queue("marker")


@dataclass(frozen=True, slots=True)
class Broker:
    """`waiting`: by queue, messages that nobody has taken. `forgot`: it was emptied or is new."""

    waiting: Mapping[str, int]
    forgot: bool


def read(queues: Iterable[str]) -> Broker | None:
    """The broker as it is for these queues; None when it cannot be reached, or takes nothing."""
    with current_app.connection_for_write() as connection:
        try:
            _connect(connection)
            waiting = {name: _count(connection, current_app.amqp.queues[name]) for name in queues}
            return Broker(waiting, forgot=_count(connection, MARKER) == 0)
        except _away(connection) as error:
            log.warning("The broker takes no messages, so nothing is published: %s", error)
            return None


def mark() -> None:
    """Leave the message that only a broker that forgets will lose. Several do no harm."""
    with current_app.connection_for_write() as connection:
        connection.Producer().publish(
            {}, exchange="", routing_key=MARKER.name, delivery_mode=Exchange.TRANSIENT_DELIVERY_MODE
        )


def problem() -> str:
    """Why the broker or Redis takes nothing, for operators; empty if both do."""
    if settings.HAS_RABBITMQ:
        with current_app.connection_for_write() as connection:
            try:
                _connect(connection)
            except rabbitmq.Blocked as error:
                return _(
                    "RabbitMQ takes no messages (%(reason)s). Nothing is lost, but messages are late. "
                    "Make room for it; its log has more."
                ) % {"reason": error}
            except _away(connection):
                return _("RabbitMQ does not answer. Nothing is lost, but messages are late.")
    return str(cache.problem())  # type: ignore[attr-defined]  # common.redis.cache.Cache


def _connect(connection: Connection) -> None:
    connection.connect()  # tries once: rescue comes again in seconds
    rabbitmq.check(connection)


def _away(connection: Connection) -> tuple[type[BaseException], ...]:
    return (OperationalError, *connection.connection_errors)


def _count(connection: Connection, queue: Queue) -> int:
    # Not a passive declaration: with a key prefix, kombu's Redis transport takes every queue for missing then.
    declared: Any = queue.bind(connection.default_channel).queue_declare()
    return int(declared.message_count)
