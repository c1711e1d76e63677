"""Pings that are recorded together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from unittest.mock import AsyncMock

import pytest

from config.web import ping_address
from watches.pings import TAKEN, NewPing


def test_a_ping_stays_before_a_later_one_while_their_watch_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    pings, batches = ping_address.Pings(AsyncMock()), []

    async def send() -> None:
        answer = asyncio.get_running_loop().create_future()

        def record(batch: Sequence[NewPing]) -> list[tuple[int, str]]:
            batches.append([ping.kind for ping in batch])
            if len(batches) > 1:
                return [ping_address.OK] * len(batch)
            pings._waiting.append((NewPing(None, "success"), 0.0, answer))
            return [ping_address.BUSY]

        monkeypatch.setattr(ping_address, "_record", record)
        await pings._recorded(NewPing(None, "start"))
        await answer

    asyncio.run(send())
    assert batches == [["start"], ["start", "success"]]


def test_a_ping_that_cannot_be_recorded_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def record(batch: Sequence[NewPing]) -> list[str]:
        if "start" in [ping.kind for ping in batch]:
            raise ValueError("start")
        return [TAKEN] * len(batch)

    monkeypatch.setattr("watches.pings.record", record)
    answers = ping_address._record([NewPing(None, "success"), NewPing(None, "start")])
    assert answers == [ping_address.OK, ping_address.BROKEN]
