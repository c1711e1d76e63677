"""kombu's Redis transport for messages that only say "look at work X".

A worker keeps the messages that it holds in memory, where kombu's own writes each to Redis and removes it again. When
it stops, it puts back what it has not finished. When it is killed, they are lost, and rescue publishes them again after
ten seconds. It also takes several messages at once.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis
from kombu.utils.encoding import bytes_to_str
from kombu.utils.json import loads

# Few enough that another queue has its turn soon.
MOST = 16


class Channel(redis.Channel):
    ack_emulation = False

    def _brpop_read(self: Any, **options: Any) -> bool:
        """Deliver the message that a BRPOP returns, then more of the same queue, as many as the worker may hold."""
        super()._brpop_read(**options)  # type: ignore[misc]  # the stubs have no private names
        queue = self._queue_cycle.items[-1]  # the last one used
        room = min(MOST, self.qos.can_consume_max_estimate() or 0)
        if room:
            # On the connection of the BRPOP, which is idle now.
            for message in self.client.rpop(self._q_for_pri(queue, self.default_priority), room) or ():
                self.connection._deliver(loads(bytes_to_str(message)), queue)
        return True


class Transport(redis.Transport):
    Channel = Channel


def install() -> None:
    """Use it for every URL of Redis. Other brokers keep kombu's transports."""
    TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = f"{__name__}:Transport"
