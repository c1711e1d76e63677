"""The one door through which Carillon speaks HTTP to addresses that people gave it.

It follows no redirect, reads no proxy or password from the environment, keeps no cookie, retries nothing,
verifies every certificate, and connects only to addresses that the guard permits: the address that was
checked is the address that is connected to, so a name that changes between two look-ups gains nothing.
"""

from __future__ import annotations

import http.client
import logging
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection

from notifications.causes import Code
from notifications.net.address_policy import RefusedURL, allowed_networks, check_url, permitted
from notifications.net.deadline import RefusedAddress, tls_context, within
from notifications.net.proxy import ProxyRefused, reach

LARGEST_BODY = 64 * 1024

_INSIDE = "The address leads into a private network, where Carillon does not post."

# urllib3 names whole addresses in its log lines, and their queries hold people's tokens.
logging.getLogger("urllib3").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Response:
    """A definite answer. `body` is at most 64 KiB, and empty where it could not be read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NotSent(Exception):
    """Nothing of the request left this machine. `refused` says that it never will: the guard forbids the address."""

    def __init__(self, reason: str, code: str, refused: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.refused = refused


class Unanswered(Exception):
    """The request, or part of it, went out and no answer came: it may have been acted upon."""

    def __init__(self, reason: str, code: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


def request(method: str, url: str, *, body: bytes, headers: Mapping[str, str], deadline: float) -> Response:
    """Make one request and return its answer, whatever the status; redirects are returned as they are.

    `deadline` is the seconds for all of it: DNS, connection, TLS, request, answer, body. Raises NotSent or
    Unanswered, whose reasons hold no path, no query and no header.
    """
    try:
        prepared = _prepare(method, check_url(url), body, headers)
    except RefusedURL as refusal:
        raise NotSent(str(refusal), Code.FORBIDDEN, refused=True) from None
    with within(deadline) as exchange:
        try:
            answer = _adapter().send(prepared, stream=True)
        except RefusedAddress:
            raise NotSent(_INSIDE, Code.FORBIDDEN, refused=True) from None
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            # "from None": the chain holds the whole address, query included.
            if exchange.sent:
                raise Unanswered(*_failure(error, deadline)) from None
            raise NotSent(*_failure(error, deadline)) from None
        try:
            if answer.status_code < 200:
                # http.client takes an interim answer for the final one; what follows would be read as the next.
                reason = f"The receiver answered {answer.status_code} only, which is not an answer."
                raise Unanswered(reason, Code.NOT_HTTP)
            return Response(answer.status_code, answer.headers, _read(answer.raw))
        finally:
            answer.raw.close()  # whole bodies have given their connection back by now


def examine(url: str, deadline: float) -> None:
    """Connect, shake hands, say nothing and hang up. `deadline` is in seconds.

    Raises NotSent for what would be so at every send: an address that the guard forbids, a certificate that is not
    valid. Whatever else goes wrong may pass, and is not told.
    """
    try:
        parts, networks = urlsplit(check_url(url)), allowed_networks()
    except RefusedURL as refusal:
        raise NotSent(str(refusal), Code.FORBIDDEN, refused=True) from None
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    with within(deadline), suppress(OSError):
        try:
            with reach(host, port, lambda address: permitted(address, networks)) as reached:
                if parts.scheme == "https":
                    tls_context().wrap_socket(reached, server_hostname=host.rstrip(".")).close()
        except RefusedAddress:
            raise NotSent(_INSIDE, Code.FORBIDDEN, refused=True) from None
        except ssl.SSLCertVerificationError as error:
            raise NotSent(*_failure(error, deadline)) from None


def _prepare(method: str, url: str, body: bytes, headers: Mapping[str, str]) -> requests.PreparedRequest:
    headers = {"User-Agent": "Carillon", "Accept-Encoding": "identity", **headers}
    try:
        for value in headers.values():
            value.encode("latin-1")
        return requests.Request(method, url, data=body, headers=headers).prepare()
    except ValueError:  # UnicodeError, and InvalidHeader of requests, are of its kind
        raise NotSent("This cannot be written as an HTTP request.", Code.NOT_WRITABLE, refused=True) from None


def _read(raw: urllib3.HTTPResponse) -> bytes:
    try:
        return raw.read(LARGEST_BODY, decode_content=False)
    except (urllib3.exceptions.HTTPError, OSError):
        return b""  # the status came, and the status is the answer


def _failure(error: BaseException, deadline: float) -> tuple[str, str]:
    """What failed, for people and as a code. It is in the chain, under what urllib3 and requests made of it."""
    link: BaseException | None = error
    while link:
        if isinstance(link, ProxyRefused):
            return f"The proxy on the way out did not let it through: it answered {link}.", Code.PROXY
        if isinstance(link, ssl.SSLCertVerificationError):
            return (
                f"The receiver's certificate is not valid: {link.verify_message.rstrip('.')}.",
                f"{Code.CERTIFICATE}-{link.verify_code}",
            )
        if isinstance(link, ssl.SSLError):
            return "The secure connection to the receiver failed.", Code.TLS
        if isinstance(link, socket.gaierror):
            return "The receiver's name could not be looked up.", Code.NAME
        if isinstance(link, TimeoutError):
            return f"The receiver did not answer within {deadline:g} seconds.", Code.TIMEOUT
        if isinstance(link, ConnectionRefusedError):
            return "The receiver refused the connection.", Code.UNREACHABLE
        if isinstance(link, http.client.RemoteDisconnected):
            return "The receiver closed the connection without an answer.", Code.NO_ANSWER
        if isinstance(link, ConnectionError):
            return "The connection to the receiver broke.", Code.BROKEN
        if isinstance(link, http.client.HTTPException):
            return "What the receiver answered is not HTTP.", Code.NOT_HTTP
        if isinstance(link, OSError) and link.errno:
            return f"The receiver could not be reached: {os.strerror(link.errno)}.", f"{Code.UNREACHABLE}-{link.errno}"
        link = link.__cause__ or link.__context__
    return "The exchange with the receiver failed.", Code.BROKEN


class _GuardedHTTP(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        networks = allowed_networks()
        return reach(self._dns_host, self.port, lambda address: permitted(address, networks))


class _GuardedHTTPS(_GuardedHTTP, HTTPSConnection):
    """Host name, SNI and certificate checks are those of HTTPSConnection: only the dialling differs."""


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _GuardedHTTP


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _GuardedHTTPS


class _Adapter(HTTPAdapter):
    """The transport beneath a requests session, without the session: no cookies, no .netrc, no proxies, no hooks."""

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, ssl_context=tls_context(), **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """Leave verification to the context, which always verifies; the inherited one reads the bundle each time."""


@cache
def _adapter() -> _Adapter:
    """Return the process's one adapter, whose connections all threads share.

    At most 16 idle connections to each of 32 hosts: together half of the 1,024 files that a process may usually open.
    """
    return _Adapter(pool_connections=32, pool_maxsize=16)


# Two processes must not talk through one connection.
os.register_at_fork(after_in_child=_adapter.cache_clear)
