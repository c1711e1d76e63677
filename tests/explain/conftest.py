"""A person, and a browser in which they are signed in."""

from __future__ import annotations

import pytest
from django.test import Client

from people.models import User
from tests.make import make_user


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def browser(ada: User) -> Client:
    client = Client()
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    return client
