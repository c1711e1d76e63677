"""GitHub's API, on a local server that answers as GitHub documents it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from pytest_django import Settings

from demo.receivers import HTTPReceiver
from demo.receivers.github import GitHub, token
from jobs import connections
from jobs.connections.github import GitHubCode
from jobs.kinds.base import Ask, Found, Source
from jobs.kinds.github_streak import GitHubStreak, streak
from jobs.reading.fetch import Fetch, Later, Refused, outcome
from jobs.reasons import JobCode
from notifications.messages.message import Destination
from notifications.reasons import DeliveryCode
from tests.network import SLACK, served

KIND = GitHubStreak()
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
TODAY = NOON.date()


@pytest.fixture
def github(settings: Settings) -> Iterator[tuple[GitHub, HTTPReceiver]]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    hub = GitHub({})
    with served(hub.answer) as receiver:
        yield hub, receiver


def row(length: int, end: date = TODAY) -> dict[date, int]:
    return {end - timedelta(days=back): 1 for back in range(length)}


def check(owner: str, deadline: float = 5.0, **payload: Any) -> Any:
    source = Source(id=uuid4(), label="GitHub", address={}, secrets={"token": token(owner)})
    ask = Ask(user_id=1, origin_id=None, zone=ZoneInfo("UTC"), slot=NOON, now=NOON, payload=payload, source=source)
    return outcome(partial(KIND.check, ask, Fetch(deadline)))


def days_of(found: Any) -> dict[date, int]:
    assert isinstance(found, Found), found
    return {date.fromisoformat(day): count for day, count in found.value["days"].items()}


@pytest.mark.parametrize(("length", "requests"), [(0, 1), (41, 1), (362, 1), (365, 2), (800, 3), (5000, 10)])
def test_a_long_streak_is_followed_year_by_year(
    github: tuple[GitHub, HTTPReceiver], length: int, requests: int
) -> None:
    hub, receiver = github
    hub.accounts = {"ada": row(length)}
    assert streak(days_of(check("ada")), TODAY) == min(length, 3641)
    assert len(receiver.requests) == requests


def test_another_account_is_checked_with_the_token_of_the_connection(github: tuple[GitHub, HTTPReceiver]) -> None:
    hub, _ = github
    hub.accounts = {"ada": {}, "grace": {TODAY: 3}}
    found = check("ada", login="grace")
    assert (found.value["login"], days_of(found)) == ("grace", {TODAY: 3})
    assert check("ada", login="nobody") == Refused(check("ada", login="nobody").reason)
    assert check("ada", login="nobody").reason.code == GitHubCode.NO_ACCOUNT


LATER = {
    "limited": (GitHubCode.LIMITED, 1800),
    "spent": (GitHubCode.LIMITED, 1800),
    "secondary": (GitHubCode.LIMITED, 77),
    "abuse": (GitHubCode.LIMITED, 60),
    "quiet": (GitHubCode.LIMITED, 60),
    "many": (GitHubCode.LIMITED, 60),
    "slow": (DeliveryCode.HTTP, None),
    "gateway": (DeliveryCode.HTTP, None),
    "broken": (DeliveryCode.HTTP, None),
    "partial": (GitHubCode.INCOMPLETE, None),
    "half": (GitHubCode.INCOMPLETE, None),
    "null": (GitHubCode.INCOMPLETE, None),
    "page": (GitHubCode.INCOMPLETE, None),
}
REFUSED = {
    "revoked": (GitHubCode.TOKEN, True),
    "unknown": (GitHubCode.TOKEN, True),
    "suspended": (GitHubCode.FORBIDDEN, False),
    "scope": (GitHubCode.FORBIDDEN, False),
}


@pytest.mark.parametrize("owner", LATER)
def test_what_may_pass_is_asked_again_when_github_says(github: tuple[GitHub, HTTPReceiver], owner: str) -> None:
    github[0].accounts = {owner: row(41)}
    found = check(owner)
    code, wait = LATER[owner]
    assert isinstance(found, Later)
    assert found.reason.code == code
    assert found.retry_after is None if wait is None else wait - 5 <= (found.retry_after or 0) <= wait


@pytest.mark.parametrize("owner", REFUSED)
def test_what_will_not_pass_is_not_asked_again(github: tuple[GitHub, HTTPReceiver], owner: str) -> None:
    github[0].accounts = {} if owner == "unknown" else {owner: {}}
    found = check(owner)
    assert isinstance(found, Refused)
    assert (found.reason.code, found.disconnect) == REFUSED[owner]
    assert token(owner) not in str(found.reason)


@pytest.mark.parametrize("owner", ["hang", "reset"])
def test_a_github_that_does_not_answer_is_asked_again_within_the_deadline(
    github: tuple[GitHub, HTTPReceiver], owner: str
) -> None:
    github[0].accounts = {owner: {}}
    start = time.monotonic()
    assert isinstance(check(owner, deadline=0.4), Later)
    assert time.monotonic() - start < 0.4 + SLACK


def test_the_last_point_of_a_limit_is_an_answer_and_the_next_is_not(github: tuple[GitHub, HTTPReceiver]) -> None:
    github[0].accounts, github[0].points = {"ada": row(3)}, 1
    assert isinstance(check("ada"), Found)
    assert check("ada").reason.code == GitHubCode.LIMITED


def test_a_payload_that_no_form_made_is_refused(github: tuple[GitHub, HTTPReceiver]) -> None:
    for login in (7, "a b", ["ada"]):
        assert check("ada", login=login).reason.code == JobCode.UNREADABLE_PAYLOAD
    assert not github[1].requests


def test_a_token_is_checked_by_asking_whose_it_is(github: tuple[GitHub, HTTPReceiver]) -> None:
    github[0].accounts = {"ada": {}, "revoked": {}}
    kind = connections.find("github")
    assert kind is not None
    assert kind.check(Destination({}, {"token": token("ada")}), Fetch(5)) == {"login": "ada"}
    assert kind.check(Destination({}, {"token": token("revoked")}), Fetch(5)) == Refused(
        kind.check(Destination({}, {"token": token("revoked")}), Fetch(5)).reason, disconnect=True
    )
    assert github[1].requests[0].headers["Authorization"] == f"Bearer {token('ada')}"
