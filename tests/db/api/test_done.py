"""Done of a schedule and its undo: of its newest message, and of its slot where it waits for that."""

from __future__ import annotations

import pytest

from notifications.models import Notification
from people.models import User
from schedules.changes import editing
from schedules.firing import fire
from tests.db.api.conftest import Api
from tests.make import NINE, make_schedule, make_user

pytestmark = pytest.mark.django_db


def test_done_sets_the_next_run_and_its_undo_waits_again(api: Api, ada: User) -> None:
    schedule = make_schedule(ada, now=fire.read_clock().now, after_done=True)
    assert api.post(f"/schedules/{schedule.id}/done").status_code == 409
    assert schedule.next_fire_at is not None
    fire.fire_due(schedule.next_fire_at)
    waiting = api.get(f"/schedules/{schedule.id}").json()
    assert (waiting["state"], waiting["next_run_at"], waiting["after_done"]) == ("awaiting", None, True)
    assert len(api.get("/schedules?state=awaiting").json()["items"]) == 1
    done = api.post(f"/schedules/{schedule.id}/done")
    assert (done.status_code, done.json()["state"]) == (200, "active")
    assert done.json()["next_run_at"]
    assert Notification.objects.get().answered_from == "api"
    assert api.post(f"/schedules/{schedule.id}/done").status_code == 409
    assert api.post(f"/schedules/{schedule.id}/undo-done").json()["state"] == "awaiting"
    assert api.post(f"/schedules/{schedule.id}/undo-done").status_code == 409


def test_done_of_another_reminder_is_that_of_its_message(api: Api, ada: User) -> None:
    schedule = make_schedule(ada)
    editing.run_now(schedule.id, NINE, ada)
    before = api.get(f"/schedules/{schedule.id}").json()
    assert api.post(f"/schedules/{schedule.id}/done").json() == before
    assert Notification.objects.get().acknowledged_at


def test_those_of_others_are_not_found(api: Api) -> None:
    schedule = make_schedule(make_user())
    for act in ("done", "undo-done"):
        assert api.post(f"/schedules/{schedule.id}/{act}").status_code == 404
