"""kombu's Redis transport for messages that only say "work X may be due".

A worker keeps the messages that it holds in memory, where kombu's own writes each to Redis and removes it again. When
it stops, it puts back what it has not finished. When it is killed, they are lost, and rescue publishes them again after
ten seconds. It also takes several messages at once. A message that is given back says `redelivered`, and is the next
one of its queue.

A worker with threads takes more than `BUSY` messages only while its threads wait for slow receivers, see `load`.
"""

from contextlib import suppress
from typing import Any, ClassVar

from kombu.asynchronous import get_event_loop
from kombu.transport import TRANSPORT_ALIASES, redis, virtual
from kombu.utils.encoding import bytes_to_str
from kombu.utils.json import loads
from kombu.utils.scheduling import round_robin_cycle
from redis import Connection
from redis.exceptions import ResponseError

from common.redis import sentinels
from work.broker import load

# Few enough that another queue has its turn soon.
MOST = 16
# As many threads make large batches; more only cost CPU.
BUSY = 128
# While a worker is busy, it asks so often whether its threads wait for slow receivers.
_EVERY = 0.05  # seconds
# So often, whether there is room again for a queue of which it holds as much as it may.
_SOON = 0.005  # seconds


class QoS(virtual.QoS):
    """Celery's limit of messages, and `most_busy`: of tasks that keep their threads busy, None for no limit."""

    most_busy: ClassVar[int | None] = None

    def can_consume(self) -> bool:
        return bool(super().can_consume()) and (self.most_busy is None or load.busy() < self.most_busy)

    def can_consume_max_estimate(self) -> int:
        room: int = super().can_consume_max_estimate() or 0
        return room if self.most_busy is None else max(0, min(room, self.most_busy - load.busy()))


class Queues(round_robin_cycle):  # type: ignore[type-arg]  # generic only in its stubs
    """All queues in turn, but for those that the worker has no room for."""

    def consume(self: Any, n: int) -> Any:
        return [queue for queue in self.items if load.room(queue, 1)][:n]


class Channel(redis.Channel):
    ack_emulation = False
    queue_order_strategy: Any = Queues  # a class is taken as its name is
    redis_url = ""
    connection_class: Any = property(lambda self: sentinels.options(self.redis_url).get("connection_class", Connection))
    from_transport_options = (*redis.Channel.from_transport_options, "redis_url")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.QoS = QoS
        self._polls_again = False
        self._left_out: list[str] = []

    def _restore(self: Any, message: Any) -> None:
        """Put a message back to the front of its queue; of several, the last one taken must come first."""
        where = message.delivery_info
        with self.conn_or_acquire() as client:
            self._do_restore_message(message.serializable(), where["exchange"], where["routing_key"], client)

    _restore_at_beginning = _restore

    def _brpop_start(self: Any, timeout: float | None = None) -> None:
        """Ask again soon where a queue is left out. Redis may answer a second late, so a timer takes from it."""
        self._left_out = [queue for queue in self._queue_cycle.items if not load.room(queue, 1)]
        super()._brpop_start(_EVERY if self._left_out else timeout)  # type: ignore[misc]
        if self._left_out and not self._polls_again:
            self._poll_again()

    def _brpop_read(self: Any, **options: Any) -> None:
        """Deliver the message that a BRPOP returns, then more of the same queue, as many as the worker may hold."""
        super()._brpop_read(**options)  # type: ignore[misc]  # the stubs have no private names
        if self._closing:  # kombu reads a last answer; its consumers may be gone, and no more messages are wanted
            return
        self._take(self.client, self._queue_cycle.items[-1])  # the last one used; the connection is idle now
        if not self._polls_again:
            self._poll_again()

    def _take(self: Any, client: Any, queue: str) -> int:
        """Deliver further messages of a queue, as many as the worker may hold. Returns how many."""
        if not (room := load.room(queue, min(MOST, self.qos.can_consume_max_estimate()))):
            return 0
        messages = client.rpop(self._q_for_pri(queue, self.default_priority), room) or ()
        for message in messages:
            self.connection._deliver(loads(bytes_to_str(message)), queue)
        return len(messages)

    def _poll_again(self: Any) -> None:
        """Nothing wakes the event loop when a call becomes slow or ends, so a timer does while this worker is busy."""
        loop = get_event_loop()
        self._polls_again = False
        if not loop or self.closed:
            return
        is_soon = bool(self._left_out) and self._take_left_out()
        if self._left_out or not (self.qos.can_consume() and self._queue_cycle.consume(1)):
            self._polls_again = True
            loop.call_later(_SOON if is_soon else _EVERY, self._poll_again)

    def _take_left_out(self: Any) -> bool:
        """Take from the queues that the BRPOP under way leaves out. False where all of them are empty."""
        is_soon = False
        with suppress(*self.connection_errors), self.conn_or_acquire() as client:
            for queue in set(self.active_queues).intersection(self._left_out):
                is_soon |= not load.room(queue, 1) or bool(self._take(client, queue))
        return is_soon


class Transport(redis.Transport):
    """An error that Redis answers is an outage: a failover (READONLY, UNBLOCKED), a full disk (MISCONF), a wrong right.

    kombu counts it as an error of the channel, which ends a worker.
    """

    Channel = Channel
    connection_errors = (*redis.Transport.connection_errors, ResponseError)


def install() -> None:
    """Use it for every URL of Redis. Other brokers keep kombu's transports."""
    TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = f"{__name__}:Transport"
