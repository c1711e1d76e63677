"""Holidays, tags, the archive and bulk changes over the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from people.models import User
from schedules.models import Holiday, Schedule
from tests.db.api.conftest import Api, wrong_fields
from tests.make import make_schedule, make_user

DAYS = {"first": "2998-08-03", "last": "2998-08-17"}


@pytest.fixture
def api(ada: User) -> Api:
    return Api(ada)


def test_a_holiday_is_planned_listed_and_deleted(api: Api, ada: User) -> None:
    make_schedule(ada, tags=["home"])
    made = api.post("/holidays", DAYS | {"tags": ["home"], "note": "Italy"})
    assert made.status_code == 201
    document = made.json()
    assert (document["first"], document["tags"], document["urgent_rings"]) == (DAYS["first"], ["home"], True)
    Holiday.objects.create(user=make_user(), **DAYS)
    assert api.get("/holidays").json()["items"] == [document]
    assert api("DELETE", f"/holidays/{document['id']}").status_code == 204
    assert api("DELETE", f"/holidays/{document['id']}").status_code == 404


def test_a_holiday_is_read_replaced_and_sent_back_as_it_is(api: Api, ada: User) -> None:
    made = api.post("/holidays", DAYS | {"note": "Italy"})
    path = made["Location"].removeprefix("/api/v1")
    document = api.get(path).json()
    assert document == made.json() == api("PUT", path, document).json()
    replaced = api("PUT", path, {"first": "2998-08-04", "last": "2998-08-05"}).json()
    assert (replaced["first"], replaced["note"], replaced["id"]) == ("2998-08-04", "", document["id"])
    assert wrong_fields(api("PUT", path, DAYS | {"ended_at": "2998-08-04T00:00:00Z"})) == ["ended_at"]
    assert wrong_fields(api("PUT", path, {"first": "2998-08-04", "last": "2998-08-03"})) == ["last"]
    stranger = Api(make_user())
    assert [stranger.get(path).status_code, stranger("PUT", path, DAYS).status_code] == [404, 404]
    assert Holiday.objects.get().note == ""


def test_a_holiday_is_ended_early_once(api: Api, ada: User) -> None:
    today = timezone.localdate(timezone=ada.zone)
    days = {"first": str(today), "last": str(today + timedelta(days=3))}
    path = f"/holidays/{api.post('/holidays', days).json()['id']}"
    ended = api.post(f"{path}/end").json()
    assert ended["ended_at"] is not None
    assert api.post(f"{path}/end").status_code == 409
    assert api("PUT", path, ended).json()["ended_at"] is None
    assert Api(make_user()).post(f"{path}/end").status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"last": "2998-08-01"}, "last"),
        ({"first": "soon"}, "first"),
        ({"tags": ["nothing has it"]}, "tags"),
        ({"tags": ["a,b"]}, "tags"),
    ],
)
def test_bad_input_names_its_field(api: Api, body: dict[str, Any], field: str) -> None:
    answer = api.post("/holidays", DAYS | body)
    assert wrong_fields(answer) == [field]


def test_tags_are_written_read_and_filter_the_list(api: Api, ada: User) -> None:
    schedule = make_schedule(ada)
    make_schedule(ada, [], title="Other")
    changed = api("PATCH", f"/schedules/{schedule.id}", {"tags": ["Home", " home ", "garden"]})
    assert changed.json()["tags"] == ["Home", "garden"]
    assert [one["id"] for one in api.get("/schedules?tag=HOME").json()["items"]] == [str(schedule.id)]
    refused = api("PATCH", f"/schedules/{schedule.id}", {"tags": ["x" * 31]})
    assert [error["field"] for error in refused.json()["errors"]] == ["tags"]


def test_what_is_archived_is_listed_only_as_such(api: Api, ada: User) -> None:
    schedule = make_schedule(ada)
    archived = api.post(f"/schedules/{schedule.id}/archive").json()
    assert (archived["state"], archived["next_run_at"]) == ("archived", None)
    assert api.post(f"/schedules/{schedule.id}/archive").status_code == 409
    assert api.get("/schedules").json()["items"] == []
    assert len(api.get("/schedules?state=archived").json()["items"]) == 1
    assert api.post(f"/schedules/{schedule.id}/unarchive").json()["state"] == "active"


def test_many_are_changed_at_once_and_only_ones_own(api: Api, ada: User) -> None:
    one, two, hers = (
        make_schedule(ada),
        make_schedule(ada, [], state="paused", next_fire_at=None),
        make_schedule(make_user()),
    )
    ids = [str(schedule.id) for schedule in (one, two, hers)] + [str(uuid4())]
    answer = api.post("/schedules/bulk", {"ids": ids, "action": "pause"})
    assert answer.json() == {"changed_ids": [str(one.id)], "left_out": {"paused": 1}, "unknown_ids": ids[2:]}
    assert Schedule.objects.get(id=hers.id).state == "active"
    assert api.post("/schedules/bulk", {"ids": ids, "action": "tag"}).json()["errors"][0]["field"] == "tag"
    api.post("/schedules/bulk", {"ids": ids, "action": "tag", "tag": "home"})
    assert Schedule.objects.filter(tags=["home"]).count() == 2
