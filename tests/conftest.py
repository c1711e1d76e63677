"""What every test stands on: real PostgreSQL and Redis, and plain functions that make rows."""

from __future__ import annotations

from uuid import uuid4

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def counted_afresh(settings: Settings) -> None:
    """What one test counts in the cache, such as sign-ins, no other test sees."""
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": uuid4().hex}}
