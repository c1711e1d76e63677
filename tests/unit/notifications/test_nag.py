"""When a message is repeated, and why not. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from notifications.deliveries.nag import Series, Step, decide
from notifications.models import Notification
from tests.make import NOON

TEN, HOUR, KEY = timedelta(minutes=10), timedelta(hours=1), uuid4()
SILENT = {"outcome": "open", "arrived": False}


@pytest.mark.parametrize(
    ("given", "step"),
    [
        ({}, Step(KEY, True, NOON + TEN)),
        ({"nagged": 1}, Step(KEY, True, NOON + TEN)),
        ({"nagged": 2}, Step(KEY, True)),
        ({"is_over": True}, Step(KEY, code="newer-slot")),
        ({"channels": []}, Step(KEY, code="removed")),
        ({"outcome": "dropped"}, Step(KEY, code="not-repeated")),
        ({"outcome": "dropped", "undone": True}, Step(KEY, True, NOON + TEN)),
        ({"outcome": "open"}, Step(KEY, True, NOON + TEN)),
        ({"outcome": "failed", "arrived": False}, Step(KEY, True, NOON + TEN)),
        (SILENT, Step(KEY, next_at=NOON + TEN)),
        (SILENT | {"waits_until": NOON - HOUR}, Step(KEY, next_at=NOON + TEN)),
        (SILENT | {"waits_until": NOON + HOUR}, Step(KEY, next_at=NOON + HOUR + TEN)),
    ],
)
def test_it_is_repeated_every_ten_minutes_three_times_unless_something_ends_it(
    given: dict[str, Any], step: Step
) -> None:
    fields: dict[str, Any] = {"id": KEY, "language": "en", "now": NOON, "is_over": False, "sent_to": [], "lasts": None}
    fields |= {"arrived": True, "outcome": "full", "waits_until": None, "undone": False} | given
    first = Notification(nag_every=10, nag_times=3, nagged=fields.pop("nagged", 0))
    channels = fields.pop("channels", ["inbox"])
    assert decide(Series(**fields), first, channels) == step
