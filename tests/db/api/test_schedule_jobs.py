"""Schedules that check first, over the API: the same question, the same validation, and what became of each check."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from jobs.models import Connection, Job, Memory
from notifications.models import Channel, Notification
from people.models import User
from schedules.firing import fire
from schedules.models import Schedule
from tests import make
from tests.db.api.conftest import Api
from tests.make import NINE, make_channel, make_job_schedule, make_user

pytestmark = pytest.mark.usefixtures("sample_kinds")


@pytest.fixture
def inbox(ada: User) -> Channel:
    return make_channel(ada)


def body_of(*channels: Channel, **job: Any) -> dict[str, Any]:
    return {
        "title": "It is {value}",
        "timing": {"daily": {"time": "09:00"}},
        "time_zone": "UTC",
        "channel_ids": [str(channel.id) for channel in channels],
        "job": {"kind": "sample", "payload": {"value": "seven"}} | job,
    }


def fields_of(answer: Any) -> set[str]:
    assert answer.status_code == 422, answer.content
    return {error["field"] for error in answer.json()["errors"]}


def test_a_job_is_stored_and_shown(api: Api, inbox: Channel) -> None:
    made = api.post("/schedules", body_of(inbox, on_error="after", errors_allowed=5)).json()
    assert made["job"] == {
        "kind": "sample",
        "payload": {"value": "seven", "changes": False},
        "connection_id": None,
        "on_error": "after",
        "errors_allowed": 5,
    }
    assert api.get(f"/schedules/{made['id']}").json()["job"] == made["job"]
    assert Schedule.objects.get().job_payload == {"value": "seven", "changes": False}


def test_what_was_read_can_be_written_back(api: Api, inbox: Channel) -> None:
    made = api.post("/schedules", body_of(inbox)).json()
    body = body_of(inbox) | {"job": made["job"]}
    assert api("PUT", f"/schedules/{made['id']}", body).json()["job"] == made["job"]


def test_a_change_keeps_the_job_unless_it_names_it(api: Api, inbox: Channel) -> None:
    made = api.post("/schedules", body_of(inbox)).json()
    path = f"/schedules/{made['id']}"
    assert api("PATCH", path, {"title": "Now {value}"}).json()["job"] == made["job"]
    changed = api("PATCH", path, {"job": {"kind": "sample", "payload": {"value": "eight", "changes": True}}}).json()
    assert changed["job"]["payload"] == {"value": "eight", "changes": True}
    assert fields_of(api("PATCH", path, {"job": None})) == {"title"}
    assert api("PATCH", path, {"job": None, "title": "Rent"}).json()["job"] is None


def test_a_stored_kind_that_is_gone_is_shown_and_kept(api: Api, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, "gone", {"employeeId": 7}, channels=[inbox], title="T")
    assert api.get(f"/schedules/{schedule.id}").json()["job"]["payload"] == {"employeeId": 7}
    assert api("PATCH", f"/schedules/{schedule.id}", {"title": "Rent"}).json()["job"]["kind"] == "gone"


@pytest.mark.parametrize(
    ("job", "field"),
    [
        ({"kind": "gone"}, "job.kind"),
        ({"kind": ""}, "job.kind"),
        ({"kind": "x" * 500}, "job.kind"),
        ({"payload": {}}, "job.payload.value"),
        ({"payload": {"value": None}}, "job.payload.value"),
        ({"payload": {"value": "x" * 21}}, "job.payload.value"),
        ({"payload": {"value": {"deep": 1}}}, "job.payload.value"),
        ({"payload": {"value": True}}, "job.payload.value"),
        ({"payload": {"value": "seven", "changes": "yes"}}, "job.payload.changes"),
        ({"payload": {"value": "seven", "nothing": 1}}, "job.payload.nothing"),
        ({"kind": "report", "payload": {"without": "coming"}}, "job.payload.without"),
        ({"kind": "report", "payload": {"without": [7]}}, "job.payload.without"),
        ({"connection_id": "x"}, "job.connection_id"),
        ({"connection_id": "01890a5d-ac96-774b-bcce-b302099a8057"}, "job.connection_id"),
        ({"kind": "linked"}, "job.connection_id"),
        ({"on_error": "never"}, "job.on_error"),
        ({"errors_allowed": 0}, "job.errors_allowed"),
    ],
)
def test_errors_name_the_field_of_the_body(api: Api, inbox: Channel, job: dict[str, Any], field: str) -> None:
    answer = api.post("/schedules", body_of(inbox, **job))
    assert field in fields_of(answer)
    assert fields_of(answer) <= {field, "title"}  # an unknown kind has no placeholder
    assert not Schedule.objects.exists()


def test_only_ones_own_connection_is_taken(api: Api, ada: User, inbox: Channel) -> None:
    hers, mine = [Connection.objects.create(user=user, kind="sample", label="C") for user in (make_user(), ada)]
    job = {"kind": "linked", "connection_id": str(hers.id)}
    assert fields_of(api.post("/schedules", body_of(inbox, **job))) == {"job.connection_id"}
    made = api.post("/schedules", body_of(inbox, **job | {"connection_id": str(mine.id)})).json()
    assert made["job"]["connection_id"] == str(mine.id)


def test_explain_says_what_was_checked(api: Api, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, payload={"value": "nothing"}, channels=[inbox])
    fire.fire_due(NINE)
    path = f"/schedules/{schedule.id}/explain"
    [waits] = api.get(path).json()["items"]
    assert (waits["check"]["outcome"], waits["check"]["due_at"] is None, waits["notification_id"]) == (
        "waiting",
        False,
        None,
    )
    make.check(Job.objects.get())
    [silent] = api.get(path).json()["items"]
    assert (silent["outcome"], silent["check"]["outcome"], silent["check"]["reason"]["code"]) == (
        "fired",
        "silent",
        "sample-checked",
    )
    [recorded] = api.get(f"/schedules/{schedule.id}/occurrences").json()["items"]
    assert recorded["check"] == silent["check"]


def test_a_page_of_occurrences_reads_all_checks_by_one_statement(api: Api, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, payload={"value": "nothing"}, channels=[inbox])
    path, counts = f"/schedules/{schedule.id}/occurrences", []
    assert api.get(path).json()["items"] == []  # notes the use of the token
    for day in range(3):
        fire.fire_due(NINE + timedelta(days=day))
        with CaptureQueriesContext(connection) as asked:
            items = api.get(path).json()["items"]
        assert [one["check"]["outcome"] for one in items] == ["waiting"] * (day + 1)
        counts.append(len(asked))
    assert len(set(counts)) == 1


def test_every_kind_is_listed_with_the_fields_of_its_payload(api: Api) -> None:
    found = {one["name"]: one for one in api.get("/job-kinds").json()["items"]}
    assert {"sample", "linked", "silent"} <= found.keys()
    types = {one["name"]: (one["type"], one["required"]) for one in found["sample"]["fields"]}
    assert types == {"value": ("text", True), "changes": ("boolean", False)}
    assert (found["linked"]["connection"], found["linked"]["needs_connection"]) == ("sample", True)


def test_a_state_and_code_of_an_earlier_release_are_read_as_checks(api: Api, ada: User, inbox: Channel) -> None:
    make_job_schedule(ada, payload={"value": "seven"}, channels=[inbox])
    fire.fire_due(NINE)
    lease = {"lease_token": uuid4(), "lease_until": Now() + timedelta(minutes=1)}
    Job.objects.update(state="looking", reason_code="looks-of-person", reason_params={"amount": 2}, **lease)
    [shown] = api.get(f"/trace/{Job.objects.get().batch_id}").json()["items"]
    assert (shown["state"], shown["reason"]["code"]) == ("checking", "checks-of-person")
    assert shown["reason"]["text"] == "2 other checks of yours are under way; this one follows."


def check(api: Api, path: str, body: Any = None) -> Any:
    """What is found, once a worker has checked."""
    begun = api.post(path, body)
    assert (begun.status_code, begun.json()["outcome"], begun["Retry-After"]) == (202, "checking", "1")
    make.check(Job.objects.get(id=begun.json()["id"]))
    done = api.get(begun["Location"].removeprefix("/api/v1"))
    assert done.status_code == 200
    return done.json()


def test_a_check_says_what_it_would_say_and_sends_nothing(api: Api, ada: User) -> None:
    checked = check(api, "/schedules/check", {"job": {"kind": "sample", "payload": {"value": "seven"}}})
    assert (checked["outcome"], checked["reason"]["code"], checked["title"]) == (
        "spoke",
        "sample-checked",
        "It is seven",
    )
    Job.objects.update(user=make_user())
    assert api.get(f"/checks/{checked['id']}").status_code == 404
    for model in (Schedule, Notification, Memory):
        assert not model.objects.exists()
    refused = api.post("/schedules/check", {"job": {"kind": "sample"}, "title": "{nothing}"})
    assert fields_of(refused) == {"job.payload.value", "title"}


def test_a_check_as_a_schedule_knows_what_it_has_found(api: Api, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, payload={"value": "seven", "changes": True}, channels=[inbox])
    path = f"/schedules/{schedule.id}/check"
    assert check(api, path)["outcome"] == "spoke"
    Memory.objects.create(origin_id=schedule.id, user=ada, state="seven")
    assert check(api, path)["outcome"] == "silent"
    Schedule.objects.update(job_kind="")
    assert api.post(path).status_code == 409


def test_checks_are_limited(api: Api, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, payload={"value": "later"}, channels=[inbox])
    answers = [api.post(f"/schedules/{schedule.id}/check") for _ in range(11)]
    assert [answer.status_code for answer in answers] == [202] * 10 + [429]
    assert answers[-1]["Retry-After"] == "60"
