"""SENTRY_DSN: what a process reports, to a server that takes envelopes as Sentry documents them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

SECRET = "the-token-of-ada"
FAILS = f"""
import logging, django
django.setup()
def send(token):
    raise ValueError("refused " + token)
try:
    send("{SECRET}")
except ValueError:
    logging.getLogger("work").exception("%s raised for %s", "webhook", "{SECRET}")
import sentry_sdk
sentry_sdk.flush(5)
"""


class Sentry(BaseHTTPRequestHandler):
    received: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.received.append((self.path, body))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def sentry() -> Iterator[HTTPServer]:
    Sentry.received = []
    with HTTPServer(("127.0.0.1", 0), Sentry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def run(dsn: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"SENTRY_DSN": dsn, "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", FAILS]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_an_error_is_reported_with_its_type_and_place_and_without_any_value(sentry: HTTPServer) -> None:
    assert run(f"http://key@127.0.0.1:{sentry.server_port}/1").returncode == 0
    [(path, body)] = Sentry.received
    assert path == "/api/1/envelope/"
    assert SECRET.encode() not in body
    event = json.loads(body.splitlines()[2])
    [raised] = event["exception"]["values"]
    assert (raised["type"], raised.get("value")) == ("ValueError", None)
    assert [frame["function"] for frame in raised["stacktrace"]["frames"]] == ["<module>", "send"]
    assert event["logentry"] == {"message": "%s raised for %s"}
    assert event["release"].startswith("carillon@")
    assert not event.keys() & {"server_name", "user", "request", "breadcrumbs", "modules", "extra"}


def test_an_address_that_is_none_stops_the_start_with_words() -> None:
    refused = run("sentry.example.org")
    assert refused.returncode == 1
    assert "SENTRY_DSN must be the address that Sentry shows for a project" in refused.stderr
