"""`/ping/<uuid>` and `/ping/<key>/<slug>`: the addresses of a watch.

The address itself is the permission: no session, no CSRF, no Django.

Pings that come while a statement runs are recorded together by the next one, and answered once it is committed.
"""

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from django.conf import settings
from django.db import connection

from common.database import fault_points
from common.database.correlation import is_uuid
from common.database.postgres import blames_no_row, is_locked
from config.web.body_limit import Application, Receive, Send

log = logging.getLogger(__name__)

_PATH = re.compile(r"/ping/(?:([0-9a-fA-F-]{36})|([0-9a-f]{32}/[a-z0-9_-]{1,100}))(?:/(start|fail|log|[0-9]{1,3}))?/?")
_METHODS = ("GET", "HEAD", "POST")
_ARRIVES_WITHIN = 60.0  # seconds
_MOST_SENT = 64 * 1024 * 1024  # bytes
_AT_ONCE = 200  # pings that are recorded together
_PATIENCE, _PAUSE = 5.0, 0.05  # seconds: for a watch that is locked, and before it is tried again

OK, AWAY, BROKEN = (200, "OK"), (503, "The database does not answer. Try again.\n"), (500, "This failed. Try again.\n")
BUSY = 503, "This watch is being changed. Try again.\n"
_ANSWERS = {
    "taken": OK,
    "too-many": (429, "Too many pings of this watch in a minute. Try again in a minute.\n"),
    "locked": (409, "Another run holds the lock of this watch. Do not start.\n"),
    "busy": BUSY,
    "unknown": (404, "There is no watch with this address. Copy it from the watch’s page.\n"),
}
_ENDING = (404, "There is no such address. Behind the watch’s comes nothing, /start, /fail, /log or /0 to /255.\n")

# A ping, when it came, and its answer.
_Waiting = tuple[Any, float, asyncio.Future[tuple[int, str]]]


class Pings:
    """An ASGI application around the others, which answers pings."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._waiting: list[_Waiting] = []
        self._recorder: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pings")

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/ping/"):
            await self._application(scope, receive, send)
            return
        status, text = await self._answer(scope, receive)
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(text.encode()))]
        headers.append((b"cache-control", b"no-store"))
        if not scope.get("is_read", True):
            headers.append((b"connection", b"close"))
        if status == 405:
            headers.append((b"allow", ", ".join(_METHODS).encode()))
        if status in (429, 503):
            headers.append((b"retry-after", b"60" if status == 429 else b"5"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})

    async def _answer(self, scope: dict[str, Any], receive: Receive) -> tuple[int, str]:
        from watches.pings import LARGEST_OUTPUT, NewPing  # models, which cannot be imported before the setup

        if (match := _PATH.fullmatch(scope["path"])) is None:
            return _ENDING
        rid = parse_qs(scope["query_string"].decode("ascii", "replace")).get("rid", [""])[0]
        kind, code = _kind(match[3])
        if refusal := _refusal(scope, match[1], rid, code or 0):
            return refusal
        output, size = await _read(scope, receive, LARGEST_OUTPUT) if scope["method"] == "POST" else (b"", 0)
        shown = output.decode("utf-8", "replace" if size <= LARGEST_OUTPUT else "ignore").replace("\0", "")
        token = UUID(match[1]) if match[1] else None
        return await self._recorded(NewPing(token, kind, code, rid.lower(), shown, size, address=match[2] or ""))

    async def _recorded(self, ping: Any) -> tuple[int, str]:
        answer: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._waiting.append((ping, time.monotonic(), answer))
        if self._recorder is None:
            self._recorder = asyncio.create_task(self._record_waiting())
        return await answer

    async def _record_waiting(self) -> None:
        again: list[_Waiting] = []  # of watches that are locked; later pings of these stay behind
        try:
            while again or self._waiting:
                batch, self._waiting = again + self._waiting[:_AT_ONCE], self._waiting[_AT_ONCE:]
                now = time.monotonic()
                pings = [replace(ping, waited=now - arrived) for ping, arrived, _ in batch]
                answers = await asyncio.get_running_loop().run_in_executor(self._thread, _record, pings)
                again = []
                for one, answer in zip(batch, answers, strict=True):
                    if answer is BUSY and now - one[1] < _PATIENCE:
                        again.append(one)
                    elif not one[2].done():  # its client may have gone
                        one[2].set_result(answer)
                if again:
                    await asyncio.sleep(_PAUSE)
        finally:
            self._recorder = None


def _refusal(scope: dict[str, Any], token: str | None, rid: str, code: int) -> tuple[int, str] | None:
    if token and not is_uuid(token):
        return _ENDING
    if scope["method"] not in _METHODS:
        return 405, "A ping is a GET, HEAD or POST.\n"
    if settings.SECURE_SSL_REDIRECT and scope["scheme"] != "https":
        return 403, f"This request was not encrypted. Use {settings.BASE_URL}.\n"
    if rid and not is_uuid(rid):
        return 400, "rid is not a UUID.\n"
    return _ENDING if code > 255 else None


async def _read(scope: dict[str, Any], receive: Receive, most: int) -> tuple[bytes, int]:
    """At most so much of the body, and its size. What was cut off, or does not end, is a ping too."""
    output, size, more = bytearray(), 0, True
    with suppress(TimeoutError):
        async with asyncio.timeout(_ARRIVES_WITHIN):
            while more and size <= _MOST_SENT:
                message = await receive()
                part = message.get("body", b"")
                output += part[: max(0, most - size)]
                size += len(part)
                more = message["type"] == "http.request" and message.get("more_body", False)
    scope["is_read"] = not more
    return bytes(output), size


def _record(pings: Sequence[Any], is_again: bool = False) -> list[tuple[int, str]]:
    """Record a batch; again on a new connection, or one by one, where that fails."""
    from watches.pings import record

    try:
        fault_points.reach("recording")
        outcomes = record(pings)
        fault_points.reach("recorded")
        return [_ANSWERS[outcome] for outcome in outcomes]
    except Exception as error:
        connection.close()
        if not is_again:
            return _record(pings, is_again=True)
        is_away, is_row_locked = blames_no_row(error), is_locked(error)
        if len(pings) > 1 and (is_row_locked or not is_away):
            return [_record([ping], is_again=True)[0] for ping in pings]
        if is_away or is_row_locked:
            return [AWAY] * len(pings)
        log.exception("%d pings cannot be recorded", len(pings))
        return [BROKEN] * len(pings)


def _kind(suffix: str | None) -> tuple[str, int | None]:
    if suffix is None:
        return "success", None
    if suffix.isdigit():
        return "success" if int(suffix) == 0 else "fail", int(suffix)
    return suffix, None
