"""Operators read why the broker takes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from work.broker import backlog, rabbitmq


def blocked(connection: Any) -> None:
    raise rabbitmq.Blocked("low on memory")


@pytest.mark.parametrize(("has_rabbitmq", "problem"), [(True, "low on memory"), (False, "")])
def test_rabbitmq_is_asked_where_it_is_the_broker(
    has_rabbitmq: bool, problem: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HAS_RABBITMQ = has_rabbitmq
    monkeypatch.setattr(rabbitmq, "check", blocked)
    assert problem in backlog.problem() and bool(problem) == bool(backlog.problem())
