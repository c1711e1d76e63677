"""The web application. Its threads share a pool of database connections."""

import asyncio
import contextvars
import gc
import os
import resource
import sys
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import IO, Any

import django
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import HttpRequest, HttpResponseBase
from django.urls import set_script_prefix

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_POOL", "1")

from common.database import sums
from config.web import request_head, unavailable
from config.web.body_limit import BodyLimit, Receive, Send
from config.web.middleware import UTF8Request
from config.web.ping_address import Pings
from config.web.response_headers import ResponseHeaders

# Seconds after which a thread that waits for the interpreter asks for it: a page waits about forty times, beside
# requests that compute. See docs/decisions.md.
_SWITCH = 0.0005
_THREADS = 64  # more than connections to the database: a few requests also wait for other hosts
# Requests in threads at a time: each further one would mostly wait for the interpreter, and wake all the time
# (`script/bench api`). One that takes longer than so many seconds waits for something else, and counts no more.
_AT_ONCE, _COUNTED = 12, 0.1


class Handler(ASGIHandler):
    """Runs each request whole in one thread, which later ones use again.

    Django starts a thread for each request and changes between it and the event loop three times. A response that
    streams has read the database before.
    """

    request_class = UTF8Request

    def __init__(self) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="request")
        self._in_threads = asyncio.Semaphore(_AT_ONCE)

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with body:
            request, response = await self._in_thread(scope, body, None)
            # A long poll holds no thread while it waits, and ends when its client goes. A request that
            # waits for its turn (common/redis/request_slots.py) has not read its body yet.
            while (wait := getattr(response, "wait", None)) and await _outlasts(wait(), receive):
                request, response = await self._in_thread(scope, body, request)
        if (make := getattr(response, "socket", None)) is None:
            await self.send_response(response, send)
        else:
            names = ("Upgrade", "Connection", "Sec-WebSocket-Accept")
            scope["extensions"]["upgrade"]([(name, response[name]) for name in names], make())

    async def _in_thread(
        self, scope: dict[str, Any], body: IO[bytes], request: HttpRequest | None
    ) -> tuple[HttpRequest | None, HttpResponseBase]:
        # A copy, so that no request sees what an earlier one of its thread has set.
        run, loop = contextvars.copy_context().run, asyncio.get_running_loop()
        async with self._in_threads:
            answer = loop.run_in_executor(self._threads, run, self._respond, scope, body, request)
            await asyncio.wait([answer], timeout=_COUNTED)
        return await answer

    def _respond(
        self, scope: dict[str, Any], body: IO[bytes], request: HttpRequest | None
    ) -> tuple[HttpRequest | None, HttpResponseBase]:
        """Answer a new request, or `request` again."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        refusal = None
        if request is None:
            request, refusal = self.create_request(scope, body)
            if request is not None:
                request.can_wait = True  # type: ignore[attr-defined]
        response = refusal if request is None else self.get_response(request)
        assert response is not None  # noqa: S101  # either of both is there
        if hasattr(response, "wait"):  # the request's body is still to be read
            signals.request_finished.send(sender=self.__class__)  # returns the connection to the database
        else:
            response.close()  # with that signal
        return request, response


async def _outlasts(wait: Awaitable[None], receive: Receive) -> bool:
    """Whether the client is still there after the wait."""
    waiting, gone = asyncio.ensure_future(wait), asyncio.ensure_future(receive())
    try:
        await asyncio.wait((waiting, gone), return_when=asyncio.FIRST_COMPLETED)
        return not gone.done()
    finally:
        waiting.cancel()
        gone.cancel()


sys.setswitchinterval(_SWITCH)
unavailable.wait_briefly()
django.setup(set_prefix=False)
from config import operator_alerts, startup  # noqa: E402 - they need the models
from config.processes import commands  # noqa: E402

application = ResponseHeaders(Pings(BodyLimit(Handler())))
request_head.install()
with ThreadPoolExecutor(1) as _one:  # uvicorn's loop runs in this thread, where Django refuses to ask a database
    _one.submit(startup.check).result()
# What is loaded stays: no collection walks through its 200,000 objects, see docs/performance.md.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()
if commands.role_of(sys.argv) == "carillon web":
    # Each open page has a socket; systemd lets a process open 1,024 files until it asks for more.
    most_files = min(65_536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    operator_alerts.OperatorAlerts()
    sums.start()
