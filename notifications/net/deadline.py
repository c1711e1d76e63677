"""One total deadline for everything that a send does on the network: DNS, connection, TLS, request and answer.

A socket's own timeout is per operation: a peer that sends a byte now and then extends it for ever. DNS has no timeout.
These sockets therefore set their timeout before each operation to the time that is left, and a separate thread
resolves names. No signals are used, so it works in threads.
"""

import os
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any

import certifi
from django.conf import settings

from common.context import holding
from notifications.net.address_policy import is_localhost
from work.broker import load

# A timeout may differ by so many seconds from the time that is left.
_PRECISION = 0.05

MAX_LOOKUPS = 32
"""Name look-ups at a time in one process."""
MAX_OF_PERSON = 4
"""Of these, those of one person: a name server that hangs holds each for as long as the system waits for it."""

_AddressInfo = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
_Addresses = Sequence[_AddressInfo]


@dataclass(slots=True)
class Deadline:
    """`expires` is on the monotonic clock; `sent` becomes true before the first byte for the service leaves."""

    expires: float
    sent: bool = False

    def remaining(self) -> float:
        """Return the seconds left. Raises TimeoutError when there are none."""
        seconds = self.expires - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the deadline has passed")
        return seconds


class RefusedAddress(Exception):
    """A host resolves to an address that the policy denies. Not an OSError, because libraries catch those."""


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def within(seconds: float) -> AbstractContextManager[Deadline]:
    """Limit all sockets of this module that are used inside the block to one deadline, `seconds` from now."""
    return holding(_current, Deadline(time.monotonic() + seconds))


def has_deadline() -> bool:
    return _current.get() is not None


def _running() -> Deadline:
    if (deadline := _current.get()) is None:
        raise RuntimeError("call this inside deadline.within()")
    return deadline


class _DeadlineMixin:
    """Sockets that are used outside `within` keep their own timeout."""

    def _apply(self, sends: bool = False) -> None:
        if deadline := _current.get():
            self.limit(deadline.remaining())
            deadline.sent = deadline.sent or sends

    def limit(self, seconds: float) -> None:
        before = self.gettimeout()  # type: ignore[attr-defined]
        if before is None or not -_PRECISION < before - seconds < _PRECISION:
            super().settimeout(seconds)  # type: ignore[misc]  # a system call, during which threads change

    def settimeout(self, value: float | None) -> None:
        """Libraries set their own for each operation; inside `within` only the deadline counts."""
        if not has_deadline():
            super().settimeout(value)  # type: ignore[misc]

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self._apply()
        return super().recv_into(*args, **kwargs)  # type: ignore[misc]

    def send(self, *args: Any, **kwargs: Any) -> int:
        self._apply(sends=True)
        return super().send(*args, **kwargs)  # type: ignore[misc]

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        self._apply(sends=True)
        super().sendall(*args, **kwargs)  # type: ignore[misc]


class DeadlineSocket(_DeadlineMixin, socket.socket):
    def send_to_proxy(self, request: bytes) -> None:
        """Send bytes that do not reach the service, so that `sent` stays as it is."""
        self._apply()
        socket.socket.sendall(self, request)


class DeadlineTLSSocket(_DeadlineMixin, ssl.SSLSocket):
    """A TLS socket; `tls_context` creates them."""

    def do_handshake(self, block: bool = False) -> None:
        """Do the TLS handshake. It carries nothing of the request, so `sent` stays as it is."""
        self._apply()
        super().do_handshake(block)


@cache
def tls_context() -> ssl.SSLContext:
    """Return the process's verifying context. It trusts the machine's authorities (SSL_CERT_FILE included) and, because
    small images have none, certifi's, and an operator's own. Cached, because reading certifi's bundle takes 10 ms.
    """
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    if settings.EXTRA_CA_FILE:
        context.load_verify_locations(settings.EXTRA_CA_FILE)
    context.sslsocket_class = DeadlineTLSSocket
    return context


def resolve(host: str, port: int, permit: Callable[[str], bool] | None = None) -> _Addresses:
    """Return the addresses of a host, as `socket.getaddrinfo` does.

    If `permit` denies one address, the whole host is refused: a mixed answer must not pass by chance. Only of localhost
    those that are permitted are used. Raises RefusedAddress, socket.gaierror or TimeoutError.
    """
    addresses = _resolve(host, port)
    if permit is None:
        return addresses
    permitted = [info for info in addresses if permit(str(info[4][0]))]
    if not permitted or (len(permitted) < len(addresses) and not is_localhost(host)):
        raise RefusedAddress(host)
    return permitted


def connect(host: str, port: int, permit: Callable[[str], bool] | None = None) -> DeadlineSocket:
    """Resolve the host once and connect to one of its addresses.

    Each address gets an equal share of the time left. Raises what `resolve` does, or another OSError.
    """
    deadline, addresses = _running(), resolve(host, port, permit)
    failure: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
    for position, (family, kind, protocol, _, address) in enumerate(addresses):
        sock = DeadlineSocket(family, kind, protocol)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.limit(deadline.remaining() / (len(addresses) - position))
            sock.connect(address)
        except BaseException as error:
            sock.close()
            if not isinstance(error, OSError):
                raise
            failure = error
        else:
            return sock
    raise failure


def _resolve(host: str, port: int) -> _Addresses:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (socket.gaierror, UnicodeError):
        pass  # not numeric
    deadline, lookups, person = _running(), _lookups, load.person.get()
    if not lookups.acquire(person, deadline.remaining()):
        raise TimeoutError("too many names are being resolved")
    answers: SimpleQueue[_Addresses | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # OSError, or UnicodeError for a label that is too long
            answers.put(error)
        finally:
            lookups.release(person)

    # A daemon, so that a resolver that hangs delays neither the send nor the end of the process.
    try:
        threading.Thread(target=ask, name="resolve", daemon=True).start()
    except RuntimeError:
        lookups.release(person)
        raise TimeoutError("no thread is available to resolve a name") from None
    try:
        answer = answers.get(timeout=deadline.remaining())
    except Empty:
        raise TimeoutError("the name server did not answer") from None
    if isinstance(answer, UnicodeError):
        raise socket.gaierror(socket.EAI_NONAME, "not a valid host name")
    if isinstance(answer, Exception):
        raise answer
    return answer


class _Lookups:
    """Counts the look-ups of this process, and of each person."""

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # a forked child has none of the threads that would release it

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._all = 0
        self._of: Counter[int] = Counter()

    def acquire(self, person: int | None, timeout: float) -> bool:
        """Wait for one of the person's (None: of anybody's); False after `timeout` seconds."""
        with self._changed:
            if not self._changed.wait_for(
                lambda: self._all < MAX_LOOKUPS and (person is None or self._of[person] < MAX_OF_PERSON), timeout
            ):
                return False
            self._all += 1
            if person is not None:
                self._of[person] += 1
            return True

    def release(self, person: int | None) -> None:
        with self._changed:
            self._all -= 1
            if person is not None:
                self._of[person] -= 1
                self._of += Counter()  # forgets those who have none
            self._changed.notify_all()


_lookups = _Lookups()
