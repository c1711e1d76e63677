"""Static files under the server that is used, ASGI: all warnings are errors here."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application
from pytest_django import Settings

CSS = "/static/carillon.css"


@pytest.fixture(autouse=True)
def as_in_production(settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = False


def answer(path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    async def ask() -> list[dict[str, Any]]:
        scope = {"type": "http", "http_version": "1.1", "method": method, "path": path, "query_string": b""}
        told = [(b"host", b"localhost"), *((name.encode(), value.encode()) for name, value in headers.items())]
        said = ApplicationCommunicator(get_asgi_application(), scope | {"headers": told})
        await said.send_input({"type": "http.request"})
        heard = [await said.receive_output(timeout=5), await said.receive_output(timeout=5)]
        await said.wait()
        return heard

    start, body = asyncio.run(ask())
    return start["status"], {name.decode().lower(): text.decode() for name, text in start["headers"]}, body["body"]


def test_a_static_file_comes_whole_and_without_a_warning() -> None:
    status, headers, body = answer(CSS)
    assert status == 200
    assert headers["content-type"].startswith("text/css")
    assert int(headers["content-length"]) == len(body) > 10_000
    assert headers["content-security-policy"]


@pytest.mark.parametrize(
    ("method", "asked", "status", "length"),
    [("HEAD", {}, 200, 0), ("GET", {"range": "bytes=0-9"}, 206, 10), ("POST", {}, 405, 0)],
)
def test_what_else_http_knows_of_files_still_holds(
    method: str, asked: dict[str, str], status: int, length: int
) -> None:
    told, _, body = answer(CSS, method, **asked)
    assert (told, len(body)) == (status, length)


def test_what_a_browser_has_is_not_sent_again() -> None:
    _, headers, _ = answer(CSS)
    status, _, body = answer(CSS, **{"if-modified-since": headers["last-modified"]})
    assert (status, body) == (304, b"")
