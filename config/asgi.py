"""The web application. Its threads share a pool of database connections."""

import os

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponseBase

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_POOL", "1")

from config import unavailable
from config.body_limit import BodyLimit
from config.middleware import UTF8Request


class Handler(ASGIHandler):
    """Runs middleware and view in one thread, without a change to the event loop and back at each middleware."""

    request_class = UTF8Request

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        while True:
            response: HttpResponseBase = await sync_to_async(self.get_response, thread_sensitive=True)(request)
            # A long poll (api/queues.py) says what to wait for before its view runs again. Meanwhile it holds no
            # database connection, and ends when its client goes.
            if (wait := getattr(response, "wait", None)) is None:
                return response
            await wait()


unavailable.wait_briefly()
django.setup(set_prefix=False)
application = BodyLimit(Handler())
