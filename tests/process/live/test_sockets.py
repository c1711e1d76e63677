"""Sockets of a real web process: who gets one, what it says, and when it ends."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings
from redis import Redis

from bench.sockets import TEXT, Client, Closed, Page, Refused, frame
from common.redis import live_wakes
from notifications.deliveries import boards
from people import teams
from people.access.acting import TEAM
from people.models import Membership, Session, User
from people.sign_in.sessions import SessionStore
from tests.make import make_channel, make_delivery, make_user
from tests.process.web import Web, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

T = TypeVar("T")
OUTAGE = float(os.environ.get("LIVE_OUTAGE", "0"))  # seconds that Redis, the process or both are away
PATIENCE = 120.0 + 4 * OUTAGE  # seconds


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture(autouse=True)
def one_redis(settings: Settings) -> None:
    """The names of the web process, where nothing is counted yet."""
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": "carillon-cache"}}
    with Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()


@pytest.fixture
def ada() -> User:
    return make_user()


def arrive(user: User) -> str:
    inbox = user.channels.filter(provider="inbox").first() or make_channel(user)
    message = make_delivery(inbox, state="delivered", settled_at=timezone.now())
    live_wakes.wake(user.pk)
    return str(message.id)


async def in_thread(function: Callable[[], T]) -> T:
    def call() -> T:
        try:
            return function()
        finally:
            connection.close()

    return await asyncio.to_thread(call)


async def receive(client: Client) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        return await client.receive()


async def receive_until(client: Client, **values: Any) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            message = await client.receive()
            if values.items() <= message.items():
                return message


async def code_of_end(client: Client) -> int:
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Closed) as closed:
            while True:
                await client.receive()
    return closed.value.code


def status_of_refusal(web: Web, cookie: str, **headers: str) -> Refused:
    with pytest.raises(Refused) as refused:
        asyncio.run(Client.connect(web.port, cookie, **headers))
    return refused.value


def test_it_says_how_the_inbox_is_and_again_when_something_arrives(web: Web, ada: User) -> None:
    cookie = signed_in(ada)

    async def scenario() -> None:
        client, tab = [await Client.connect(web.port, cookie) for _ in range(2)]
        assert (await receive_until(client, live=True))["unread"] == 0
        await receive_until(tab, live=True)
        await in_thread(lambda: arrive(ada))
        first = await receive_until(client, unread=1)
        assert first["newest"] and first["mark"]
        await receive_until(tab, unread=1)
        await in_thread(lambda: arrive(make_user()))
        await in_thread(lambda: arrive(ada))
        await receive_until(client, unread=2)
        for one in (client, tab):
            await one.close()

    asyncio.run(scenario())


def test_what_is_no_request_for_a_socket_of_ours_is_refused(web: Web, ada: User) -> None:
    cookie = signed_in(ada)
    plain = web.ask("GET", "/live/", cookie=cookie)
    assert (plain.status, plain.headers["Upgrade"], plain.headers["Sec-WebSocket-Version"]) == (426, "websocket", "13")
    assert web.ask("POST", "/live/", cookie=cookie).status == 405
    assert status_of_refusal(web, cookie, Sec_WebSocket_Version="8").status == 426
    assert status_of_refusal(web, cookie, Sec_WebSocket_Key="short").status == 426
    assert status_of_refusal(web, cookie, Origin="https://evil.example").status == 403
    assert status_of_refusal(web, cookie, Origin="").status == 403
    assert status_of_refusal(web, "").status == 401
    assert status_of_refusal(web, "sessionid=" + "x" * 32).status == 401
    assert "X-Request-ID".lower() in status_of_refusal(web, "").head.lower()


def test_garbage_and_a_message_of_a_megabyte_end_their_socket_alone(web: Web, ada: User) -> None:
    cookie = signed_in(ada)

    async def scenario() -> None:
        witness = await Client.connect(web.port, cookie)
        for sent, code in [
            (b"\xff" * 1_000, 1002),
            (frame(TEXT, b"x" * 1_000_000), 1003),
            (frame(TEXT, b"hello"), 1003),
        ]:
            client = await Client.connect(web.port, cookie)
            client.writer.write(sent)
            assert await code_of_end(client) in (code, 1006)  # where the rest was still on its way, it is reset
            await client.close()
        await in_thread(lambda: arrive(ada))
        await receive_until(witness, unread=1)
        await witness.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("acts", [False, True], ids=["alone", "for a team"])
@pytest.mark.parametrize("how", ["signed out", "switched off", "another password"])
def test_it_ends_with_its_session(web: Web, ada: User, how: str, acts: bool) -> None:
    cookie = acting(ada, teams.create(ada, "Household")) if acts else signed_in(ada)

    def end() -> None:
        if how == "signed out":
            assert web.ask("POST", "/account/logout/", {}, cookie=cookie).status == 302
        elif how == "switched off":
            ada.is_active = False
            ada.save()
        else:
            ada.set_password("a new pass phrase, quite long")
            ada.save()

    async def scenario() -> None:
        client = await Client.connect(web.port, cookie)
        await receive_until(client, live=True)
        await in_thread(end)
        assert await code_of_end(client) == 4401
        await client.close()

    asyncio.run(scenario())
    assert status_of_refusal(web, cookie).status == 401


def test_a_member_who_is_removed_hears_of_the_team_no_longer(web: Web, ada: User) -> None:
    team, cookie = teams.create(ada, "Household"), signed_in(ada)
    session = Session.objects.get(user=ada)
    store = SessionStore(session.session_key)
    store[TEAM] = team.pk
    store.save()

    async def scenario() -> None:
        client = await Client.connect(web.port, cookie)
        await receive_until(client, live=True)
        await in_thread(lambda: arrive(team))
        await receive_until(client, unread=1)
        await in_thread(lambda: Membership.objects.get(team=team).delete())
        assert await code_of_end(client) == 4401
        await client.close()

    asyncio.run(scenario())
    assert status_of_refusal(web, cookie).status == 403


def acting(user: User, team: User) -> str:
    """The cookie of a session in which the user acts for the team."""
    cookie = signed_in(user)
    store = SessionStore(cookie.partition("=")[2])
    store[TEAM] = team.pk
    store.save()
    return cookie


def test_all_at_a_board_hear_of_each_message_and_how_many_they_are(web: Web, ada: User) -> None:
    team, bob = teams.create(ada, "Household"), make_user()
    Membership.objects.create(team=team, person=bob, role="member")
    board, elsewhere = make_channel(team, "board"), make_channel(ada, "board")
    path, key, cookies = f"/live/?board={board.id}", str(board.id), [acting(one, team) for one in (ada, bob)]

    async def scenario() -> None:
        first = await Client.connect(web.port, cookies[0], path)
        await receive_until(first, here={key: 1})
        second, tab = [await Client.connect(web.port, cookies[1], path) for _ in range(2)]
        for one in (first, second, tab):
            await receive_until(one, here={key: 2})
        written = await in_thread(lambda: boards.post(board.id, "Milk"))
        assert written is not None
        for one in (first, second, tab):
            await receive_until(one, boards={key: f"{written.id}-0"})
        await tab.close()
        await in_thread(lambda: Membership.objects.get(person=bob).delete())
        assert await code_of_end(second) == 4401
        await receive_until(first, here={key: 1})
        for one in (first, second):
            await one.close()

    asyncio.run(scenario())
    for wrong in (elsewhere.id, uuid4(), "garbage"):
        with pytest.raises(Refused) as refused:
            asyncio.run(Client.connect(web.port, cookies[0], f"/live/?board={wrong}"))
        assert refused.value.status == 404
    with pytest.raises(Refused) as refused:
        asyncio.run(Client.connect(web.port, cookies[0], path, Origin="https://evil.example"))
    assert refused.value.status == 403


def test_a_socket_is_no_sign_of_life_of_its_person(web: Web, ada: User) -> None:
    cookie = signed_in(ada)
    before = timezone.now() - timedelta(hours=1)
    Session.objects.update(seen_at=before)

    async def scenario() -> None:
        await (await Client.connect(web.port, cookie)).close()

    asyncio.run(scenario())
    assert Session.objects.get().seen_at == before


def test_one_person_has_so_many_sockets(web: Web, ada: User) -> None:
    cookie = signed_in(ada)

    async def scenario() -> None:
        clients = [await Client.connect(web.port, cookie) for _ in range(50)]
        with pytest.raises(Refused) as refused:
            await Client.connect(web.port, cookie)
        assert refused.value.status == 429
        for one in clients:
            await one.close()

    asyncio.run(scenario())


def test_nothing_is_missing_and_nothing_comes_twice_after_redis_the_process_or_both_were_away(web: Web) -> None:
    people = [make_user() for _ in range(20)]
    team, members = teams.create(people[0], "Household"), [make_user() for _ in range(10)]
    Membership.objects.bulk_create(Membership(team=team, person=one, role="member") for one in members)
    board = make_channel(team, "board")
    pages = [Page(web.port, signed_in(user)) for user in people]
    pages += [Page(web.port, acting(one, team), board=str(board.id)) for one in members]
    on_board: set[str] = set()
    sent: list[set[str]] = [set() for _ in people] + [on_board] * len(members)

    def arrive_for_all() -> None:
        for user, own in zip(people, sent, strict=False):
            own.add(arrive(user))
        for _ in range(3):
            written = boards.post(board.id, "Milk")
            assert written is not None
            on_board.add(str(written.id))

    async def until_all_are_live() -> None:
        while not all(page.is_live for page in pages):
            await asyncio.sleep(0.05)

    async def until_all_is_shown() -> None:
        while not all(own <= set(page.shown) for page, own in zip(pages, sent, strict=True)):
            await asyncio.sleep(0.05)

    async def scenario() -> None:
        following = [asyncio.create_task(page.follow()) for page in pages]
        async with asyncio.timeout(3 * PATIENCE):
            await until_all_are_live()
            for takes_redis, takes_web in [(False, False), (True, False), (False, True), (True, True)]:
                if takes_redis:
                    web.redis.cut()
                if takes_web:
                    await asyncio.to_thread(web.kill)
                await in_thread(arrive_for_all)
                await asyncio.sleep(OUTAGE)
                if takes_web:
                    await asyncio.to_thread(web.restart)
                if takes_redis:
                    await until_all_is_shown()  # they poll
                    web.redis.mend()
                await in_thread(arrive_for_all)
                await until_all_is_shown()
                await until_all_are_live()
        for task in following:
            task.cancel()
        for task in following:
            with suppress(asyncio.CancelledError):
                await task

    asyncio.run(scenario())
    assert [page.shown for page in pages] == [Counter(own) for own in sent]
