"""Carillon for the demo and tests: its own database, with web, worker and beat on free ports."""

from __future__ import annotations

import secrets
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import psycopg
import requests
from cryptography.fernet import Fernet
from psycopg import sql
from psycopg.rows import dict_row
from redis import Redis

from config import embedded
from config.embedded.postgres import as_superuser
from config.environment import env
from config.processes.commands import web_command
from demo.child import Child, manage_command, worker_command
from demo.ports import free_port

Found = TypeVar("Found")

_READY_WITHIN = 400.0  # seconds
_STOPS_WITHIN = {"web": 3.0, "worker": 10.0, "beat": 3.0}


class DemoFailed(Exception):
    """The demo cannot go on; the message is one line."""


class Installation:
    """A context manager. `name`: the database, which is made again at the start: a copy of `template`, or
    by migrations. `logs`: the last lines of each child.

    Uses DATABASE_URL and REDIS_URL, else embedded engines.
    """

    def __init__(self, name: str, template: str = "", **settings: str) -> None:
        database, self.redis_url = embedded.urls(env.text("DATABASE_URL", ""), env.text("REDIS_URL", ""))
        database = as_superuser(database)
        self._maintenance_url = urlsplit(database)._replace(path="/postgres").geturl()
        self.database_url = urlsplit(database)._replace(path=f"/{name}").geturl()
        self.name, self._template = name, template
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "SECRET_KEY": secrets.token_urlsafe(50),
            "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            "BASE_URL": self.url,
            "ALLOWED_HOSTS": "127.0.0.1,localhost",
            "ALLOWED_NETWORKS": "127.0.0.0/8",
            "SIGN_UP": "on",
            "DEBUG": "off",
            **settings,
        }
        self.logs: dict[str, deque[str]] = {child: deque(maxlen=400) for child in ("web", "worker", "beat")}
        self.web = self._child("web", web_command("127.0.0.1", self.port), ready_check=self._web_answers)
        self.worker = self._child("worker", worker_command("worker", "INFO"), ready_sign=" ready.")
        beat = [sys.executable, "-m", "celery", "-A", "config", "beat", "--loglevel", "INFO"]
        self.beat = self._child("beat", beat, ready_sign="beat: Starting...")

    def __enter__(self) -> Self:
        self._make_database()
        self.lose_messages()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(self.beat, self.worker, self.web)

    def manage(self, *arguments: str, **environment: str) -> None:
        """Run a command of manage.py. Raises DemoFailed with its last lines."""
        command, environment = manage_command(*arguments), self.environment | environment
        lines: list[str] = []
        child = Child("manage", command, environment=environment, on_line=lambda line, _: lines.append(line))
        child.start()
        while (status := child.exit_status()) is None:
            time.sleep(0.02)
        child.stop(0.0)
        if status:
            raise DemoFailed(f"manage.py {arguments[0]} failed: {' | '.join(lines[-3:])}")

    def start(self, *children: Child) -> None:
        """Start them in parallel, and wait until all are ready."""
        for child in children:
            child.start()
        deadline = time.monotonic() + _READY_WITHIN
        while waiting := [child for child in children if not child.is_ready()]:
            for child in children:
                if (status := child.exit_status()) is not None:
                    raise DemoFailed(f"{child.name} did not start (exit status {status})")
            if time.monotonic() > deadline:
                raise DemoFailed(f"{waiting[0].name} is not ready after {_READY_WITHIN:.0f} s")
            time.sleep(0.05)

    def stop(self, *children: Child) -> None:
        for child in children:
            child.stop(_STOPS_WITHIN[child.name])

    def lose_messages(self) -> None:
        """Empty the broker."""
        with Redis.from_url(self.redis_url) as broker:
            broker.flushdb()

    def rows(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Read rows without Carillon's code."""
        with psycopg.connect(self.database_url, row_factory=dict_row) as connection:
            return connection.execute(statement, values).fetchall()

    def _make_database(self) -> None:
        with psycopg.connect(self._maintenance_url, autocommit=True) as connection:
            name = sql.Identifier(self.name)
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
            template = sql.Identifier(self._template or "template1")
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, template))
        if not self._template:
            self.manage("migrate", "--verbosity", "0")

    def _child(self, name: str, command: list[str], **readiness: Any) -> Child:
        def on_line(line: str, name: str) -> None:
            self.logs[name].append(line)

        return Child(name, command, environment=self.environment, on_line=on_line, **readiness)

    def _web_answers(self) -> bool:
        with suppress(requests.RequestException):
            return requests.get(f"{self.url}/healthz", timeout=5).ok
        return False


def wait_until(ask: Callable[[], Found | None], what: str, within: float) -> Found:
    """Ask until the result is true, and return it. Raises DemoFailed, which names `what`."""
    deadline = time.monotonic() + within
    while not (found := ask()):
        if time.monotonic() > deadline:
            raise DemoFailed(f"{what} did not happen within {within:.0f} s")
        time.sleep(0.05)
    return found
