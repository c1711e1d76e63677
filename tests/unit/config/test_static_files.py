"""Static files under the server that is used, ASGI: all warnings are errors here."""

from __future__ import annotations

import asyncio
import gzip
import re
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application
from django.templatetags.static import static
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
        heard = [await said.receive_output(timeout=60), await said.receive_output(timeout=60)]
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


def test_a_picture_has_the_same_headers_where_only_they_are_asked_for() -> None:
    given, asked = (answer("/static/icon-512.png", method)[1] for method in ("GET", "HEAD"))
    assert {**given, "date": ""} == {**asked, "date": ""}
    assert "etag" in given


def test_what_a_browser_has_is_not_sent_again() -> None:
    _, headers, _ = answer(CSS)
    status, _, body = answer(CSS, **{"if-modified-since": headers["last-modified"]})
    assert (status, body) == (304, b"")


def test_an_address_with_the_hash_of_its_content_is_kept_for_a_year() -> None:
    address = static("vendor/htmx-2.0.11/htmx.min.js")
    assert re.fullmatch(r"/static/vendor/htmx-2\.0\.11/htmx\.min\.[0-9a-f]{12}\.js", address)
    status, headers, body = answer(address)
    assert (status, headers["cache-control"]) == (200, "max-age=31536000, public, immutable")
    assert body == answer("/static/vendor/htmx-2.0.11/htmx.min.js")[2]


def test_a_hash_of_another_version_gets_the_present_file_for_a_minute() -> None:
    status, headers, body = answer("/static/carillon.0123456789ab.css")
    assert (status, headers["cache-control"]) == (200, "max-age=60, public")
    assert body == answer(CSS)[2]


def test_texts_come_compressed_for_who_takes_it() -> None:
    _, plain_headers, plain = answer(CSS)
    _, headers, body = answer(CSS, **{"accept-encoding": "br, gzip"})
    assert (headers["content-encoding"], headers["vary"], "etag" in headers) == ("gzip", "Accept-Encoding", False)
    assert int(headers["content-length"]) == len(body) < len(plain) / 3
    assert gzip.decompress(body) == plain
    assert ("content-encoding" in plain_headers, plain_headers["vary"]) == (False, "Accept-Encoding")
    again = {"accept-encoding": "gzip", "if-modified-since": headers["last-modified"]}
    assert answer(CSS, **again)[0] == 304
    assert answer("/static/icon-512.png", **{"accept-encoding": "gzip"})[1].get("content-encoding") is None


def test_what_has_no_file_keeps_its_address() -> None:
    assert static("nowhere/x.js") == "/static/nowhere/x.js"
    assert static("admin/js/") == "/static/admin/js/"
