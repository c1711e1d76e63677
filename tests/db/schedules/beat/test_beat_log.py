"""What beat logs: a summary once a minute, and each warning at most once a minute."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings as configured

from common.redis import served_queues
from schedules.beat import scheduler
from schedules.beat.scheduler import BeatLog


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: made.now))
    served_queues.announce(configured.QUEUES)
    return made


def test_a_summary_counts_one_minute(clock: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log = BeatLog(logging.getLogger("beat"))
    for fired, late in ((2, 0.5), (1, 0.25), (0, 9.0)):
        log.count_poll(fired, late)
    log.count_sent()
    clock.now += 59.9
    log.write_summary()
    assert caplog.messages == []
    clock.now += 0.1
    log.write_summary()
    log.write_summary()  # a minute begins
    clock.now += 60.0
    log.write_summary()
    assert caplog.messages == [
        "In the last minute: 3 schedules fired, at most 0.500 s late; 1 stock entries sent; 3 polls",
        "In the last minute: 0 schedules fired, at most 0.000 s late; 0 stock entries sent; 0 polls",
    ]


def test_the_same_warning_is_logged_once_a_minute(clock: Any, caplog: pytest.LogCaptureFixture) -> None:
    log = BeatLog(logging.getLogger("beat"))
    for what in ("database", "database", "broker"):
        log.warn(what, ValueError("gone\nDETAIL: secret"))
    clock.now += 59.9
    log.warn("database", ValueError("early"))
    clock.now += 0.1
    log.warn("database", ValueError("again"))
    assert caplog.messages == ["database: gone", "broker: gone", "database: again"]
