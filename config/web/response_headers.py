"""The headers of every response, also of those that are made without Django, and the id of each request."""

import logging
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from ipaddress import ip_address, ip_network
from typing import Any

from django.conf import settings

from common.uuid7 import uuid7
from config.web.body_limit import Application, Message, Receive, Send
from config.web.middleware import POLICY

log = logging.getLogger(__name__)

_ID = re.compile(rb"[\w.-]{1,64}")
_ERROR = b"Something went wrong here. Try again.\n"


@cache
def of_every_response(scheme: str | None) -> Mapping[bytes, bytes]:
    """Headers that browsers must obey, with names in lower case; `scheme`: by which the client asked."""
    headers = {
        b"x-content-type-options": b"nosniff",
        b"referrer-policy": b"same-origin",
        b"cross-origin-opener-policy": b"same-origin",
        b"x-frame-options": b"DENY",
    }
    if not settings.DEBUG:  # Django's own pages of errors have inline styles
        headers[b"content-security-policy"] = POLICY.encode()
    if scheme == "https" and settings.SECURE_HSTS_SECONDS:
        value = f"max-age={settings.SECURE_HSTS_SECONDS}; includeSubDomains; preload"
        headers[b"strict-transport-security"] = value.encode()
    return headers


@lru_cache(1024)
def _may_be_proxy(address: str) -> bool:
    if not settings.PROXY_NETWORKS:
        return True
    ip = ip_address(address)
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return any(ip in ip_network(network) for network in settings.PROXY_NETWORKS)


class ResponseHeaders:
    """An ASGI application around the others: adds the headers that a response does not have.

    Removes what only a proxy may say, where another host than those of `PROXY_NETWORKS` says it.

    `X-Request-ID` is the proxy's, else a new one. It is in the response and in the log's lines about refused requests.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        sent = b""
        if scope.get("client") and not _may_be_proxy(scope["client"][0]):
            from_proxies = (b"x-forwarded-", b"x-request-id")
            scope["headers"] = [one for one in scope["headers"] if not one[0].startswith(from_proxies)]
        if settings.SECURE_PROXY_SSL_HEADER:
            sent_headers = dict(scope["headers"])
            sent = sent_headers.get(b"x-request-id", b"")
            scope["scheme"] = "https" if sent_headers.get(b"x-forwarded-proto") == b"https" else "http"
        scope["request_id"] = sent.decode() if _ID.fullmatch(sent) else str(uuid7())
        headers = of_every_response(scope.get("scheme"))
        is_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                given = {name.lower() for name, _ in message["headers"]}
                missing = [header for header in headers.items() if header[0] not in given]
                missing.append((b"x-request-id", scope["request_id"].encode()))
                message = {**message, "headers": [*message["headers"], *missing]}
            await send(message)

        try:
            await self._application(scope, receive, send_with_headers)
        except Exception:
            if is_started:
                raise
            log.exception("A request failed outside of Django (%s)", scope["request_id"])
            length = str(len(_ERROR)).encode()
            start = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", length)]
            await send_with_headers({"type": "http.response.start", "status": 500, "headers": start})
            await send_with_headers({"type": "http.response.body", "body": _ERROR})
