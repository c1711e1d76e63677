"""The database of the release before is upgraded, and what was due in it is sent. See `tests/released.py`.

The processes run as a role that cannot change the schema, made as docs/operating.md says.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from demo.child import Child, worker_command
from demo.receivers import HTTPReceiver, Reply
from tests import released
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment, manage

NAME = "released"


@pytest.fixture
def upgraded(transactional_db: None) -> Iterator[str]:
    """The URL of a database of the release before, migrated by this one."""
    host = connection.get_connection_params()["host"]
    url = f"postgresql://postgres@/{NAME}?host={host}"
    with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as engine:
        engine.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        engine.execute("DROP ROLE IF EXISTS carillon_run")
        engine.execute(f"CREATE DATABASE {NAME}")
        released.load(url)
        with psycopg.connect(url, autocommit=True) as database:  # before `migrate`: what that makes is granted as well
            documented = (settings.BASE_DIR / "docs" / "operating.md").read_text()
            for statement in re.findall(r"```sql\n(CREATE ROLE.*?)```", documented, re.DOTALL)[0].splitlines():
                database.execute(statement)
            migrated = manage("migrate", "--verbosity", "0", DATABASE_URL=url, **released.KEYS)
        assert migrated.returncode == 0, migrated.stdout
        yield url.replace("postgres@", "carillon_run@")
        engine.execute(f"DROP DATABASE {NAME} WITH (FORCE)")
        engine.execute("DROP ROLE carillon_run")


def test_what_was_due_is_sent_once_after_the_upgrade(upgraded: str, broker: object) -> None:
    variables, lines = environment(DATABASE_URL=upgraded, **released.KEYS), list[str]()
    beat = [sys.executable, "-m", "celery", "-A", "config", "--quiet", "beat", "--loglevel", "WARNING"]
    children = [
        Child(name, command, environment=variables, on_line=lambda line, _: lines.append(line))
        for name, command in (("worker", worker_command("upgraded", "WARNING")), ("beat", beat))
    ]
    with HTTPReceiver(lambda _: Reply()) as receiver, psycopg.connect(upgraded, autocommit=True) as database:
        database.execute(
            "UPDATE notifications_channel SET address = %s WHERE provider = 'webhook'",
            [json.dumps({"url": f"{receiver.origin}/hook"})],
        )
        due = (
            "SELECT count(*) FROM notifications_delivery WHERE state IN ('pending', 'sending') AND available_at < now()"
        )

        def is_done() -> bool:
            row = database.execute(due).fetchone()
            return len(receiver.requests) >= len(released.DUE) and row == (0,)

        for child in children:
            child.start()
        try:
            wait_until(is_done)
        finally:
            for child in reversed(children):
                child.stop(10.0)
        secret = "whsec_" + "c2VjcmV0" * 4
        arrived = Counter(request.verified(secret)["data"]["subject"] for request in receiver.requests)
    assert arrived == dict.fromkeys(released.DUE, 1)
    assert [line for line in lines if " ERROR " in line or "Traceback" in line] == []
