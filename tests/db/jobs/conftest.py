from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobs import kinds


@pytest.fixture(autouse=True)
def sample_kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(kinds, "PACKAGES", [*kinds.PACKAGES, "tests.db.jobs.sample_kinds"])
    kinds._found.cache_clear()
    yield
    kinds._found.cache_clear()
