"""The connection on which one thread executes for several is kept until an error, and is this process's own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, DataError, connection, connections

from work.broker.shared_connection import SharedConnection, has_threads


@pytest.fixture
def shared(db: None) -> Iterator[SharedConnection]:
    made = SharedConnection()
    yield made
    if made._database:
        made._database.close()


def backend(shared: SharedConnection) -> int:
    return int(shared.execute("SELECT pg_backend_pid() AS pid", {}).fetchone().pid)


def is_connected(pid: int) -> bool:
    parameters = connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}
    parameters.pop("context", None)
    with psycopg.connect(**parameters) as other:
        return bool(other.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid]).rowcount)


def test_it_is_kept_beside_the_threads_own(shared: SharedConnection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        own = cursor.fetchone()[0]
    first = backend(shared)
    with ThreadPoolExecutor(1) as other:
        assert other.submit(backend, shared).result() == backend(shared) == first != own


def test_after_an_error_it_is_closed_and_the_next_statement_has_a_new_one(shared: SharedConnection) -> None:
    with ThreadPoolExecutor(1) as other:
        first = other.submit(backend, shared).result()
    with pytest.raises(DataError):
        shared.execute("SELECT 1 / 0", {})
    assert backend(shared) != first
    assert not is_connected(first)


def test_it_takes_none_of_the_pools_connections(shared: SharedConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(connection.settings_dict["OPTIONS"], "pool", {"max_size": 0})  # which no pool accepts
        assert backend(shared)


def test_a_forked_child_opens_its_own(shared: SharedConnection) -> None:
    first = backend(shared)
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        try:
            os._exit(0 if backend(shared) != first else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert backend(shared) == first


def test_work_is_combined_only_with_a_pool_and_outside_of_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    database = connections[DEFAULT_DB_ALIAS]
    options = database.settings_dict["OPTIONS"]
    for pool, in_transaction, combined in (({}, False, False), ({"pool": 1}, True, False), ({"pool": 1}, False, True)):
        with monkeypatch.context() as patch:
            patch.setitem(database.settings_dict, "OPTIONS", options | pool)
            patch.setattr(database, "in_atomic_block", in_transaction)
            assert has_threads() is combined
