"""Lists of the past are read from a standby that is close behind, and from the primary where it is not."""

from __future__ import annotations

import io
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import psycopg
import pytest
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, router
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from bench.servers import Postgres
from common.database import postgres, replica
from config import embedded
from people.account import export
from tests.make import make_fired, signed_in
from tests.process.conftest import wait_until

pytestmark = pytest.mark.django_db(transaction=True, databases=[DEFAULT_DB_ALIAS, replica.ALIAS])


@pytest.fixture(scope="module", autouse=True)
def server(django_db_setup: None) -> Iterator[Postgres]:
    """A standby of the engine of the tests, as DATABASE_REPLICA_URL would name it."""
    engine = Path(connection.settings_dict["HOST"])
    (engine.parent / "data" / "carillon.role").chmod(0o644)  # of root, which PostgreSQL is not
    with (
        Postgres(embedded.var_dir() / "standby", Path(embedded.postgres_programs())) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        server.follow(f"host={engine}")
        entry = connection.settings_dict | {"HOST": "127.0.0.1", "PORT": str(server.port)}
        for databases in (settings.DATABASES, connections.settings):
            patch.setitem(databases, replica.ALIAS, entry)
        patch.setattr(router, "routers", [replica.Router()])
        for name in ("_CHECKED_FOR", "_RESTS"):
            patch.setattr(replica, name, 0.0)
        yield server
        connections[replica.ALIAS].close()
        del connections[replica.ALIAS]


@pytest.fixture
def standby(server: Postgres) -> Postgres:
    wait_until(lambda: replica._behind() == 0)
    return server


_PAST = re.compile(r'FROM "?(notifications_(notif|deliv)|schedules_occ)')


def reads(page: str, client: Client) -> tuple[bool, bool]:
    """Whether rows of the past are read from the replica, and from the primary."""
    found = []
    for alias in (replica.ALIAS, DEFAULT_DB_ALIAS):
        with CaptureQueriesContext(connections[alias]) as captured:
            answer = client.get(page)
        assert answer.status_code == 200
        found.append(
            any(re.search(r'FROM "?(notifications_(notif|deliv)|schedules_occ)', one["sql"]) for one in captured)
        )
    return found[0], found[1]


def test_lists_of_the_past_are_read_from_the_standby(standby: Postgres, admin_client: Client) -> None:
    fired, _ = make_fired()
    wait_until(lambda: replica._behind() == 0)
    person = signed_in(fired.user)
    for page in (reverse("notifications:history"), reverse("schedules:explain", args=[fired.origin_id])):
        assert reads(page, person)[0], page
    assert reads(reverse("notifications:history"), person) == (True, False)
    for model in ("notifications_delivery", "notifications_notification", "schedules_occurrence"):
        assert reads(reverse(f"admin:{model}_changelist"), admin_client) == (True, False), model
    with CaptureQueriesContext(connections[replica.ALIAS]) as captured:
        person.get(reverse("notifications:history"))  # whose person is not read there
        before = len(captured)
        person.get(reverse("schedules:list"))
    assert before == len(captured)
    assert not [one["sql"] for one in captured if 'FROM "people_' in one["sql"]]


def test_an_export_is_read_from_the_standby(standby: Postgres) -> None:
    fired, _ = make_fired()
    wait_until(lambda: replica._behind() == 0)
    user, file = fired.user, io.BytesIO()
    with CaptureQueriesContext(connection) as captured:
        replica.read(lambda: export.write(user, file))
    assert len(captured) <= 1  # which asks how far the primary is
    assert fired.subject.encode() in ZipFile(file).read("notifications_notification.jsonl")


def test_what_breaks_off_is_read_again_from_the_primary(standby: Postgres) -> None:
    """As where PostgreSQL ends a query that stands in the way of what the standby replays."""
    tried = []

    def read() -> str:
        tried.append(replica.alias())
        return str(postgres.query("SELECT pg_create_restore_point('test') AS at", [])[0].at)

    assert replica.read(read)
    assert tried == [replica.ALIAS, DEFAULT_DB_ALIAS]


def test_one_that_is_behind_away_or_promoted_is_not_read(standby: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    def is_read() -> bool:
        return replica.read(replica.alias) == replica.ALIAS

    assert is_read()
    with psycopg.connect(standby.url("postgres"), autocommit=True) as engine:
        engine.execute("SELECT pg_wal_replay_pause()")
        make_fired()
        wait_until(lambda: (replica._behind() or 0) > replica.MOST_BEHIND, 20)
        assert not is_read()
        assert "Lists of the past are read from the primary" in caplog.text
        engine.execute("SELECT pg_wal_replay_resume()")
    wait_until(is_read)
    standby.stop(signal.SIGQUIT)
    assert not is_read()
    standby.start()
    wait_until(is_read)
    standby.promote()
    wait_until(lambda: not is_read())
