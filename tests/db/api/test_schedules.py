"""Schedules over the API: what a program makes, reads and changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pydantic import TypeAdapter
from pytest_django import Settings

from api.protocol.fields import written
from api.resources.schedules.documents import ScheduleBody, ScheduleDocument
from api.resources.schedules.history import Preview
from demo.receivers import HTTPReceiver
from notifications.models import Channel, Delivery, Notification
from people.models import User
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from tests.db.api.conftest import Api, at_most, clock_at, wrong_fields
from tests.make import make_channel, make_schedule, make_user, try_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def inbox(ada: User) -> Channel:
    return make_channel(ada)


def body_of(*channels: Channel, **overrides: Any) -> dict[str, Any]:
    return {
        "title": "Water the plants",
        "timing": {"dailyTime": {"hour": 14, "minute": 0}},
        "time_zone": "America/New_York",
        "channel_ids": [str(channel.id) for channel in channels],
    } | overrides


def test_the_example_from_new_york_holds_across_the_change_of_the_clock(api: Api, inbox: Channel) -> None:
    with clock_at(datetime(2026, 3, 7, 15, tzinfo=UTC)):
        made = api.post("/schedules", body_of(inbox)).json()
        upcoming = api.get(f"/schedules/{made['id']}/upcoming?count=2").json()["items"]
    assert made["next_run_at"] == "2026-03-07T19:00:00Z"
    assert [one["slot_at"] for one in upcoming] == ["2026-03-07T19:00:00Z", "2026-03-08T18:00:00Z"]


def test_without_any_time_zone_utc_applies(api: Api, ada: User, inbox: Channel) -> None:
    body = body_of(inbox)
    del body["time_zone"]
    User.objects.filter(pk=ada.pk).update(time_zone="")
    answer = api.post("/schedules", body)
    assert (answer.status_code, answer.json().get("time_zone")) == (201, "UTC")
    assert api.post("/schedules/quick-add", {"text": "call Ada daily at 9:00"}).json()["time_zone"] == "UTC"
    User.objects.filter(pk=ada.pk).update(time_zone="Asia/Tokyo")
    assert api.post("/schedules", body).json()["time_zone"] == "Asia/Tokyo"


def test_a_created_schedule_says_all_that_is_promised(api: Api, ada: User, inbox: Channel) -> None:
    answer = api.post("/schedules", body_of(inbox, category="plants", data={"room": "kitchen"}))
    assert answer.status_code == 201
    made = answer.json()
    TypeAdapter(ScheduleDocument).validate_json(answer.content)
    assert answer["Location"] == f"/api/v1/schedules/{made['id']}"
    assert answer["ETag"] == '"1"'
    schedule = Schedule.objects.get(id=made["id"], user=ada)
    assert made["next_run_at"] == schedule.next_fire_at.isoformat().replace("+00:00", "Z")  # type: ignore[union-attr]
    assert (made["type"], made["schedule_type"], made["cron_expression"]) == ("reminder", "daily", None)
    assert (made["time_zone"], made["active"], made["last_run_at"]) == ("America/New_York", True, None)
    assert made["created_at"] == made["updated_at"] == schedule.created_at.isoformat().replace("+00:00", "Z")
    assert (made["category"], made["data"]) == ("plants", {"room": "kitchen"})
    assert api.get(answer["Location"].removeprefix("/api/v1")).json() == made


def test_a_list_costs_four_statements_a_read_two_and_a_new_schedule_with_a_key_six(
    api: Api, ada: User, inbox: Channel
) -> None:
    others = [make_channel(ada, kind) for kind in ("email", "webhook", "webhook")]
    for _ in range(5):
        schedule = make_schedule(ada, others)
    api.get("/me")  # the token's last use is written once a minute
    with at_most(4):
        assert len(api.get("/schedules?search=plants&state=active&limit=3").json()["items"]) == 3
    with at_most(2):
        assert api.get(f"/schedules/{schedule.id}").status_code == 200
    for timing in ({"cron": {"expression": "1 2 3 * *"}}, {"intervalMinutes": 7}, {"onceAt": "2999-01-01T00:00:00Z"}):
        body = body_of(inbox, *others, timing=timing)
        with at_most(6):
            assert api.post("/schedules", body, Idempotency_Key=str(timing)).status_code == 201


@pytest.fixture
def made(ada: User, inbox: Channel) -> Schedule:
    return make_schedule(ada, [inbox], fire.read_clock().now, category="plants", data={"room": "kitchen"})


def test_a_patch_keeps_what_it_does_not_name_and_computes_the_next_run_afresh(api: Api, made: Schedule) -> None:
    before = api.get(f"/schedules/{made.id}").json()
    after = api("PATCH", f"/schedules/{made.id}", {"timing": {"dailyTime": {"hour": 23, "minute": 45}}}).json()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"timing", "description", "next_run_at", "version", "updated_at"}
    assert after["next_run_at"].endswith("T23:45:00Z")


def test_a_patch_of_the_title_moves_no_time_of_a_repeated_hour(api: Api, ada: User, inbox: Channel) -> None:
    second = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)  # 02:30 in Berlin, for the second time that night
    rule = {"every": 5, "unit": "hours", "anchor": second.isoformat()}
    made = make_schedule(ada, [inbox], kind="interval", rule=rule, time_zone="Europe/Berlin", starts_at=second)
    assert api("PATCH", f"/schedules/{made.id}", {"title": "Tea"}).status_code == 200
    after = Schedule.objects.get()
    assert (after.title, after.rule, after.starts_at) == ("Tea", rule, second)
    daily = {"timing": {"daily": {"time": "09:00"}}, "time_zone": "Europe/Berlin"}
    assert api("PATCH", f"/schedules/{made.id}", daily).status_code == 200
    assert Schedule.objects.get().starts_at == second
    assert api("PATCH", f"/schedules/{made.id}", {"time_zone": "America/New_York"}).status_code == 200
    assert Schedule.objects.get().starts_at == datetime(2026, 10, 25, 6, 30, tzinfo=UTC)  # 02:30 there, too


def test_a_patch_checks_only_what_it_names_and_what_depends_on_it(api: Api, ada: User, inbox: Channel) -> None:
    made = make_schedule(ada, [inbox], title="Pay {what}", spread=60)  # a title as of a calendar's event
    assert api("PATCH", f"/schedules/{made.id}", {"grace": 30}).status_code == 200
    refused = api("PATCH", f"/schedules/{made.id}", {"title": "Pay {whom}", "stale_after": 30})
    assert wrong_fields(refused) == ["title", "stale_after"]
    assert wrong_fields(api("PATCH", f"/schedules/{made.id}", {"job": None})) == ["title"]


def test_a_patch_costs_four_statements_and_another_timing_or_other_channels_five(
    api: Api, ada: User, inbox: Channel, made: Schedule
) -> None:
    api.get("/me")  # the token's last use is written once a minute
    other = make_channel(ada, "webhook")
    for most, method, body in (
        (4, "PATCH", {"title": "Tea"}),
        (5, "PUT", body_of(inbox, other)),
        (5, "PUT", body_of(other)),
    ):
        with at_most(most):
            answer = api(method, f"/schedules/{made.id}", body)
        assert answer.json() == api.get(f"/schedules/{made.id}").json()
    assert [*Schedule.objects.get().channels.all()] == [other]


def test_a_replacement_gives_what_it_does_not_name_its_default(api: Api, made: Schedule, inbox: Channel) -> None:
    answer = api("PUT", f"/schedules/{made.id}", body_of(inbox))
    assert answer.status_code == 200
    replaced = answer.json()
    assert (replaced["body"], replaced["category"], replaced["data"]) == ("", "", None)
    assert (replaced["schedule_type"], replaced["time_zone"], replaced["version"]) == ("daily", "America/New_York", 2)


def test_what_is_read_can_be_written_back_and_changes_nothing(api: Api, ada: User, inbox: Channel) -> None:
    hook = make_channel(ada, "webhook")
    written = body_of(
        hook,
        inbox,
        timing={"interval": {"every": 3, "unit": "days", "anchor": "2030-01-01T06:00:00"}},
        in_order=True,
        escalate_after=5,
        starts_at="2030-06-01T00:00:00",
        ends_at="2031-06-01T00:00:00",
        excluded=["2030-12-25"],
        max_count=9,
        misfire="all",
        grace=5,
        spread=7,
        stale_after=900,
        urgent=True,
    )
    first = api.post("/schedules", written).json()
    assert {name: first[name] for name in written} == written
    again = api("PUT", f"/schedules/{first['id']}", {name: first[name] for name in ScheduleBody.model_fields}).json()
    assert {name for name in first if first[name] != again[name]} <= {"version", "updated_at"}


def test_what_was_read_can_be_sent_back_and_changes_nothing(api: Api, made: Schedule) -> None:
    read = api.get(f"/schedules/{made.id}").json()
    answer = api("PUT", f"/schedules/{made.id}", read)
    assert answer.json() == read, answer.content
    assert api("PATCH", f"/schedules/{made.id}", {"title": read["title"]}).json() == read
    assert api("PATCH", f"/schedules/{made.id}", {"title": "New"}).json()["version"] == read["version"] + 1
    answer = api("PUT", f"/schedules/{made.id}", read | {"nonsense": 1})
    errors = {one["field"]: one["code"] for one in answer.json()["errors"]}
    assert errors == {"version": "read_only", "updated_at": "read_only", "nonsense": "extra_forbidden"}


def test_runs_by_hand_are_counted_beside_those_of_the_timing(api: Api, made: Schedule) -> None:
    api("PATCH", f"/schedules/{made.id}", {"max_count": 1})
    ran = api.post(f"/schedules/{made.id}/run").json()
    read = api.get(f"/schedules/{made.id}").json()
    assert (read["fired_count"], read["last_run_at"] is None, read["state"]) == (1, False, "active")
    assert ran["batch_id"] == ran["id"]


def test_a_form_that_knows_no_data_keeps_it(api: Api, browser: Client, made: Schedule) -> None:
    fields = {"kind": "daily", "time": "10:00", "time_zone": "UTC", "channels": [str(made.channels.get().id)]}
    sent = {"title": "Tea", "category": "kitchen", "version": "1", **fields}
    assert browser.post(f"/reminders/{made.id}/edit/", sent).status_code == 302
    stored = api.get(f"/schedules/{made.id}").json()
    assert (stored["title"], stored["category"], stored["data"]) == ("Tea", "kitchen", {"room": "kitchen"})


CHANGES: list[tuple[str, str, Any]] = [
    ("PUT", "", {}),
    ("PATCH", "", {"title": "Tea"}),
    ("DELETE", "", None),
    ("POST", "/pause", None),
    ("POST", "/resume", None),
    ("POST", "/run", None),
    ("POST", "/snooze", {"snooze_ends_at": "2999-01-01T00:00:00Z"}),
    ("POST", "/skip", {"slot_at": "2999-01-01T00:00:00Z"}),
    ("POST", "/unskip", {"slot_at": "2999-01-01T00:00:00Z"}),
]


@pytest.mark.parametrize(("method", "act", "body"), CHANGES)
def test_nobody_overwrites_a_change_that_they_have_not_seen(
    api: Api, made: Schedule, inbox: Channel, method: str, act: str, body: Any
) -> None:
    body = body_of(inbox) if method == "PUT" else body
    seen = api.get(f"/schedules/{made.id}")["ETag"]
    current = api("PATCH", f"/schedules/{made.id}", {"title": "Another"}).json()
    refused = api(method, f"/schedules/{made.id}{act}", body, If_Match=seen)
    assert (refused.status_code, refused["ETag"], refused.json()["code"]) == (412, '"2"', "changed")
    assert refused.json()["current"] == current == api.get(f"/schedules/{made.id}").json()
    assert Occurrence.objects.count() == 0
    assert api("PATCH", f"/schedules/{made.id}", {"body": "Mine"}, If_Match='W/"1", "2"').status_code == 200


def test_pause_resume_and_snooze_say_the_state_that_follows(api: Api, made: Schedule) -> None:
    paused = api.post(f"/schedules/{made.id}/pause").json()
    assert (paused["state"], paused["active"], paused["next_run_at"]) == ("paused", False, None)
    refused = api.post(f"/schedules/{made.id}/snooze", {"snooze_ends_at": "2999-01-01T00:00:00Z"})
    assert (refused.status_code, refused.json()["current"]) == (409, paused)
    assert api.post(f"/schedules/{made.id}/resume").json()["active"] is True
    snoozed = api.post(f"/schedules/{made.id}/snooze", {"snooze_ends_at": "2999-01-01T08:00:00Z"}).json()
    assert (snoozed["snooze_ends_at"], snoozed["next_run_at"]) == ("2999-01-01T08:00:00Z", "2999-01-01T09:00:00Z")
    late = api.post(f"/schedules/{made.id}/snooze", {"snooze_ends_at": "2020-01-01T00:00:00Z"})
    [error] = late.json()["errors"]
    assert (late.status_code, error["field"], error["code"]) == (422, "snooze_ends_at", "passed")


def test_a_slot_is_skipped_once_and_the_skip_undone(api: Api, made: Schedule) -> None:
    slot = api.get(f"/schedules/{made.id}").json()["next_run_at"]
    after = api.post(f"/schedules/{made.id}/skip", {"slot_at": slot}).json()["next_run_at"]
    assert after > slot
    assert api.post(f"/schedules/{made.id}/skip", {"slot_at": slot}).status_code == 409
    upcoming = api.get(f"/schedules/{made.id}/upcoming?count=2").json()["items"]
    assert [(one["slot_at"], one["outcome"]) for one in upcoming] == [(slot, "skipped"), (after, "coming")]
    assert upcoming[0]["causes"][0]["code"] == "asked"
    assert api.post(f"/schedules/{made.id}/unskip", {"slot_at": slot}).json()["next_run_at"] == slot
    assert api.post(f"/schedules/{made.id}/unskip", {"slot_at": slot}).status_code == 409


def test_a_run_is_recorded_and_explained_with_its_notification(api: Api, ada: User, made: Schedule) -> None:
    ran = api.post(f"/schedules/{made.id}/run")
    assert (ran.status_code, ran.json()["outcome"], ran.json()["reason"]["code"]) == (202, "fired", "manual")
    notification = Notification.objects.get(batch_id=ran.json()["id"], user=ada)
    assert api.get(f"/schedules/{made.id}/occurrences").json()["items"] == [ran.json()]
    [explained] = api.get(f"/schedules/{made.id}/explain").json()["items"]
    assert (explained["notification_id"], explained["notification_outcome"]) == (str(notification.id), "open")
    assert explained["causes"][0]["code"] == "manual"
    assert api.get(f"/schedules/{made.id}").json()["fired_count"] == 1


def test_a_deleted_schedule_is_gone_until_it_is_restored(api: Api, made: Schedule, settings: Settings) -> None:
    assert api("DELETE", f"/schedules/{made.id}").status_code == 204
    assert api.get(f"/schedules/{made.id}").status_code == api("DELETE", f"/schedules/{made.id}").status_code == 404
    assert api.get("/schedules").json()["items"] == []
    settings.MOST_SCHEDULES = 0
    refused = api.post(f"/schedules/{made.id}/restore")
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "limit_reached")
    settings.MOST_SCHEDULES = 1
    assert api.post(f"/schedules/{made.id}/restore").json()["active"] is True
    assert api.post(f"/schedules/{made.id}/restore").status_code == 404


def test_the_list_is_filtered_and_every_page_of_it_is_reached(api: Api, ada: User, inbox: Channel) -> None:
    now = fire.read_clock().now
    for number in range(7):
        make_schedule(ada, [inbox], now, title=f"Number {number}", category="odd" if number % 2 else "even")
    make_schedule(make_user(), now=now)
    editing.pause(Schedule.objects.get(title="Number 3").id, now)
    titles, path = [], "/schedules?limit=3"
    while path:
        answer = api.get(path)
        titles += [one["title"] for one in answer.json()["items"]]
        following = answer.json()["next"]
        assert (following is None) == ("Link" not in answer)
        path = answer["Link"].split(">")[0].split("/api/v1")[1] if following else ""
    assert titles == [f"Number {number}" for number in reversed(range(7))]

    def found(query: str) -> set[str]:
        return {one["title"][-1] for one in api.get(f"/schedules?{query}").json()["items"]}

    assert found("state=paused") == {"3"}
    assert found("category=odd&state=active") == {"1", "5"}
    assert found("search=NUMBER%206") == {"6"}
    assert found("due_before=2999-01-01T00:00:00Z") == set("012456")
    assert found(f"due_before={written(now).replace('+', '%2B')}") == set()  # type: ignore[union-attr]


def test_a_page_of_long_items_is_short_and_leads_to_the_rest(api: Api, ada: User, inbox: Channel) -> None:
    now = fire.read_clock().now
    made = {str(make_schedule(ada, [inbox], now, data={"text": "é" * 8_000}).id) for _ in range(160)}
    first = api.get("/schedules?limit=200")
    rest = api.get(f"/schedules?limit=200&cursor={first.json()['next']}")
    assert 1_000_000 < len(first.content) < 3_500_000
    listed = [one["id"] for page in (first, rest) for one in page.json()["items"]]
    assert (len(listed), set(listed), rest.json()["next"]) == (160, made, None)


def test_the_records_are_paged_by_their_slots(api: Api, made: Schedule) -> None:
    for day in range(5):
        fire.fire_due(made.next_fire_at + timedelta(days=day), [made.id])  # type: ignore[operator]
    slots = [one["slot_at"] for one in api.get(f"/schedules/{made.id}/occurrences").json()["items"]]
    assert slots == sorted(slots, reverse=True)
    for kind in ("occurrences", "explain"):
        paged, cursor = [], ""
        while cursor is not None:
            page = api.get(f"/schedules/{made.id}/{kind}?limit=2{cursor and '&cursor=' + cursor}").json()
            paged += [one["slot_at"] for one in page["items"]]
            cursor = page["next"]
        assert paged == (slots if kind == "occurrences" else [])
    assert len(slots) == 5


def test_a_preview_saves_nothing_and_a_token_that_only_reads_may_ask_for_it(
    ada: User, inbox: Channel, call: type[Api]
) -> None:
    reading = call(ada, ("read",))
    timing = {"daily": {"time": "02:30"}}
    with clock_at(datetime(2026, 3, 28, 12, tzinfo=UTC)):
        body = body_of(inbox, title="Tea at {time}", timing=timing, time_zone="Europe/Berlin")
        answer = reading.post("/schedules/preview?count=2", body)
    assert answer.status_code == 200
    said = answer.json()
    TypeAdapter(Preview).validate_json(answer.content)
    assert [one["slot_at"] for one in said["runs"]] == ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
    assert said["runs"][0]["note"]
    assert (said["title"], said["lengths"][0]["channel_id"]) == ("Tea at 03:00", str(inbox.id))
    assert not Schedule.objects.exists()
    assert reading.post("/schedules", body).status_code == 403


def test_a_reminder_that_has_its_limit_cannot_be_made(api: Api, inbox: Channel, settings: Settings) -> None:
    settings.MOST_SCHEDULES = 1
    assert api.post("/schedules", body_of(inbox)).status_code == 201
    refused = api.post("/schedules", body_of(inbox))
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "(body)")


def test_a_broken_schedule_is_read_and_mended(api: Api, made: Schedule) -> None:
    Schedule.objects.filter(id=made.id).update(
        rule={"time": "99:99"}, state="broken", next_fire_at=None, error="It cannot be read."
    )
    shown = api.get(f"/schedules/{made.id}")
    TypeAdapter(ScheduleDocument).validate_json(shown.content)
    assert (shown.json()["timing"], shown.json()["error"]) == (None, "It cannot be read.")
    assert api("PATCH", f"/schedules/{made.id}", {"title": "Tea"}).json()["errors"][0]["field"] == "timing"
    assert api.post(f"/schedules/{made.id}/run").status_code == 409
    assert api.get(f"/schedules/{made.id}/explain").status_code == 200
    mended = api("PATCH", f"/schedules/{made.id}", {"timing": {"daily": {"time": "09:00"}}}).json()
    assert (mended["active"], mended["error"]) == (True, "")


def test_a_webhook_says_which_reminder_fired(api: Api, ada: User, settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    secret, made_before = "whsec_" + "c2VjcmV0" * 4, fire.read_clock().now - timedelta(hours=1)
    with HTTPReceiver() as receiver:
        hook = make_channel(ada, "webhook", {"secret": secret, "path": "/"}, address={"url": receiver.origin})
        body = body_of(hook, category="plants", data={"room": "kitchen", "rows": [1, 2.5, None]})
        schedule = api.post("/schedules", body).json()
        ran = api.post(f"/schedules/{schedule['id']}/run").json()
        api("PATCH", f"/schedules/{schedule['id']}", {"category": "later", "data": {}})
        Delivery.objects.update(available_at=made_before)  # the transaction of this test began before it
        try_once(Delivery.objects.get(channel=hook))
        (request,) = receiver.requests
    said = request.verified(secret)["data"]
    assert (said["schedule_id"], said["correlation_id"]) == (schedule["id"], ran["id"])
    assert (said["category"], said["data"]) == ("plants", body["data"])
