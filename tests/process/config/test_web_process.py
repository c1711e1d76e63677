"""A real web process, attacked and left alone by its database."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from redis import Redis

from config.processes import Child, web_command
from notifications.net import address_checks
from people.models import User
from tests.broken_line import Line
from tests.make import make_channel, make_schedule, make_user, signed_in
from tests.process.conftest import free_port, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

MIB = 1024 * 1024


@pytest.fixture(autouse=True)
def nothing_is_counted_yet() -> None:
    """What a web process counts, it counts where the next test's does."""
    with Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()


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
            patch.setenv("BEHIND_PROXY", variables.get("BEHIND_PROXY", ""))
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

    def wait_until(self, condition: Callable[[], bool]) -> None:
        wait_until(lambda: condition() or self.child.exit_status() is not None)
        assert self.child.exit_status() is None, "\n".join(self.lines)

    def _answers(self) -> bool:
        with suppress(OSError):
            return self.ask("GET", "/healthz").status == 200
        return False

    def ask(self, method: str, path: str, body: Any = None, cookie: str = "", **headers: str) -> Answer:
        """One request, with the `cookie` of `cookie_of`."""
        if cookie:
            headers |= {"Cookie": f"{cookie}; csrftoken={'x' * 32}", "X-CSRFToken": "x" * 32}
        if isinstance(body, dict):
            body, headers["Content-Type"] = urlencode(body), "application/x-www-form-urlencoded"
        started = time.monotonic()
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            asked.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = asked.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode(), time.monotonic() - started)
        finally:
            asked.close()

    def written(self) -> int:
        """Bytes that the process has written to files and sockets."""
        lines = dict(line.split(": ") for line in Path(f"/proc/{self.child.pid}/io").read_text().splitlines())
        return int(lines["write_bytes"])


class Answer:
    def __init__(self, status: int, headers: Any, text: str, took: float) -> None:
        self.status, self.headers, self.text, self.took = status, headers, text, took


def cookie_of(user: User) -> str:
    """The cookie of a new session."""
    client = signed_in(user)
    return f"sessionid={client.cookies['sessionid'].value}"


@contextmanager
def silent_server() -> Iterator[tuple[int, list[socket.socket]]]:
    """Takes connections and says nothing; its port, and those that are open or were."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:

        def take() -> None:
            with suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])

        threading.Thread(target=take, daemon=True).start()
        yield listener.getsockname()[1], taken
        listener.shutdown(socket.SHUT_RDWR)
    for one in taken:
        one.close()


def test_a_body_that_is_too_large_is_refused_by_its_length_and_by_what_arrives_of_it() -> None:
    piece = b"x" * MIB

    def pieces(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield piece

    with Web() as web:
        refused = web.ask("POST", "/account/login/", piece * 17)
        assert (refused.status, refused.headers["Connection"]) == (413, "close")
        before = web.written()
        assert web.ask("POST", "/account/login/", pieces(40)).status == 413
        assert web.ask("POST", "/nowhere/", pieces(17)).status == 413
        assert web.written() - before < 40 * MIB
        # Whoever only says how much they would send is already answered they do.
        with socket.create_connection(("127.0.0.1", web.port)) as raw:
            raw.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 400000000\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.1 413")
        assert web.ask("POST", "/account/login/", pieces(3)).status == 403  # no token
        assert web.ask("GET", "/healthz").status == 200


def test_a_forwarded_address_is_believed_only_behind_a_proxy() -> None:
    for behind, shown in (("off", "127.0.0.1:"), ("on", "192.0.2.7:")):
        with Web(BEHIND_PROXY=behind) as web:
            web.ask("GET", "/nowhere/", X_Forwarded_For="192.0.2.7")
            web.wait_until(lambda: any("GET /nowhere/" in line for line in web.lines))  # the line of the access log
            assert any(shown in line and "GET /nowhere/" in line for line in web.lines), web.lines


def test_forms_that_look_at_silent_addresses_hold_up_no_page() -> None:
    cookies = [cookie_of(make_user()) for _ in range(12)]
    reader = cookie_of(make_user())
    with silent_server() as (port, taken), Web() as web, ThreadPoolExecutor(60) as pool:
        form = {"url": f"https://127.0.0.1:{port}/", "label": "Silent"}
        sent = [pool.submit(web.ask, "POST", "/channels/new/webhook/", form, cookie) for cookie in cookies * 4]
        web.wait_until(lambda: len(taken) == address_checks.A_MINUTE)
        assert web.ask("GET", "/healthz").took < 2
        assert web.ask("GET", "/channels/", cookie=reader).took < 2.5
        answers = [one.result() for one in sent]
        assert {answer.status for answer in answers} == {302}
        assert len(taken) == address_checks.A_MINUTE  # whoever they are, one host is not called more often


def test_one_person_has_two_addresses_looked_at_at_the_same_time() -> None:
    ada = cookie_of(make_user())
    with silent_server() as (port, taken), Web() as web, ThreadPoolExecutor(10) as pool:
        form = {"url": f"https://127.0.0.1:{port}/", "label": "Silent"}
        sent = [pool.submit(web.ask, "POST", "/channels/new/webhook/", form, ada) for _ in range(8)]
        quick = sorted(one.result().took for one in sent)
        assert len(taken) == address_checks.AT_ONCE
        assert quick[5] < 4 < quick[7]


@pytest.mark.parametrize("how", ["cut", "silence"])
def test_while_the_database_is_away_a_page_says_so_within_five_seconds(how: str) -> None:
    cookie = cookie_of(make_user())
    with Web() as web:
        assert web.ask("GET", "/reminders/", cookie=cookie).status == 200
        getattr(web.database, how)()
        for path in ("/reminders/", "/account/login/", "/admin/"):
            answer = web.ask("GET", path, cookie=cookie)
            assert answer.status == 503 or path == "/account/login/", path
            assert answer.took < 5.5, (path, answer.took)
            if answer.status == 503:
                assert int(answer.headers["Retry-After"]) > 0
                assert "<h1>" in answer.text and "Traceback" not in answer.text
        web.database.cut() if how == "silence" else None
        web.database.mend()
        web.wait_until(lambda: web.ask("GET", "/reminders/", cookie=cookie).status == 200)


def test_while_redis_is_silent_what_a_person_sends_is_taken_within_five_seconds() -> None:
    ada = make_user()
    schedule, cookie = make_schedule(ada, [make_channel(ada)], timezone.now()), cookie_of(ada)
    with Web() as web:
        assert web.ask("GET", "/reminders/", cookie=cookie).status == 200
        web.redis.silence()
        answer = web.ask("POST", f"/reminders/{schedule.id}/run/", {}, cookie)
        assert answer.status == 302
        assert answer.took < 5
        answer = web.ask("POST", "/account/login/", {"login": ada.email, "password": "wrong"}, "nobody=1")
        assert answer.status == 200
        assert answer.took < 5
    assert schedule.occurrences.count() == 1
