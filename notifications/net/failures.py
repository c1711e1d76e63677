"""The reason for a connection or a request that failed, from the exception."""

import http.client
import socket
import ssl

from notifications.net.proxy import ProxyRefused
from notifications.reasons import Code
from work.reasons import Reason

# The first entry that matches an exception in the chain decides.
_CODES: tuple[tuple[type[BaseException], Code], ...] = (
    (ssl.SSLError, Code.TLS),
    (socket.gaierror, Code.NAME),
    (ConnectionRefusedError, Code.CONNECTION_REFUSED),
    (http.client.RemoteDisconnected, Code.NO_ANSWER),
    (ConnectionError, Code.BROKEN),
    (http.client.HTTPException, Code.NOT_HTTP),
)


def describe(error: BaseException, service: str, seconds: float) -> Reason:
    """Return the reason. Libraries wrap the cause in their own exceptions; `seconds` is the deadline."""
    link: BaseException | None = error
    while link:
        if isinstance(link, ProxyRefused):
            return Reason(Code.PROXY, answer=str(link))
        if isinstance(link, ssl.SSLCertVerificationError):
            said = link.verify_message.rstrip(".")
            return Reason(Code.CERTIFICATE, service=service, said=said, number=link.verify_code)
        if isinstance(link, TimeoutError):
            return Reason(Code.TIMEOUT, service=service, seconds=seconds)
        for kind, code in _CODES:
            if isinstance(link, kind):
                return Reason(code, service=service)
        if isinstance(link, OSError) and link.errno:
            return Reason(Code.UNREACHABLE, service=service, errno=link.errno)
        link = link.__cause__ or link.__context__
    return Reason(Code.BROKEN, service=service)
