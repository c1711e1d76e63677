"""Which sockets of a process the hub looks at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest

from live.hub import MOST_OF_PERSON, Hub, Presence, Seat
from live.socket import SESSION_ENDED, Socket
from notifications.deliveries.inbox_state import states
from people.sign_in import sessions

ADA, TEAM, BOB = 1, 2, 3
BOARD = UUID(int=7)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """Without a database, in which all sessions have ended, and without Redis."""

    async def asked(question: Callable[[Any], object], value: Any) -> dict[Any, Any]:
        return {}

    made = Hub()
    made._tasks = [Mock()]  # no other tasks
    monkeypatch.setattr(made, "_query", asked)
    return made


def add(hub: Hub, account: int, person: int, session: str = "ended", board: UUID | None = None) -> Mock:
    socket = Mock(spec=Socket, user=account, person=person, session=session, board=board)
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


def test_a_socket_gets_the_state_of_its_own_account(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(question: Callable[[Any], object], value: Any) -> Any:
        if question is sessions.accounts:
            return {"ada": ADA, "acting": TEAM, "switched": ADA}
        return {user: {"of": user} for user in value} if question is states else Presence({BOARD: 2}, ())

    monkeypatch.setattr(hub, "_query", answer)
    alone, acting = add(hub, ADA, ADA, "ada"), add(hub, TEAM, ADA, "acting", BOARD)
    switched = add(hub, TEAM, ADA, "switched")  # acts for itself again

    async def scenario() -> None:
        telling = asyncio.create_task(hub._tell())
        async with asyncio.timeout(60):
            while not (alone.send.called and acting.send.called):
                await asyncio.sleep(0.01)
        telling.cancel()

    asyncio.run(scenario())
    assert [json.loads(one.send.call_args.args[0])["of"] for one in (alone, acting)] == [ADA, TEAM]
    assert [json.loads(one.send.call_args.args[0])["here"] for one in (alone, acting)] == [{}, {str(BOARD): 2}]
    assert [one.close.called for one in (alone, acting, switched)] == [False, False, True]


def test_a_person_leaves_a_board_with_their_last_socket_there(hub: Hub) -> None:
    first, second, other = (add(hub, TEAM, person, board=BOARD) for person in (ADA, ADA, BOB))
    hub.remove(first)
    assert not hub._left
    hub.remove(second)
    assert hub._left == {Seat(TEAM, BOARD, ADA)}
    hub.remove(other)
    assert hub._left == {Seat(TEAM, BOARD, ADA), Seat(TEAM, BOARD, BOB)}


def test_nobodys_state_is_read_when_somebody_leaves_a_board(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[Any] = []

    async def answer(question: Callable[[Any], object], value: Any) -> Any:
        questions.append(question)
        return {} if question in (sessions.accounts, states) else Presence({}, ())

    monkeypatch.setattr(hub, "_query", answer)
    socket = add(hub, TEAM, ADA, board=BOARD)
    hub._woken.clear()
    hub.remove(socket)

    async def scenario() -> None:
        telling = asyncio.create_task(hub._tell())
        async with asyncio.timeout(60):
            while hub._left or len(questions) < 2:
                await asyncio.sleep(0.01)
        telling.cancel()

    asyncio.run(scenario())
    assert states not in questions


def test_a_person_has_so_many_sockets_over_all_accounts(hub: Hub) -> None:
    sockets = [add(hub, account, ADA) for account in (ADA, TEAM) for _ in range(MOST_OF_PERSON // 2)]
    assert hub.is_full(ADA) and not hub.is_full(BOB)
    for socket in sockets:
        hub.remove(socket)
    assert not hub.is_full(ADA) and not hub._sockets
