"""One exchange with a service under one total deadline, in a worker of any pool.

Time-outs of sockets are per operation: a peer that sends a byte now and then stretches them for ever, and DNS
has none. So these sockets set their time-out before each operation to what is left of the exchange, and names
are looked up beside the thread that waits. No signal is needed, so it works in threads.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any

import certifi

SIMULTANEOUS_LOOKUPS = 32

_AddressInfo = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
_Found = Sequence[_AddressInfo]


@dataclass(slots=True)
class Exchange:
    """The exchange under way. `expires` is of the monotonic clock; `sent` turns true before our first byte leaves."""

    expires: float
    sent: bool = False

    def left(self) -> float:
        """Return the seconds left. Raises TimeoutError when there are none."""
        seconds = self.expires - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the deadline has passed")
        return seconds


class RefusedAddress(Exception):
    """A name that leads to an address which the guard does not permit. Not an OSError: no library may swallow it."""


_current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


@contextmanager
def within(seconds: float) -> Iterator[Exchange]:
    """Hold every socket of this module that is used inside the block to one deadline, `seconds` from now."""
    exchange = Exchange(time.monotonic() + seconds)
    token = _current.set(exchange)
    try:
        yield exchange
    finally:
        _current.reset(token)


@contextmanager
def unsaid() -> Iterator[None]:
    """What is sent inside the block says nothing to the service, such as a word to a proxy: `sent` stays as it was."""
    exchange = _current.get()
    sent = exchange is not None and exchange.sent
    try:
        yield
    finally:
        if exchange:
            exchange.sent = sent


def under_way() -> bool:
    """Whether an exchange is, in this thread."""
    return _current.get() is not None


class _Bounded:
    """Mixed into both kinds of socket. Outside an exchange they keep whatever time-out they have."""

    def _tighten(self, sends: bool = False) -> None:
        exchange = _current.get()
        if exchange:
            self.settimeout(exchange.left())  # type: ignore[attr-defined]
            exchange.sent = exchange.sent or sends

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self._tighten()
        return super().recv_into(*args, **kwargs)  # type: ignore[misc, no-any-return]

    def send(self, *args: Any, **kwargs: Any) -> int:
        self._tighten(sends=True)
        return super().send(*args, **kwargs)  # type: ignore[misc, no-any-return]

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        self._tighten(sends=True)
        super().sendall(*args, **kwargs)  # type: ignore[misc]


class BoundedSocket(_Bounded, socket.socket):
    """A plain socket."""


class BoundedTLSSocket(_Bounded, ssl.SSLSocket):
    """A TLS socket. `tls_context` makes them."""

    def do_handshake(self, block: bool = False) -> None:
        """Shake hands. What the handshake itself sends says nothing to the service, so it leaves `sent` alone."""
        self._tighten()
        super().do_handshake(block)


@cache
def tls_context() -> ssl.SSLContext:
    """Return the process's context: it verifies, and trusts what the machine trusts (SSL_CERT_FILE included) and,
    since small machines trust nobody, the bundle of certifi. Made once, because reading the bundle takes 10 ms.
    """
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    context.sslsocket_class = BoundedTLSSocket
    return context


def look_up(host: str, port: int, permit: Callable[[str], bool] | None = None) -> _Found:
    """Return the addresses of a host, as `socket.getaddrinfo` does.

    `permit` judges each address found; one refusal refuses the name, whatever else it leads to, so that a
    mixed answer gains nothing by luck. Raises RefusedAddress, socket.gaierror or TimeoutError.
    """
    found = _look_up(host, port, _current.get())
    if permit and not all(permit(str(info[4][0])) for info in found):
        raise RefusedAddress(host)
    return found


def dial(host: str, port: int, permit: Callable[[str], bool] | None = None) -> BoundedSocket:
    """Look the name up once and connect to an address found.

    A dead address gets its share of the time left, so that the next still has its turn. Raises what `look_up` does, or
    another OSError.
    """
    exchange = _current.get()
    found = look_up(host, port, permit)
    failure: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
    for position, (family, kind, protocol, _, address) in enumerate(found):
        dialled = BoundedSocket(family, kind, protocol)
        try:
            dialled.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if exchange:
                dialled.settimeout(exchange.left() / (len(found) - position))
            dialled.connect(address)
        except OSError as error:
            dialled.close()
            failure = error
        except BaseException:
            dialled.close()
            raise
        else:
            return dialled
    raise failure


def _look_up(host: str, port: int, exchange: Exchange | None) -> _Found:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (socket.gaierror, UnicodeError):
        pass  # a name
    if not exchange:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    lookups = _lookups
    if not lookups.acquire(timeout=exchange.left()):
        raise TimeoutError("too many names are being looked up")
    answers: SimpleQueue[_Found | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # OSError, or UnicodeError for a label that is too long
            answers.put(error)
        finally:
            lookups.release()

    # A daemon: a resolver that hangs must hold up neither the exchange nor the end of the process.
    try:
        threading.Thread(target=ask, name="look-up", daemon=True).start()
    except RuntimeError:
        lookups.release()
        raise TimeoutError("the machine has no thread left for a look-up") from None
    try:
        answer = answers.get(timeout=exchange.left())
    except Empty:
        raise TimeoutError("the name server did not answer") from None
    if isinstance(answer, UnicodeError):
        raise socket.gaierror(socket.EAI_NONAME, "not a name that can be looked up")
    if isinstance(answer, Exception):
        raise answer
    return answer


def _allow_lookups() -> None:
    global _lookups
    _lookups = threading.BoundedSemaphore(SIMULTANEOUS_LOOKUPS)


_lookups: threading.BoundedSemaphore
_allow_lookups()
# The threads that would release it do not exist in a forked child.
os.register_at_fork(after_in_child=_allow_lookups)
