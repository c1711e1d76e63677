"""When the next channel in order is tried, and why. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from notifications.deliveries.fallback import FallbackState, Step, decide
from notifications.reasons import DeliveryCode
from tests.make import NOON
from work.reasons import Reason

FIVE = timedelta(minutes=5)
WHY = Reason(DeliveryCode.NOTE, said="Gone.")
FAILED = Reason(DeliveryCode.BEFORE_FAILED, label="Inbox", why=WHY)
UNKNOWN = Reason(DeliveryCode.BEFORE_UNKNOWN, label="Inbox", why=WHY)
SILENCE = Reason(DeliveryCode.NOT_ACKNOWLEDGED, minutes=5, label="Inbox")


def standing(**overrides: Any) -> FallbackState:
    fields: dict[str, Any] = {
        "notification_id": uuid4(),
        "escalate_after": 5,
        "now": NOON,
        "person_id": 1,
        "label": "Inbox",
        "state": "delivered",
        "reason_code": WHY.code,
        "reason_params": WHY.json,
        "waits_until": None,
        "expires_at": None,
        "next_id": uuid4(),
        "next_provider": "email",
    }
    return FallbackState(**fields | overrides)


@pytest.mark.parametrize(
    ("given", "step"),
    [
        ({}, Step(True, SILENCE, NOON + FIVE)),
        ({"state": "pending"}, Step(True, SILENCE, NOON + FIVE)),
        ({"state": "pending", "waits_until": NOON + FIVE}, Step(False, next_at=NOON + 2 * FIVE)),
        ({"escalate_after": None}, Step(False)),
        ({"state": "dead"}, Step(True, FAILED, NOON + FIVE)),
        ({"state": "unknown"}, Step(True, UNKNOWN, NOON + FIVE)),
        ({"state": "dead", "escalate_after": None}, Step(True, FAILED)),
        ({"state": "dead", "next_id": None, "next_provider": None}, Step(False)),
        ({"next_id": None, "next_provider": None}, Step(False)),
        ({"state": "cancelled"}, Step(False)),
        ({"state": "expired"}, Step(False)),
    ],
)
def test_the_next_channel_is_tried_after_a_failure_or_in_silence(given: dict[str, Any], step: Step) -> None:
    assert decide(standing(**given)) == step
