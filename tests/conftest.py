"""What every test stands on: real PostgreSQL and Redis, and plain functions that make rows."""

from __future__ import annotations

import gc
import os
import re
import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import redis
from django.conf import LazySettings, settings as configured
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.cache import caches
from django.db import connection
from django.template import Context, Template
from django.test import Client, TransactionTestCase, utils
from django.test.signals import template_rendered
from hypothesis.internal.conjecture import providers

from people.models import User
from tests import migrated
from tests.make import make_user, signed_in
from tests.zygote import Zygote
from work.broker import fair_queue

# Tests make databases, and rows without triggers. Carillon's own role may neither. The engine of tests need not survive
# a crash of the machine.
if (_given := configured.DATABASES["default"])["USER"] == "carillon":
    _given["USER"] = "postgres"
    with psycopg.connect(host=_given["HOST"], user="postgres", dbname="postgres", autocommit=True) as _engine:
        for _setting in ("fsync", "full_page_writes"):
            _engine.execute(f"ALTER SYSTEM SET {_setting} = off")
        _engine.execute("SELECT pg_reload_conf()")

# Each test client makes the middleware anew, which would read the heads of all static files first.
configured.WHITENOISE_AUTOREFRESH = True

_DELETE_ROWS = """
RESET session_replication_role; RESET lock_timeout; RESET statement_timeout;
DO $$ DECLARE one text; BEGIN
    SET LOCAL session_replication_role = replica;  -- no triggers, no foreign keys
    FOR one IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        AND pg_relation_size(oid) > 0
        AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission', 'work_hold')
    LOOP
        EXECUTE format('DELETE FROM %I', one);
    END LOOP;
END $$
"""


def delete_rows(_: TransactionTestCase) -> None:
    """After a test with transactions. `flush` makes the files of all tables again, content types and permissions."""
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_ROWS)


TransactionTestCase._fixture_teardown = delete_rows
# A new connection reads the catalog of the database again, for 50 ms of CPU. Tests of processes end engines under it.
TransactionTestCase._should_reload_connections = lambda _: "tests/db/" not in os.environ["PYTEST_CURRENT_TEST"]


def replace_settings(lazy: LazySettings, name: str, value: Any) -> None:
    """As Django's, which leaves no settings for a moment, in which a thread of the product may read one."""
    if name != "_wrapped":
        _set_one(lazy, name, value)
        return
    lazy.__dict__["_wrapped"] = value
    for cached in lazy.__dict__.keys() - {"_wrapped"}:
        lazy.__dict__.pop(cached, None)


_set_one = LazySettings.__setattr__
LazySettings.__setattr__ = replace_settings

# A form that looks at an address which a test invented must not find somebody there.
_look_up, _connect = socket.getaddrinfo, socket.socket.connect


def look_up(host: Any, *rest: Any, **named: Any) -> Any:
    if isinstance(host, str) and re.search(r"\.[a-z]+\.?$", host):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return _look_up(host, *rest, **named)


def connect(self: socket.socket, address: Any) -> None:
    numeric = self.family in (socket.AF_INET, socket.AF_INET6) and re.fullmatch(r"[0-9a-f.:]+", address[0])
    if numeric and ip_address(address[0]).is_global:
        raise ConnectionRefusedError
    _connect(self, address)


socket.getaddrinfo, socket.socket.connect = look_up, connect

# Hashing passwords is slow by design.
PBKDF2PasswordHasher.iterations = 1

# Hypothesis draws constants from all modules that are loaded, so that a test's cases depended on those before it.
providers._get_local_constants = lambda: providers._local_constants


def render(self: Template, context: Context) -> str:
    """As Django's, which notes all templates. A page has hundreds of parts, whose contexts no test reads."""
    if context.template is self and not str(self.name).startswith("django/forms/"):
        template_rendered.send(sender=self, template=self, context=context)
    return self.nodelist.render(context)


utils.instrumented_test_render = render


def pytest_collection_finish() -> None:
    """All that is imported by now stays: the collector need not look through it again and again."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """The database of tests is a copy, whose migrations need not run again."""
    if configured.DATABASES["default"]["USER"] == "postgres":
        configured.DATABASES["default"]["TEST"] |= {"TEMPLATE": migrated.template(), "MIGRATE": False}


@pytest.fixture(scope="session", autouse=True)
def zygote() -> Iterator[None]:
    with Zygote():
        yield


@pytest.fixture(autouse=True)
def counted_afresh() -> None:
    """What one test counts, such as sign-ins and messages, no other test sees."""
    configured.CACHES["default"]["KEY_PREFIX"] = caches["default"].key_prefix = uuid4().hex
    fair_queue._Lately.since = -fair_queue.WITHIN  # nobody has had many messages lately


@pytest.fixture
def ada() -> User:
    return make_user(email="ada@example.org")


@pytest.fixture
def browser(ada: User) -> Client:
    return signed_in(ada)


@pytest.fixture
def broker() -> Iterator[redis.Redis]:
    """The broker's own client, emptied; only what the test itself publishes is in it."""
    client = redis.Redis.from_url(configured.REDIS_URL)
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
