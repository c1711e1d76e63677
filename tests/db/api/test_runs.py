"""Runs of flows and incidents over the API: listed, read, and what their person may do with them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from events.flows.incident import ACKNOWLEDGED, RAISED, RESOLVED
from events.models import Event, FlowSettings, Run, Step
from events.pure import types
from events.reasons import EventCode
from notifications.models import Notification
from people.models import User
from tests.db.api.conftest import Api, at_most, wrong_fields
from tests.make import NOON, happen, make_channel, make_failed_step, make_user
from work.models import Intervention

pytestmark = pytest.mark.django_db


@pytest.fixture
def incident(ada: User) -> Run:
    FlowSettings.objects.create(user=ada, flow="incident", settings={"channels": [str(make_channel(ada).id)]})
    happen(ada, type=RAISED, data={"key": "disk", "title": "Disk full"}, correlation_id="the-disk")
    return Run.objects.get()


def make_run(user: User, **fields: Any) -> Run:
    return Run.objects.create(**{"user": user, "flow": "brand", "key": "llc", "correlation_id": uuid4()} | fields)


def ids(answer: Any) -> list[str]:
    return [one["id"] for one in answer.json()["items"]]


def test_they_are_listed_by_flow_key_state_and_phase(api: Api, ada: User, incident: Run) -> None:
    run = make_run(ada)
    ended = make_run(ada, status="finished", ended_at=NOON)
    stopped = make_run(ada, key="other", status="stopped")
    for query, found in (
        ("", [stopped, ended, run, incident]),
        ("?flow=incident", [incident]),
        ("?flow=brand&key=llc", [ended, run]),
        ("?state=stopped", [stopped]),
        ("?flow=incident&phase=open", [incident]),
        ("?phase=resolved", []),
    ):
        assert ids(api.get(f"/runs{query}")) == [str(one.id) for one in found], query
    assert wrong_fields(api.get("/runs?state=late")) == ["query.state"]
    first = api.get("/runs?limit=3").json()
    assert ids(api.get(f"/runs?limit=3&cursor={first['next']}")) == [str(incident.id)]


def test_one_is_read_with_its_state_its_steps_and_its_events(api: Api, ada: User, incident: Run) -> None:
    held: Any = {"user": incident.user, "run": incident, "handler": "incident.fetch", "wake_at": None}
    step = Step.objects.create(**held, key="1", correlation_id=incident.correlation_id)
    shown = api.get(f"/runs/{incident.id}").json()
    assert (shown["title"], shown["phase"], shown["state"]) == ("Disk full", "open", "waiting")
    assert (shown["waits_for"], shown["wait_ends_at"] is None) == (ACKNOWLEDGED, False)
    assert (shown["data"]["raised"], shown["event_count"], shown["correlation_id"]) == (1, 1, "the-disk")
    assert [(one["id"], one["outcome"]) for one in shown["events"]] == [(Event.objects.earliest("id").key, "applied")]
    assert shown["notification_ids"] == [str(Notification.objects.get().id)]
    assert [(one["id"], one["name"], one["on_hold"]) for one in shown["steps"]] == [(str(step.id), "fetch", True)]


def test_of_many_steps_those_that_failed_are_shown(api: Api, ada: User) -> None:
    run = make_run(ada)
    failed = make_failed_step(run)
    others = [Step(user=ada, run=run, handler="brand.a", key=str(n), correlation_id=run.id) for n in range(100)]
    Step.objects.bulk_create(others)
    with at_most(8):
        shown = api.get(f"/runs/{run.id}").json()["steps"]
    assert (len(shown), shown[0]["id"]) == (100, str(failed.id))


def test_a_failed_step_is_retried_once(api: Api, ada: User) -> None:
    run = make_run(ada)
    step = make_failed_step(run)
    path = f"/runs/{run.id}/steps/{step.id}/retry"
    assert (api.post(path).json()["state"], api.post(path).status_code) == ("pending", 409)
    assert Intervention.objects.get().what == Intervention.Action.REPLAYED
    assert api.post(f"/runs/{make_run(ada, key='b').id}/steps/{step.id}/retry").status_code == 404


def test_the_run_of_a_skipped_step_is_told_that_it_is_done(api: Api, ada: User) -> None:
    step = make_failed_step(make_run(ada))
    path = f"/runs/{step.run_id}/steps/{step.id}/skip"
    skipped = api.post(path, {"reason": "By hand."}, Idempotency_Key="once").json()
    assert (skipped["state"], "By hand." in skipped["reason"]["text"]) == ("cancelled", True)
    assert api.post(path, {"reason": "By hand."}, Idempotency_Key="once").json() == skipped
    assert api.post(path, {}).status_code == 409
    event = Event.objects.get(type=types.STEP_DONE)
    assert (event.data["run_id"], event.data["skipped"]) == (str(step.run_id), True)
    made = Intervention.objects.get()
    assert (made.what, made.reason, made.who) == (Intervention.Action.FIXED, "By hand.", ada.email)


def test_a_run_is_ended_with_its_steps(api: Api, ada: User) -> None:
    run = make_run(ada, status="stopped")
    step = Step.objects.create(user=ada, run=run, handler="brand.fetch", key="1", correlation_id=run.id)
    ended = api.post(f"/runs/{run.id}/end", {"reason": "Sold."}).json()
    assert (ended["state"], ended["reason"]["code"]) == ("finished", EventCode.FLOW_ENDED_BY)
    assert "Sold." in ended["reason"]["text"]
    step.refresh_from_db()
    assert step.state == "cancelled"
    assert Intervention.objects.get().reason == "Sold."
    assert api.post(f"/runs/{run.id}/end", {}).status_code == 409


@pytest.mark.parametrize(("act", "type"), [("acknowledge", ACKNOWLEDGED), ("resolve", RESOLVED)])
def test_an_incident_is_acknowledged_and_resolved(api: Api, incident: Run, act: str, type: str) -> None:
    for _ in range(2):
        answer = api.post(f"/runs/{incident.id}/{act}")
        assert (answer.status_code, answer.json()["phase"]) == (202, f"{act}d")
    event = Event.objects.get(type=type)
    assert (event.data["key"], event.chain) == ("disk", "the-disk")


def test_only_an_open_incident_is_acknowledged(api: Api, ada: User, incident: Run) -> None:
    assert api.post(f"/runs/{make_run(ada).id}/acknowledge").status_code == 409
    api.post(f"/runs/{incident.id}/end", {})
    assert api.post(f"/runs/{incident.id}/resolve").status_code == 409
    assert api.get("/runs?phase=open").json()["items"] == []
    [over] = api.get("/runs?phase=resolved").json()["items"]
    assert (over["id"], over["phase"]) == (str(incident.id), "resolved")


def test_to_read_is_not_to_act_and_a_stranger_finds_nothing(ada: User, incident: Run) -> None:
    reader = Api(ada, ("read", "notifications"))
    assert reader.get(f"/runs/{incident.id}").status_code == 200
    assert reader.post(f"/runs/{incident.id}/acknowledge").json()["code"] == "scope"
    stranger = Api(make_user())
    assert ids(stranger.get("/runs")) == []
    assert stranger.get(f"/runs/{incident.id}").status_code == 404
