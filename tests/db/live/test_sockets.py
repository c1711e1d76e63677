"""Who may open a socket, and who is counted at a board."""

from __future__ import annotations

import random

import pytest
from django.conf import settings
from django.test import Client

from common.redis import client as redis_client
from common.uuid7 import uuid7
from live import hub
from live.hub import HUB, Presence, Seat, count_viewers
from people import teams
from people.models import User
from tests.make import make_channel, make_user, signed_in

pytestmark = pytest.mark.django_db

UPGRADE = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}


def status(client: Client, query: str = "", origin: str = "http://testserver") -> int:
    return client.get(f"/live/{query}", headers=UPGRADE | {"Origin": origin}).status_code


def test_only_who_is_signed_in_opens_one_from_a_page_of_this_site(browser: Client, client: Client) -> None:
    assert (status(browser), status(client)) == (101, 401)
    assert status(browser, origin="https://evil.example") == 403
    assert browser.get("/live/", headers=UPGRADE).status_code == 403
    assert browser.get("/live/").status_code == 426


def test_a_board_is_one_of_the_account(ada: User, browser: Client) -> None:
    board, elsewhere = make_channel(ada, "board"), make_channel(make_user(), "board")
    assert status(browser, f"?board={board.id}") == 101
    for wrong in (elsewhere.id, uuid7(), make_channel(ada).id, "garbage"):
        assert status(browser, f"?board={wrong}") == 404


def test_who_acts_for_a_team_is_counted_for_themself(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    team = teams.create(ada, "Household")
    page = signed_in(ada)
    page.post("/teams/act/", {"team": team.pk})
    for full, code in ((team.pk, 101), (ada.pk, 429)):
        monkeypatch.setattr(HUB, "is_full", lambda person, full=full: person == full)
        assert status(page) == code


def test_people_are_counted_at_a_board_until_they_leave_or_are_not_renewed() -> None:
    account, board = random.randrange(10**9), uuid7()
    ada, bob = (Seat(account, board, person) for person in (1, 2))
    assert count_viewers([ada], []) == Presence({board: 1}, {account})
    assert count_viewers([ada], []) == Presence({board: 1}, set())
    assert count_viewers([bob], []) == Presence({board: 2}, {account})
    assert count_viewers([], [ada]) == Presence({}, {account})
    assert count_viewers([bob], []) == Presence({board: 1}, set())
    server = redis_client.client(settings.REDIS_URL)
    server.zadd(hub._board_key(board), {"3": 1.0})  # of a process that was killed
    assert count_viewers([bob], []) == Presence({board: 1}, {account})
    assert 0 < server.ttl(hub._board_key(board)) <= 120
