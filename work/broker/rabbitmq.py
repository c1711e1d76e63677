"""kombu's RabbitMQ transport, which says at once that the broker takes no messages.

While RabbitMQ is low on memory or disk, it reads nothing from those who publish, and tells them so after their next
message. kombu goes on writing until the socket is full, and then waits.
"""

import socket
from contextlib import suppress
from typing import Any

from kombu import Connection as Connected
from kombu.exceptions import OperationalError
from kombu.transport import TRANSPORT_ALIASES, pyamqp

_amqp: Any = pyamqp.amqp  # type: ignore[attr-defined]  # the stubs leave it out
# A queue that nobody has.
_NOWHERE = "nowhere"


class Blocked(OperationalError):
    """RabbitMQ takes no messages. The text is its reason: low on memory, or on disk."""


class Channel(pyamqp.Channel):
    def basic_publish(self: Any, *args: Any, **options: Any) -> Any:
        """Raises Blocked."""
        self.connection.refuse_while_blocked()
        return super().basic_publish(*args, **options)

    def basic_ack(self: Any, *args: Any, **options: Any) -> None:
        """Nothing where the connection was lost: the message comes again, and finds its work done."""
        if self.connection and self.connection.connected:
            with suppress(OSError):  # the main loop reports the loss
                super().basic_ack(*args, **options)

    def close(self: Any, *args: Any, **options: Any) -> None:
        if self.connection and self.connection.blocked:
            self.connection.collect()  # nothing would answer
        else:
            super().close(*args, **options)


class Connection(pyamqp.Connection):
    Channel = Channel
    blocked = ""

    def dispatch_method(self: Any, method_sig: Any, payload: Any, content: Any) -> None:
        """Keep the reason, which py-amqp does not read: a string behind the method's number and its own length."""
        if method_sig == _amqp.spec.Connection.Blocked:
            self.blocked = bytes(payload[5:]).decode(errors="replace") or "blocked"
        elif method_sig == _amqp.spec.Connection.Unblocked:
            self.blocked = ""
        super().dispatch_method(method_sig, payload, content)

    def receive(self: Any) -> None:
        """Read what the server has sent meanwhile."""
        with suppress(socket.timeout):
            while True:
                self.drain_events(timeout=0)

    def refuse_while_blocked(self: Any) -> None:
        if self.blocked:
            self.receive()
        if self.blocked:
            raise Blocked(self.blocked)


class Transport(pyamqp.Transport):
    Connection = Connection

    def verify_connection(self: Any, connection: Any) -> bool:
        """Whether it stands. One that only publishes finds out by reading that the server has ended it meanwhile."""
        if connection.connected and not any(getattr(one, "callbacks", None) for one in connection.channels.values()):
            with suppress(*self.connection_errors):
                connection.receive()
        if connection.connected:
            return True
        connection.collect()  # kombu drops it, and would leave its socket open
        return False


def install() -> None:
    TRANSPORT_ALIASES["amqp"] = TRANSPORT_ALIASES["pyamqp"] = f"{__name__}:Transport"
    TRANSPORT_ALIASES["amqps"] = f"{__name__}:Transport"


def check(connection: Connected) -> None:
    """Raise Blocked if RabbitMQ takes no messages now; nothing for another broker."""
    channel: Any = connection.default_channel
    if isinstance(channel, Channel):
        server = channel.connection
        server.on_blocked = lambda _: server.refuse_while_blocked()  # else the question below waits for its answer
        try:
            connection.Producer().publish("", exchange="", routing_key=_NOWHERE)
            with connection.channel():  # the news comes before the answer to this
                pass
        finally:
            server.on_blocked = None
