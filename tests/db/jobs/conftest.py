from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def with_sample_kinds(sample_kinds: None) -> None:
    """Every test of this folder has them."""
