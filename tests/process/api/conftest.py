"""One web process for all tests of this folder; each of them finds its database empty."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.process.web import Web


@pytest.fixture(scope="package")
def web(django_db_setup: None) -> Iterator[Web]:
    with Web(API_REQUESTS_PER_MINUTE="0", MOST_SCHEDULES="5000") as web:
        yield web
