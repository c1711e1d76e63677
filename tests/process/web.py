"""A real web process on a port of its own, and requests to it."""

from __future__ import annotations

import http.client
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.conf import settings
from django.db import connection

from config.processes.commands import web_command
from demo.child import Child
from demo.ports import free_port
from people.models import User
from tests import make
from tests.broken_line import Line


class Web:
    """A web process on a port of its own, which reaches both engines over lines that can be cut and silenced."""

    def __init__(self, **variables: str) -> None:
        held, url = connection.settings_dict, urlsplit(settings.REDIS_URL)
        self.database = Line(f"{held['HOST']}/.s.PGSQL.{held['PORT'] or 5432}")
        self.redis = Line(url.path)
        for line in (self.database, self.redis):
            line.mend()
        self.port = free_port()
        self.lines: list[str] = []
        environment = {
            "DATABASE_URL": f"postgresql://{held['USER']}@127.0.0.1:{self.database.port}/{held['NAME']}",
            "REDIS_URL": f"redis://127.0.0.1:{self.redis.port}/0",
            "SECRET_KEY": settings.SECRET_KEY,
            "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
            "ALLOWED_NETWORKS": "127.0.0.0/8",
            "BASE_URL": f"http://127.0.0.1:{self.port}",
            **variables,
        }
        with pytest.MonkeyPatch.context() as patch:
            for name in ("BEHIND_PROXY", "PROXY_NETWORKS"):
                patch.setenv(name, variables.get(name, ""))
            command = web_command("127.0.0.1", self.port)
        self.child = Child(
            "web",
            command,
            environment=environment,
            ready_check=lambda: self._answers(),
            on_line=lambda line, _: self.lines.append(line),
        )

    def __enter__(self) -> Web:
        self.child.start()
        self.wait_until(self.child.is_ready)
        return self

    def __exit__(self, *_: object) -> None:
        self.child.stop(0.0)
        for line in (self.database, self.redis):
            with suppress(AssertionError):
                line.cut()

    def kill(self) -> None:
        os.kill(self.child.pid, signal.SIGKILL)

    def restart(self) -> None:
        """On the same port."""
        self.child.stop(0.0)
        self.child.start()
        self.wait_until(self.child.is_ready)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 600  # on a machine that has much else to do
        while not condition():
            assert time.monotonic() < deadline and self.child.exit_status() is None, "\n".join(self.lines)
            time.sleep(0.05)

    def _answers(self) -> bool:
        with suppress(OSError):
            return self.ask("GET", "/healthz").status == 200
        return False

    def ask(self, method: str, path: str, body: Any = None, cookie: str = "", **headers: str) -> Answer:
        """One request, with the `cookie` of who is `signed_in`."""
        if cookie:
            headers |= {"Cookie": f"{cookie}; csrftoken={'x' * 32}", "X-CSRFToken": "x" * 32}
        if isinstance(body, dict):
            body, headers["Content-Type"] = urlencode(body), "application/x-www-form-urlencoded"
        started = time.monotonic()
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            asked.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = asked.getresponse()
            text = answer.read().decode()
            return Answer(answer.status, answer.headers, text, time.monotonic() - started)
        finally:
            asked.close()

    def ask_until_served(self, ask: Callable[[], Answer]) -> Answer:
        """Again when the answer says so: of a hundred requests most wait too long for a connection, or their turn."""
        deadline = time.monotonic() + 120
        while (answer := ask()).status == 503 or (answer.status == 409 and answer.headers["Retry-After"]):
            assert time.monotonic() < deadline, answer.text
            time.sleep(0.2)
        return answer

    def written(self) -> int:
        """Bytes that the process has written to files and sockets."""
        lines = dict(line.split(": ") for line in Path(f"/proc/{self.child.pid}/io").read_text().splitlines())
        return int(lines["write_bytes"])


class Answer:
    def __init__(self, status: int, headers: Any, text: str, took: float) -> None:
        self.status, self.headers, self.text, self.took = status, headers, text, took
        self.at = time.monotonic()


def signed_in(user: User) -> str:
    """The cookie of a new session."""
    return f"sessionid={make.signed_in(user).cookies['sessionid'].value}"
