"""Which sockets of a process the hub looks at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from live.hub import MOST_OF_PERSON, Hub
from live.socket import SESSION_ENDED, Socket

ADA, TEAM, BOB = 1, 2, 3


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """Without a database, in which all sessions have ended, and without Redis."""

    async def asked(question: Callable[[Any], object], value: Any) -> dict[Any, Any]:
        return {}

    made = Hub()
    made._tasks = [Mock()]  # no other tasks
    monkeypatch.setattr(made, "_query", asked)
    return made


def add(hub: Hub, account: int, person: int) -> Mock:
    socket = Mock(spec=Socket, user=account, person=person, session="ended", board=None)
    hub.add(socket)
    return socket


def test_a_session_that_ends_closes_its_sockets_also_where_it_acts_for_a_team(hub: Hub) -> None:
    alone, acting, other = add(hub, ADA, ADA), add(hub, TEAM, ADA), add(hub, TEAM, BOB)
    hub._woken.clear()

    async def scenario() -> None:
        telling = asyncio.create_task(hub._tell())
        hub._wake([ADA])
        async with asyncio.timeout(60):
            while not (alone.close.called and acting.close.called):
                await asyncio.sleep(0.01)
        telling.cancel()

    asyncio.run(scenario())
    for socket in (alone, acting):
        socket.close.assert_called_with(SESSION_ENDED)
    other.close.assert_not_called()


def test_a_person_has_so_many_sockets_over_all_accounts(hub: Hub) -> None:
    sockets = [add(hub, account, ADA) for account in (ADA, TEAM) for _ in range(MOST_OF_PERSON // 2)]
    assert hub.is_full(ADA) and not hub.is_full(BOB)
    for socket in sockets:
        hub.remove(socket)
    assert not hub.is_full(ADA) and not hub._sockets
