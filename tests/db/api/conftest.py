"""A client that calls the API with a token."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver

from api.resources.schedules import operations
from people import tokens
from people.models import User
from people.user_lock import lock_in_transaction
from schedules.firing import fire
from schedules.firing.fire import Clock
from tests.db.api import documented

EVERYTHING = tuple(tokens.SCOPES)


class Api:
    """Calls `/api/v1` with one token; `path` is behind that prefix.

    Each answer must be as documented, unless rows are `damaged`.
    """

    def __init__(self, user: User, scopes: tuple[str, ...] = EVERYTHING, *, damaged: bool = False) -> None:
        self._damaged = damaged
        self.row, self.token = tokens.create(user, "Test", scopes, None)
        self._client = Client()

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.token}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        answer = self._client.generic(method, f"/api/v1{path}", raw, content_type="application/json", headers=given)
        if not self._damaged:
            documented.check_answer(answer)
        return answer

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self("POST", path, body, **headers)


@contextmanager
def clock_at(instant: datetime) -> Iterator[None]:
    """The database's clock shows `instant` to whoever creates or changes a schedule."""
    get_resolver().url_patterns  # noqa: B018 - loads all views, which would keep the patched function for ever

    def lock(user: User) -> datetime:
        lock_in_transaction(user)
        return instant

    with (
        patch.object(fire, "read_clock", lambda: Clock(instant, None)),
        patch.object(operations, "lock_in_transaction", lock),
    ):
        yield


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """At most so many statements, without those that only begin and end transactions."""
    with CaptureQueriesContext(connection) as captured:
        yield
    bounds = ("SAVEPOINT", "RELEASE SAVEPOINT", "BEGIN", "COMMIT")
    made = [one["sql"] for one in captured.captured_queries if not one["sql"].startswith(bounds)]
    assert len(made) <= count, made


def wrong_fields(answer: HttpResponse) -> list[str]:
    """The fields that a 422 problem names."""
    assert answer.status_code == 422, answer.content
    return [one["field"] for one in json.loads(answer.content)["errors"]]


@pytest.fixture
def api(ada: User) -> Api:
    return Api(ada)


@pytest.fixture
def call() -> Callable[..., Api]:
    return Api
