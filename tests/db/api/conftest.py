"""A client that calls the API with a token."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from people import tokens
from people.models import User

EVERYTHING = tuple(tokens.SCOPES)


class Api:
    """Calls `/api/v1` with one token; `path` is behind that prefix."""

    def __init__(self, user: User, scopes: tuple[str, ...] = EVERYTHING) -> None:
        self.row, self.token = tokens.create(user, "Test", scopes, None)
        self._client = Client()

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.token}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return self._client.generic(method, f"/api/v1{path}", raw, content_type="application/json", headers=given)

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self("POST", path, body, **headers)


@pytest.fixture
def api(ada: User) -> Api:
    return Api(ada)


@pytest.fixture
def call() -> Callable[..., Api]:
    return Api
