"""After an outage the operator sees one screen, and decides for what waits."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.test import Client

from notifications.models import Delivery
from schedules.firing import fire
from schedules.models import Heartbeat, Occurrence, Schedule
from tests.make import make_schedule, make_user, signed_in

HOUR = timedelta(hours=1)


@pytest.fixture
def now() -> datetime:
    return fire.read_clock().now


def missed(now: datetime, slots: int = 3) -> Schedule:
    """An hourly reminder whose last slots nobody has fired."""
    rule = {"every": 1, "unit": "hours", "anchor": (now - (slots - 1) * HOUR).isoformat()}
    return make_schedule(make_user(), now=now - slots * HOUR, kind="interval", rule=rule)


def outcomes() -> list[str]:
    return list(Occurrence.objects.order_by("scheduled_for").values_list("outcome", flat=True))


def test_it_says_what_waits_and_since_when(operator: Client, now: datetime) -> None:
    missed(now - timedelta(minutes=10))
    page = operator.get("/admin/outages/").content.decode()
    assert "<strong>1 schedule</strong> waits with missed slots" in page
    assert "Beat has never run." in page


def test_it_tells_what_each_policy_did_with_a_past_outage(operator: Client, now: datetime) -> None:
    Heartbeat.objects.create(process="a", started_at=now - 9 * HOUR, last_seen_at=now - 4 * HOUR)
    Heartbeat.objects.create(process="b", started_at=now - timedelta(minutes=1), last_seen_at=now)
    missed(now - timedelta(minutes=10))
    fire.fire_due(now)
    page = operator.get("/admin/outages/").content.decode()
    assert "Send the newest missed one: 1 sent late, 2 skipped." in page
    assert "3 h 59 min</p>" in page
    assert "Nothing is waiting" in page


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("latest", ["skipped", "skipped", "fired"]),
        ("all", ["fired", "fired", "fired"]),
        ("skip", ["skipped", "skipped", "skipped"]),
    ],
)
def test_what_waits_is_settled_only_after_a_question(
    operator: Client, now: datetime, policy: str, expected: list[str]
) -> None:
    missed(now - timedelta(minutes=10))
    asked = operator.get(f"/admin/outages/?policy={policy}").content.decode()
    assert "cannot be undone." in asked
    assert outcomes() == []
    answer = operator.post("/admin/outages/", {"policy": policy}, follow=True)
    assert "1 schedule was settled" in answer.content.decode()
    assert outcomes() == expected
    assert Delivery.objects.count() == expected.count("fired")


def test_a_policy_that_does_not_exist_settles_nothing(operator: Client, now: datetime) -> None:
    missed(now - timedelta(minutes=10))
    operator.post("/admin/outages/", {"policy": "everything"})
    assert outcomes() == []


def test_deciding_for_nothing_says_so(operator: Client) -> None:
    assert (
        "Nothing is waiting any more."
        in operator.post("/admin/outages/", {"policy": "all"}, follow=True).content.decode()
    )


@pytest.mark.parametrize("person", [{}, {"is_staff": True}])
def test_only_operators_who_may_change_schedules_see_it(now: datetime, person: dict[str, bool]) -> None:
    missed(now - timedelta(minutes=10))
    stranger = signed_in(**person)
    assert stranger.get("/admin/outages/").status_code in {302, 403}
    assert stranger.post("/admin/outages/", {"policy": "all"}).status_code in {302, 403}
    assert outcomes() == []
