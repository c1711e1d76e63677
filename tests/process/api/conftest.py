"""One web process for all tests of this folder; each of them finds its database empty."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from carillon_client import Client

from people import tokens
from people.models import User
from tests.make import make_user
from tests.process.notifications.conftest import environment
from tests.process.web import Web

# `test_client` imports what it writes.
runpy.run_path(str(Path(__file__).parents[3] / "client/setup.py"))["write"]()


@pytest.fixture(scope="package")
def web(django_db_setup: None) -> Iterator[Web]:
    straight = {name: environment()[name] for name in ("DATABASE_URL", "REDIS_URL")}  # nobody cuts these lines
    with Web(API_REQUESTS_PER_MINUTE="0", MOST_SCHEDULES="5000", LOG_LEVEL="ERROR", **straight) as web:
        yield web


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def token(ada: User) -> str:
    return tokens.create(ada, "Test", list(tokens.SCOPES), None)[1]


@pytest.fixture
def client(web: Web, token: str) -> Iterator[Client]:
    with Client(f"http://127.0.0.1:{web.port}", token, tries=3) as client:
        yield client
