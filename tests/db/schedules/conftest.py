"""What the tests of schedules begin with."""

from __future__ import annotations

import pytest

from schedules.models import Schedule
from tests.make import make_schedule, make_user


@pytest.fixture
def schedule() -> Schedule:
    """A new person's, every day at 09:00 UTC, made on 1 June 2026 at noon."""
    return make_schedule(make_user())
