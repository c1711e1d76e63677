"""The list of occurrences says when each slot was recorded, and how late."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib import admin
from django.utils import timezone

from schedules.admin.occurrence import OccurrenceAdmin
from schedules.models import Occurrence


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.25, "0.25\N{NO-BREAK SPACE}s"), (3600, "1\N{NO-BREAK SPACE}h"), (-3600, "–")]
)
def test_a_slot_that_was_skipped_ahead_of_its_time_is_not_late(seconds: float, said: str) -> None:
    slot = timezone.now()
    occurrence = Occurrence(scheduled_for=slot, fired_at=slot + timedelta(seconds=seconds))
    assert OccurrenceAdmin(Occurrence, admin.site).lateness(occurrence) == said
