"""Refuse request bodies that are too large, by Content-Length or as soon as too much has arrived."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

# Seconds to read and drop what a client still sends: closing at once could lose our response.
_DRAIN = 5.0


class BodyLimit:
    """An ASGI application around Django, which writes a whole body to a file before it checks anything."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        largest: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > largest:
            await _refuse(receive, send, largest, drain=b"expect" not in headers)
            return
        arrived = 0

        async def counted() -> Message:
            nonlocal arrived
            message = await receive()
            arrived += len(message.get("body", b""))
            # On a disconnect, Django drops the body and sends no response.
            return message if arrived <= largest else {"type": "http.disconnect"}

        await self._application(scope, counted, send)
        if arrived > largest:
            await _refuse(receive, send, largest, drain=True)


async def _refuse(receive: Receive, send: Send, largest: int, *, drain: bool) -> None:
    text = f"This request is larger than {largest // 1024 // 1024} MiB, the limit. Send less.\n"
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
    if drain:
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN):
                while (await receive()).get("more_body", False):
                    pass
    await send({"type": "http.response.body"})
