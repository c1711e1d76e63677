"""Schedules over the API: what a program makes, reads and changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from pydantic import TypeAdapter
from pytest_django import DjangoAssertNumQueries

from api.schedules.document import ScheduleDocument
from notifications.models import Channel, Notification
from people.models import User
from schedules import editing
from schedules.firing import fire
from schedules.firing.fire import Clock
from schedules.models import Schedule, ScheduleEvent
from tests.db.api.conftest import Api
from tests.make import make_channel, make_schedule, make_user

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
