"""Schedules over the API: what a program makes, reads and changes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pydantic import TypeAdapter

from api.schedules.document import ScheduleDocument
from notifications.models import Channel
from people.models import User
from schedules.firing import fire
from schedules.firing.fire import Clock
from schedules.models import Schedule
from tests.db.api.conftest import Api
from tests.make import make_channel, make_schedule

pytestmark = pytest.mark.django_db


@pytest.fixture
def inbox(ada: User) -> Channel:
    return make_channel(ada)


def body_of(*channels: Channel, **overrides: Any) -> dict[str, Any]:
    return {
        "title": "Water the plants",
        "timing": {"dailyTime": {"hour": 14, "minute": 0}},
        "time_zone": "America/New_York",
        "channels": [str(channel.id) for channel in channels],
    } | overrides


def statements(captured: CaptureQueriesContext) -> list[str]:
    """Without those that only begin and end transactions."""
    bounds = ("SAVEPOINT", "RELEASE SAVEPOINT", "BEGIN", "COMMIT")
    return [one["sql"] for one in captured.captured_queries if not one["sql"].startswith(bounds)]


def at(instant: datetime) -> Any:
    """The database's clock shows `instant`."""
    return patch.object(fire, "read_clock", lambda: Clock(instant, None))


def test_the_example_from_new_york_holds_across_the_change_of_the_clock(api: Api, inbox: Channel) -> None:
    with at(datetime(2026, 3, 7, 15, tzinfo=UTC)):
        made = api.post("/schedules", body_of(inbox)).json()
        upcoming = api.get(f"/schedules/{made['id']}/upcoming?count=2").json()["items"]
    assert made["next_run"] == "2026-03-07T19:00:00Z"
    assert [one["slot"] for one in upcoming] == ["2026-03-07T19:00:00Z", "2026-03-08T18:00:00Z"]


def test_a_created_schedule_says_all_that_is_promised(api: Api, ada: User, inbox: Channel) -> None:
    answer = api.post("/schedules", body_of(inbox, category="plants", data={"room": "kitchen"}))
    assert answer.status_code == 201
    made = answer.json()
    TypeAdapter(ScheduleDocument).validate_json(answer.content)
    assert answer["Location"] == f"/api/v1/schedules/{made['id']}"
    assert answer["ETag"] == '"1"'
    schedule = Schedule.objects.get(id=made["id"], user=ada)
    assert made["next_run"] == schedule.next_fire_at.isoformat().replace("+00:00", "Z")  # type: ignore[union-attr]
    assert (made["type"], made["schedule_type"], made["cron_expression"]) == ("reminder", "daily", None)
    assert (made["time_zone"], made["active"], made["last_run"]) == ("America/New_York", True, None)
    assert made["created"] == made["updated"] == schedule.created_at.isoformat().replace("+00:00", "Z")
    assert (made["category"], made["data"]) == ("plants", {"room": "kitchen"})
    assert api.get(answer["Location"].removeprefix("/api/v1")).json() == made


def test_a_list_costs_four_statements_and_a_new_schedule_six(api: Api, ada: User, inbox: Channel) -> None:
    others = [make_channel(ada, kind) for kind in ("email", "webhook", "webhook")]
    for _ in range(5):
        make_schedule(ada, others)
    api.get("/me")  # the token's last use is written once a minute
    with CaptureQueriesContext(connection) as listed:
        assert len(api.get("/schedules?search=plants&state=active&limit=3").json()["items"]) == 3
    assert len(statements(listed)) <= 4, statements(listed)
    for timing in ({"cron": {"expression": "1 2 3 * *"}}, {"intervalMinutes": 7}, {"onceAt": "2999-01-01T00:00:00Z"}):
        with CaptureQueriesContext(connection) as created:
            assert api.post("/schedules", body_of(inbox, *others, timing=timing)).status_code == 201
        assert len(statements(created)) <= 6, statements(created)
    with CaptureQueriesContext(connection) as created:
        assert api.post("/schedules", body_of(inbox), Idempotency_Key="once").status_code == 201
    assert len(statements(created)) <= 8, statements(created)  # the key, and its answer
