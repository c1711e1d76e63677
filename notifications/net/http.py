"""The guarded HTTP client: all requests to addresses that people entered go through it.

It follows no redirect, reads no proxy or password from the environment, keeps no cookie, retries nothing, verifies
every certificate and connects only to addresses that the policy permits. It connects to the very address that was
checked, so a name that changes between two look-ups (DNS rebinding) gains nothing.
"""

import http.client
import logging
import os
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import urllib3
from django.conf import settings
from django.db import connection
from django.utils.translation import gettext_noop
from urllib3 import HTTPHeaderDict
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.url import _encode_target

from notifications.net import address_checks, chain
from notifications.net.address_policy import RefusedURL, allowed_networks, check_url, permitted
from notifications.net.deadline import DeadlineSocket, RefusedAddress, tls_context, within
from notifications.net.failures import describe
from notifications.net.proxy import open_connection
from notifications.reasons import DeliveryCode
from work.reasons import Reason

MAX_BODY = 64 * 1024
SERVICE = gettext_noop("the receiver")

# http.client would also write folded lines.
_HEADER_VALUE = re.compile(r"(\S[^\r\n]*)?")

_FAILURES = (HTTPException, urllib3.exceptions.HTTPError, OSError)

# urllib3 logs whole addresses, and queries hold people's tokens.
logging.getLogger("urllib3").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Response:
    """A definite answer. `body` holds at most what was asked for.

    If it could not be read to its end, it is empty, and `broken` says why.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    broken: Reason | None = None


class RequestFailed(Exception):
    """No answer came. `refused`: none ever will, because the policy denies the address."""

    def __init__(self, reason: Reason, refused: bool = False) -> None:
        super().__init__(str(reason))
        self.reason = reason
        self.refused = refused


class NotSent(RequestFailed):
    """Nothing of the request left this machine."""


class Unanswered(RequestFailed):
    """The request, or a part of it, was sent: the receiver may have acted on it."""


def request(
    method: str, url: str, *, body: bytes, headers: Mapping[str, str], deadline: float, most: int = MAX_BODY
) -> Response:
    """Make one request and return its answer, whatever the status.

    `deadline` is in seconds, for DNS, connection, TLS, request and answer together; `most` bytes of the answer are
    read. Raises NotSent or Unanswered; their reasons hold no path, query or header.
    """
    parts = _parts(url, tuple(settings.ALLOWED_NETWORKS))
    headers = {"User-Agent": "Carillon", "Accept-Encoding": "identity", **headers, **chain.headers()}
    with within(deadline) as running, _line(parts) as line:
        try:
            if not all(map(_HEADER_VALUE.fullmatch, headers.values())):
                raise ValueError("a header has a value that cannot be written")
            line.request(method, parts.target, body or None, headers)
            answer = line.getresponse()
        except RefusedAddress:
            raise NotSent(Reason(DeliveryCode.PRIVATE), refused=True) from None
        except _FAILURES as error:
            # "from None": the chain holds the whole address, query included.
            failure = Unanswered if running.sent else NotSent
            raise failure(describe(error, SERVICE, deadline)) from None
        except ValueError:
            raise NotSent(Reason(DeliveryCode.NOT_A_REQUEST), refused=True) from None
        if answer.status < 200:
            # http.client takes an interim answer for the final one; the rest would be read as the next answer.
            raise Unanswered(Reason(DeliveryCode.INTERIM, service=SERVICE, status=answer.status))
        received = HTTPHeaderDict(answer.getheaders())
        try:
            return Response(answer.status, received, _read(answer, most))
        except _FAILURES as error:
            # The status has arrived, and for most callers the status decides.
            return Response(answer.status, received, b"", describe(error, SERVICE, deadline))


def probe(url: str, deadline: float) -> None:
    """Connect and do the TLS handshake, send nothing, and close. `deadline` is in seconds.

    Raises NotSent for failures that every send would meet: an address that the policy denies, an invalid certificate.
    Ignores failures that may pass. Does nothing where `address_checks` says so.
    """
    scheme, host, port, _ = _parts(url, tuple(settings.ALLOWED_NETWORKS))
    if not address_checks.may_visit(host):
        return
    if not connection.in_atomic_block:
        connection.close()  # back to the pool: other pages need it while this one waits for a stranger
    with within(deadline), suppress(OSError):
        try:
            with _connect(host, port) as reached:
                if scheme == "https":
                    tls_context().wrap_socket(reached, server_hostname=host.rstrip(".")).close()
        except RefusedAddress:
            raise NotSent(Reason(DeliveryCode.PRIVATE), refused=True) from None
        except ssl.SSLCertVerificationError as error:
            raise NotSent(describe(error, SERVICE, deadline)) from None


class _Parts(NamedTuple):
    scheme: str
    host: str
    port: int
    target: str


@lru_cache(maxsize=1024)
def _parts(url: str, networks: tuple[str, ...]) -> _Parts:
    """The parts of an address that may be sent to with these ALLOWED_NETWORKS. Raises NotSent."""
    try:
        parts = urlsplit(check_url(url))
    except RefusedURL as refusal:
        raise NotSent(refusal.reason, refused=True) from None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    target = _encode_target(urlunsplit(("", "", parts.path, parts.query, "")))
    return _Parts(parts.scheme, parts.hostname or "", port, target)


def _connect(host: str, port: int) -> DeadlineSocket:
    networks = allowed_networks()
    return open_connection(host, port, lambda address: permitted(address, networks))


def _read(answer: HTTPResponse, most: int) -> bytes:
    """Read on until nothing comes: http.client returns the half of a body that breaks off as if it were whole."""
    body = bytearray()
    while len(body) < most and (part := answer.read(most - len(body))):
        body += part
    if answer.length and len(body) < most:
        raise IncompleteRead(bytes(body), answer.length)
    return bytes(body)


class _Answer(HTTPResponse):
    """For a chunk of negative size http.client would read all that ever comes; this one breaks off."""

    def _read_next_chunk_size(self) -> int:
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]  # typeshed leaves it out
        if size < 0:
            raise ValueError("a chunk of negative size")
        return size


class _GuardedHTTP(HTTPConnection):
    """Head and body leave together, in one packet and with one system call."""

    response_class = _Answer
    answer: HTTPResponse | None = None
    _unsent = b""

    def __init__(self, host: str, *args: Any, **options: Any) -> None:
        super().__init__(host, *args, **options)
        self.dns_name = host  # with its last dot, unlike `host`

    def _new_conn(self) -> socket.socket:
        return _connect(self.dns_name, self.port)

    def send(self, data: Any) -> None:
        self._unsent += data

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # urllib3's wrapper takes as long as the rest
        unsent, self._unsent = self._unsent, b""
        with suppress(BrokenPipeError, ConnectionResetError):  # the answer may have come before
            super().send(unsent)
        self.answer = http.client.HTTPConnection.getresponse(self)
        return self.answer


class _GuardedHTTPS(_GuardedHTTP, HTTPSConnection):
    """Only connecting differs: the host name, SNI and certificate checks are those of HTTPSConnection."""


@contextmanager
def _line(parts: _Parts) -> Iterator[_GuardedHTTP]:
    """A connection that no other thread uses; kept for the next request if its answer was read whole."""
    pool = _pool(parts.scheme, parts.host, parts.port)
    line: Any = pool._get_conn()
    line.answer = None
    try:
        yield line
    finally:
        if not (answer := line.answer) or not answer.isclosed() or answer.length:
            line.close()
            line = None
        pool._put_conn(line)


# As many as keep half of the 1,024 files that a process may usually open.
@lru_cache(maxsize=32)
def _pool(scheme: str, host: str, port: int) -> Any:
    """Return the process's connections to a host, at most 16 of them idle, which all its threads share."""
    if scheme == "https":
        pool: Any = urllib3.HTTPSConnectionPool(host, port, maxsize=16, ssl_context=tls_context())
    else:
        pool = urllib3.HTTPConnectionPool(host, port, maxsize=16)
    pool.ConnectionCls = _GuardedHTTPS if scheme == "https" else _GuardedHTTP
    return pool


# Two processes must not share a connection.
os.register_at_fork(after_in_child=_pool.cache_clear)
