"""Operators read why the broker takes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from kombu.exceptions import OperationalError
from pytest_django import Settings

from work.broker import backlog, rabbitmq


@pytest.mark.parametrize(
    ("has_rabbitmq", "error", "problem"),
    [
        (True, rabbitmq.Blocked("low on memory"), "RabbitMQ takes no messages (low on memory)"),
        (True, OperationalError("no route"), "RabbitMQ does not answer"),
        (True, None, ""),
        (False, rabbitmq.Blocked("low on memory"), ""),
    ],
)
def test_rabbitmq_is_asked_where_it_is_the_broker(
    has_rabbitmq: bool, error: Exception | None, problem: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(connection: Any) -> None:
        if error:
            raise error

    settings.HAS_RABBITMQ = has_rabbitmq
    monkeypatch.setattr(rabbitmq, "check", check)
    assert backlog.problem().startswith(problem) and bool(problem) == bool(backlog.problem())
    assert (backlog.read([]) is None) == bool(error)
