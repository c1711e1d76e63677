"""A broker with nothing in it, and a way to end the database's connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
import redis
from django.conf import settings
from django.db import connection


@pytest.fixture
def broker() -> Iterator[redis.Redis]:
    """The broker's own client, emptied; only what the test itself publishes is in it."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.flushdb()
    yield client
    client.flushdb()
    client.close()


@pytest.fixture
def end_connection(transactional_db: None) -> Iterator[Callable[[], None]]:
    """Ends this process's connection from outside, as a restart of the database does."""
    connection.ensure_connection()
    parameters = connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}
    parameters.pop("context", None)
    with psycopg.connect(**parameters, autocommit=True) as outside:

        def end() -> None:
            outside.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

        yield end
