"""Refuses request bodies that are too large, too slow, or too many at the same time; requests without a Host; and
methods that nothing here takes.

The size of a body is checked by Content-Length, else as soon as too much has arrived.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings

from api.protocol.problems import CONTENT_TYPE, of_status

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

# Seconds to read and drop what a client still sends: closing at once could lose our response.
_DRAIN = 5.0
# Seconds in which a whole body arrives: Django keeps what it has of it in a file meanwhile.
_ARRIVES_WITHIN = 60.0
# Bodies of all requests that are still arriving; small ones always pass.
_MOST_AT_ONCE = 256 * 1024 * 1024
_SMALL = 64 * 1024

_NO_HOST, _TOO_LARGE, _TOO_SLOW, _NO_METHOD, _TOO_MANY = 400, 413, 408, 405, 503
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_GONE: Message = {"type": "http.disconnect"}


class BodyLimit:
    """An ASGI application around Django, which writes a whole body to a file before it checks anything."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._arriving = 0

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        headers = dict(scope["headers"])
        hosts = [value.strip() for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not hosts[0]:  # RFC 9112, 3.2
            await _refuse(scope, receive, send, _NO_HOST)
            return
        if scope["method"] not in _METHODS:
            await _refuse(scope, receive, send, _NO_METHOD)
            return
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            await _refuse(scope, receive, send, _TOO_LARGE, drain=b"expect" not in headers)
            return
        refused = arrived = 0
        is_whole = False
        deadline = asyncio.get_running_loop().time() + _ARRIVES_WITHIN

        async def counted() -> Message:
            nonlocal refused, arrived, is_whole
            if is_whole:  # Django waits here for the client to go
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                refused = _TOO_SLOW
                return _GONE
            size = len(message.get("body", b""))
            arrived += size
            self._arriving += size
            is_whole = not message.get("more_body", False)
            if arrived > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
                refused = _TOO_LARGE
            elif arrived > _SMALL and self._arriving > _MOST_AT_ONCE:
                refused = _TOO_MANY
            # Django drops what it has, and answers nothing to a client that has gone.
            return _GONE if refused else message

        try:
            await self._application(scope, counted, send)
        finally:
            self._arriving -= arrived
        if refused:
            await _refuse(scope, receive, send, refused, drain=refused == _TOO_LARGE)


async def _refuse(scope: Message, receive: Receive, send: Send, status: int, *, drain: bool = False) -> None:
    largest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024 // 1024
    text = {
        _NO_HOST: "This request has no header Host, or more than one. Send one.\n",
        _TOO_LARGE: f"This request is larger than {largest} MiB, the limit. Send less.\n",
        _TOO_SLOW: f"This request did not arrive within {_ARRIVES_WITHIN:.0f} s. Try again.\n",
        _NO_METHOD: "Nothing here takes this method.\n",
        _TOO_MANY: "Too much is being sent at the same time. Try again in a minute.\n",
    }[status]
    kind, body = "text/plain; charset=utf-8", text.encode()
    if scope.get("path", "").startswith("/api/"):
        kind, body = CONTENT_TYPE, of_status(status, text.strip()).response().content
    headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    if status == _NO_METHOD:
        headers.append((b"allow", b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    if drain:
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN):
                while (await receive()).get("more_body", False):
                    pass
    await send({"type": "http.response.body"})
