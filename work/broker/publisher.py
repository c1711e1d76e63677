"""Publish many messages of one task, each with one id.

Celery's `send_task` builds each message anew, which takes most of the time of publishing (`script/bench fire`). Here
it builds one, and we replace its id, argument and time. kombu publishes them in one pipeline on Redis, else one by one.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from celery import Celery
from kombu.exceptions import KombuError

from common.database import fault_points

_PLACE = "00000000-0000-0000-0000-000000000000"
# A worker handles messages of one time in any order, and rounds a time to about a microsecond.
_GAP = timedelta(microseconds=10)


class Unreachable(Exception):
    """The broker does not take messages."""


def publish(
    app: Celery, task: str, calls: Sequence[tuple[UUID, float]], queue: str | None = None, cost: int = 1
) -> None:
    """One message a call: the argument's id, and the seconds to wait (0: none); to `queue`, or the task's own.

    The header `cost` says what each costs, if more than 1: see `load.limit`.
    Messages that wait equally long are due in the order of the calls.
    Raises Unreachable when the broker is away, at once; some messages may then have gone out.
    """
    try:
        with app.producer_or_acquire() as producer:
            # Without this, kombu retries for seconds, and beat stands still meanwhile.
            producer.connection.ensure_connection(max_retries=0)
            _publish(app, producer, task, calls, queue, cost)
    except Exception as error:
        if isinstance(error, (KombuError, OSError, *app.connection_for_write().recoverable_connection_errors)):
            raise Unreachable(str(error)) from error
        raise


def _publish(
    app: Celery, producer: Any, task: str, calls: Sequence[tuple[UUID, float]], name: str | None, cost: int
) -> None:
    message = app.amqp.as_task_v2(
        _PLACE,
        task,
        args=[_PLACE],  # type: ignore[arg-type]
        ignore_result=True,
        time_limit=app.conf.task_time_limit,
        soft_time_limit=app.conf.task_soft_time_limit,
        create_sent_event=app.conf.task_send_sent_event,
    )
    shown: str = message.headers["argsrepr"]
    queue = app.amqp.queues[name] if name else app.amqp.router.route({}, task)["queue"]
    if cost > 1:
        message.headers["cost"] = cost
    events: Any = app.events.Dispatcher(enabled=False) if message.sent_event else None
    now = app.now()
    producer.maybe_declare(queue)
    with producer.batch():
        for number, (argument, wait) in enumerate(calls):
            task_id, written = str(uuid4()), str(argument)
            eta = (now + timedelta(seconds=wait) + number * _GAP).isoformat() if wait > 0 else None
            own = {"root_id": task_id, "eta": eta}
            args = shown.replace(_PLACE, written)
            one = message._replace(
                headers=message.headers | own | {"id": task_id, "argsrepr": args},
                properties={"correlation_id": task_id, "reply_to": ""},
                body=([written], *message.body[1:]),
                sent_event=message.sent_event and message.sent_event | own | {"uuid": task_id, "args": args},
            )
            app.amqp.send_task_message(
                producer, task, one, queue=queue, declare=[], retry=False, event_dispatcher=events
            )
        fault_points.reach("publishing")
