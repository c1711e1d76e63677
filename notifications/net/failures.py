"""The reason for a connection or a request that failed, from the exception."""

import http.client
import socket
import ssl

from notifications.net.proxy import ProxyRefused
from notifications.reasons import DeliveryCode
from work.reasons import Reason

# The first entry that matches an exception in the chain decides.
_CODES: tuple[tuple[type[BaseException], DeliveryCode], ...] = (
    (ssl.SSLError, DeliveryCode.TLS),
    (socket.gaierror, DeliveryCode.NAME),
    (ConnectionRefusedError, DeliveryCode.CONNECTION_REFUSED),
    (http.client.RemoteDisconnected, DeliveryCode.NO_ANSWER),
    (ConnectionError, DeliveryCode.BROKEN),
    (http.client.HTTPException, DeliveryCode.NOT_HTTP),
)


def describe(error: BaseException, service: str, seconds: float) -> Reason:
    """Return the reason. Libraries wrap the cause in their own exceptions; `seconds` is the deadline."""
    link: BaseException | None = error
    while link:
        if isinstance(link, ProxyRefused):
            return Reason(DeliveryCode.PROXY, answer=str(link))
        if isinstance(link, ssl.SSLCertVerificationError):
            text = link.verify_message.rstrip(".")
            return Reason(DeliveryCode.CERTIFICATE, service=service, said=text, number=link.verify_code)
        if isinstance(link, TimeoutError):
            return Reason(DeliveryCode.TIMEOUT, service=service, seconds=seconds)
        for kind, code in _CODES:
            if isinstance(link, kind):
                return Reason(code, service=service)
        if isinstance(link, OSError) and link.errno:
            return Reason(DeliveryCode.UNREACHABLE, service=service, errno=link.errno)
        link = link.__cause__ or link.__context__
    return Reason(DeliveryCode.BROKEN, service=service)
