"""The feed of changes over the API."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pydantic import TypeAdapter

from api.resources import changes
from api.resources.changes import Changes
from notifications.models.change import KEPT_DAYS
from people.models import User
from tests.db.api.conftest import Api, at_most
from tests.make import make_channel, make_schedule, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ada() -> User:
    return make_user(email="ada@example.org")


def follow(api: Api, count: int, path: str = "/changes?limit=2") -> list[dict[str, Any]]:
    """Page by page, until there are so many: a transaction of another test may hold them back."""
    found, after, deadline = list[dict[str, Any]](), "", time.monotonic() + 60
    while len(found) < count and time.monotonic() < deadline:
        answer = api.get(f"{path}{after}")
        assert answer.status_code == 200, answer.content
        page = answer.json()
        TypeAdapter(Changes).validate_python(page, strict=False)
        found, after = found + page["items"], f"&cursor={page['next']}"
    return found


def test_a_program_follows_what_changes_page_by_page(api: Api, ada: User) -> None:
    schedule = make_schedule(ada, [make_channel(ada)], now=timezone.now())
    for act in ("pause", "resume", "skip", "run"):
        body = {"slot_at": api.get(f"/schedules/{schedule.id}").json()["next_run_at"]} if act == "skip" else None
        assert api.post(f"/schedules/{schedule.id}/{act}", body).status_code < 300
    found = follow(api, 6)
    assert [one["type"] for one in found] == [
        *("channel.added", "schedule.created", "schedule.paused", "schedule.resumed"),
        *("schedule.skipped", "schedule.fired"),
    ]
    assert found[1]["data"]["schedule_id"] == str(schedule.id)
    assert len({one["id"] for one in found}) == 6
    chosen = follow(api, 2, "/changes?types=schedule.paused,channel.*")
    assert [one["type"] for one in chosen] == ["channel.added", "schedule.paused"]


def test_the_cursor_goes_on_where_nothing_is_new(api: Api, ada: User) -> None:
    make_channel(ada, "email")
    follow(api, 1)
    empty = api.get("/changes?types=delivery.*").json()
    assert (empty["items"], empty["more"]) == ([], False)
    again = api.get(f"/changes?cursor={empty['next']}").json()
    assert again["items"] == []
    make_channel(ada, "webhook")
    assert [one["data"]["provider"] for one in follow(api, 1, f"/changes?cursor={again['next']}")] == ["webhook"]


def test_nobody_gets_anothers_changes(api: Api, ada: User) -> None:
    make_channel(ada, "email")
    follow(api, 1)
    assert Api(make_user()).get("/changes").json()["items"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("types=delivery.sent", "query.types"),
        ("types=", "query.types"),
        ("types=%00", "query.types"),
        ("limit=0", "query.limit"),
        ("limit=1001", "query.limit"),
        ("after=forged", "query.after"),
    ],
)
def test_a_wrong_parameter_is_named(api: Api, query: str, field: str) -> None:
    answer = api.get(f"/changes?{query}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


def test_a_cursor_of_another_list_is_refused(api: Api, ada: User) -> None:
    inbox = make_channel(ada)
    for _ in range(2):
        make_schedule(ada, [inbox])
    other = api.get("/schedules?limit=1").json()["next"]
    assert api.get(f"/changes?cursor={other}").status_code == 422


def test_a_cursor_whose_changes_may_be_pruned_is_gone(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    cursor = api.get("/changes").json()["next"]
    assert timedelta(days=KEPT_DAYS) > changes._VALID
    monkeypatch.setattr(changes, "_VALID", -changes._VALID)
    answer = api.get(f"/changes?cursor={cursor}")
    assert (answer.status_code, answer.json()["code"]) == (410, "cursor-expired")


def test_a_page_costs_at_most_four_statements(api: Api, ada: User) -> None:
    api.get("/changes")
    for _ in range(20):
        make_channel(ada, "email")
    with at_most(4):
        api.get("/changes")
