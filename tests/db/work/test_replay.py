"""What a replay resets, and when each of many is due."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from common.database.postgres import query
from notifications.models import Channel, Delivery
from tests.make import NOON, make_channel, make_delivery, make_user, noted
from work.engine import manual


@pytest.fixture
def channel() -> Channel:
    return make_channel(make_user())


def dead(channel: Channel, **fields: Any) -> Delivery:
    return make_delivery(channel, **{"state": "dead", "tries": 5, "released": 2, "wakes": 3} | fields)


def test_a_replay_begins_afresh(channel: Channel) -> None:
    [row] = query("SELECT now() AS at", [])
    delivery = dead(channel, replays=1)
    assert manual.replay(Delivery, [delivery.id]) == [delivery.id]
    delivery.refresh_from_db()
    assert (delivery.state, delivery.settled_at, delivery.reason_code, delivery.reason_params) == (
        "pending",
        None,
        "",
        {},
    )
    assert (delivery.tries, delivery.released, delivery.wakes, delivery.replays) == (0, 0, 0, 2)
    assert (delivery.available_at, delivery.wake_at) == (row.at, row.at)
    assert manual.replay(Delivery, [delivery.id]) == manual.replay(Delivery, []) == []


def test_of_many_each_is_due_a_gap_after_the_one_before(channel: Channel) -> None:
    [row] = query("SELECT now() AS at", [])
    chosen = [dead(channel).id for _ in range(3)][::-1]
    assert set(manual.replay(Delivery, chosen, gap=10.0)) == set(chosen)
    due = [Delivery.objects.get(id=key) for key in chosen]
    assert [(one.available_at - row.at).total_seconds() for one in due] == [0, 10, 20]
    assert [(one.wake_at - row.at).total_seconds() for one in due] == [0, 4, 14]


def test_one_that_is_not_stale_yet_can_still_expire(channel: Channel) -> None:
    [row] = query("SELECT now() AS at", [])
    later = row.at + timedelta(hours=1)
    for expires_at, after in ((later, later), (NOON, None), (None, None)):
        delivery = dead(channel, expires_at=expires_at)
        manual.replay(Delivery, [delivery.id])
        delivery.refresh_from_db()
        assert delivery.expires_at == after


def test_one_that_programs_pull_is_not_woken(channel: Channel) -> None:
    delivery = dead(channel, wake_at=None)
    manual.replay(Delivery, [delivery.id])
    delivery.refresh_from_db()
    assert (delivery.state, delivery.wake_at) == ("pending", None)


def test_only_a_dead_letter_is_discarded(channel: Channel) -> None:
    letter, waiting = dead(channel), make_delivery(channel)
    assert manual.discard(Delivery, [letter.id, waiting.id], noted("Not needed.")) == 1
    waiting.refresh_from_db()
    assert waiting.state == "pending"
