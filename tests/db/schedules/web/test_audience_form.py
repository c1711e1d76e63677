"""Reminders for an audience: who may make them, on whose clock they are, how many they reach, and confirmation."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from common.zones import FIRST_ZONE
from events.models import Topic
from jobs.batches import audiences
from jobs.models import Batch
from people.models import User
from schedules.firing import fire
from schedules.inputs import audience_form
from schedules.models import Schedule
from tests.db.api.conftest import Api
from tests.make import NINE, make_channel, make_connection, make_schedule, make_user, signed_in

pytestmark = pytest.mark.django_db

TYPED = {"title": "We move", "kind": "daily", "time": "09:00", "time_zone": "Europe/Berlin"}
BODY = {"title": "We move", "timing": {"daily": {"time": "09:00"}}, "time_zone": "Europe/Berlin", "channel_ids": []}


@pytest.fixture
def staff() -> User:
    made = make_user(is_staff=True)
    made.user_permissions.add(Permission.objects.get(codename="add_batch"))
    return made


@pytest.fixture
def page(staff: User) -> Client:
    return signed_in(staff)


def create(page: Client, **typed: Any) -> Schedule:
    answer = page.post("/reminders/new/", TYPED | typed)
    assert answer.status_code == 302, answer.context["form"].errors
    return Schedule.objects.latest("id")


def refused(page: Client, **typed: Any) -> dict[str, Any]:
    errors: dict[str, Any] = page.post("/reminders/new/", TYPED | typed).context["form"].errors
    assert not Schedule.objects.exists()
    return errors


def test_staff_announce_without_choosing_channels(page: Client, staff: User) -> None:
    group = Group.objects.create(name="Crew")
    topic = Topic.objects.create(user=staff, slug="news", name="News")
    make_channel(staff)
    for chosen in ("everybody:", f"group:{group.pk}", f"topic:{topic.id}"):
        made = create(page, audience=chosen)
        assert (f"{made.audience}:{made.audience_key}", made.channels.count(), made.local_time) == (chosen, 0, False)
    shown = page.get(f"/reminders/{made.id}/").content.decode()
    assert "For Subscribers of a topic: News" in shown
    assert "It reaches 0 people now" in shown


@pytest.mark.parametrize("fields", [{}, {"is_staff": True}])
def test_others_are_offered_no_audience_and_cannot_send_one(fields: dict[str, Any]) -> None:
    person = make_user(**fields)
    page, channel = signed_in(person), make_channel(person)
    assert 'name="audience"' not in page.get("/reminders/new/").content.decode()
    made = create(page, audience="everybody:", local_time="on", channels=[str(channel.id)])
    assert (made.audience, made.local_time, made.time_zone) == ("", False, "Europe/Berlin")


def test_an_audience_of_somebody_else_or_of_no_kind_is_refused(page: Client) -> None:
    topic = Topic.objects.create(user=make_user(), slug="news", name="News")
    for chosen in (f"topic:{topic.id}", "nobody:", "group:77", "everybody:x"):
        assert set(refused(page, audience=chosen)) == {"audience"}


def test_on_each_readers_clock_says_so_everywhere_and_names_no_zone(page: Client, staff: User) -> None:
    made = create(page, audience="everybody:", local_time="on", time_zone="Nowhere/Else")
    assert (made.local_time, made.time_zone) == (True, FIRST_ZONE)
    assert made.when == "Every day at 09:00 on each reader’s clock"
    paths = [f"/reminders/{made.id}/", "/reminders/", f"/reminders/{made.id}/explain/"]
    for path in [*paths, f"/reminders/{made.id}/edit/"]:
        shown = page.get(path).content.decode()
        assert "Kiritimati time" not in shown
        assert path.endswith("edit/") or '09:00</time> <span class="relative">on each reader’s clock' in shown, path
    preview = page.post("/reminders/preview/", TYPED | {"audience": "everybody:", "local_time": "on"}).content.decode()
    assert '09:00</time> <span class="relative">on each reader’s clock' in preview
    read = Api(staff)("GET", f"/schedules/{made.id}").json()
    assert (read["description"], read["time_zone"], read["local_time"]) == (made.when, None, True)


def test_an_interval_has_no_time_of_day_for_each_reader(page: Client) -> None:
    every = {"kind": "interval", "every": "2", "unit": "hours"}
    assert set(refused(page, audience="everybody:", local_time="on", **every)) == {"local_time"}


def test_the_preview_counts_who_is_reached_in_one_statement(page: Client) -> None:
    make_user()
    shown = page.post("/reminders/preview/", TYPED | {"audience": "everybody:"}).content.decode()
    assert "<strong>2</strong> people now" in shown
    assert "people now" not in page.post("/reminders/preview/", TYPED).content.decode()


def test_many_are_told_only_after_a_confirmation_of_the_same_audience(
    page: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audience_form, "MOST_UNCONFIRMED", 1)
    make_user()
    assert set(refused(page, audience="everybody:")) == {"audience"}
    assert set(refused(page, audience="everybody:", confirmed="group:1")) == {"audience"}
    answer = page.post("/reminders/new/", TYPED | {"audience": "everybody:"})
    confirmed = answer.context["form"]["confirmed"].value()
    made = create(page, audience="everybody:", confirmed=confirmed)
    edited = TYPED | {"audience": "everybody:", "title": "We moved", "version": "1"}
    assert page.post(f"/reminders/{made.id}/edit/", edited).status_code == 302


def test_the_preview_leaves_the_request_to_confirm_on_the_page(page: Client) -> None:
    asked = TYPED | {"audience": "everybody:", "confirmed": "everybody:"}
    shown = page.post("/reminders/preview/", asked).content.decode()
    assert "error-audience" not in shown
    assert "error-confirmed" not in shown
    assert "error-audience" in page.post("/reminders/preview/", asked | {"confirmed": "group:1"}).content.decode()


def test_the_api_takes_an_audience_from_staff_only(staff: User, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    body = BODY | {"audience": {"kind": "everybody"}, "local_time": True}
    assert Api(ada)("POST", "/schedules", body).status_code == 403
    api = Api(staff)
    made = api("POST", "/schedules", body)
    assert (made.status_code, made.json()["audience"]) == (201, {"kind": "everybody", "key": ""})
    changed = api("PATCH", f"/schedules/{made.json()['id']}", {"title": "We moved"}).json()
    assert (changed["title"], changed["audience"]["kind"], changed["local_time"]) == ("We moved", "everybody", True)
    wrong = api("POST", "/schedules", body | {"audience": {"kind": "planet", "key": "3"}})
    assert (wrong.status_code, [one["field"] for one in wrong.json()["errors"]]) == (422, ["audience"])
    monkeypatch.setattr(audience_form, "MOST_UNCONFIRMED", 1)
    assert api("POST", "/schedules", body).status_code == 422
    assert api("POST", "/schedules", body | {"audience": {"kind": "everybody", "confirmed": True}}).status_code == 201


def test_for_an_audience_the_connection_of_each_reader_counts(page: Client, staff: User) -> None:
    checks = {"job_kind": "github_streak", "job_shown": "github_streak", "job-when": "always"}
    typed = checks | {"audience": "connected:github", "channels": [str(make_channel(staff).id)]}
    assert set(refused(page, **typed | {"audience": ""})) == {"connection"}
    assert set(refused(page, **typed | {"connection": str(make_connection(make_user()).id)})) == {"connection"}
    made = create(page, **typed)
    assert (made.audience, made.job_kind, made.connection) == ("connected", "github_streak", None)
    mine = make_connection(staff)
    for shown in (page.post("/reminders/job/", TYPED | typed), page.get(f"/reminders/{made.id}/edit/")):
        choices = shown.context["form"].fields["connection"].widget.choices
        assert choices == [("", "Each reader’s own"), (str(mine.id), mine.label)]
    body = BODY | {"audience": {"kind": "connected", "key": "github"}, "job": {"kind": "github_streak"}}
    assert Api(staff)("POST", "/schedules", body).status_code == 201
    assert Api(staff)("POST", "/schedules", body | {"audience": None}).status_code == 422


def test_who_may_announce_no_more_keeps_the_reminder_and_cannot_save_it(page: Client, staff: User) -> None:
    made = create(page, audience="everybody:")
    User.objects.filter(pk=staff.pk).update(is_staff=False)
    edited = TYPED | {"audience": "everybody:", "title": "Ha", "version": "1"}
    assert set(page.post(f"/reminders/{made.id}/edit/", edited).context["form"].errors) == {"audience"}


def test_the_admins_form_offers_audiences_for_an_owner_who_may_announce(staff: User, ada: User) -> None:
    page = signed_in(make_user(is_staff=True, is_superuser=True))
    for owner, offered in ((staff, True), (ada, False)):
        form = page.get(f"/admin/schedules/schedule/add/?owner={owner.pk}").content.decode()
        assert ('name="audience"' in form, 'name="local_time"' in form) == (offered, offered)


def test_run_now_tells_all_now_and_pausing_cancels_what_is_not_told(page: Client, staff: User) -> None:
    made = create(page, audience="everybody:", local_time="on")
    page.post(f"/reminders/{made.id}/run/")
    batch = Batch.objects.get(origin_id=made.id)
    assert (batch.local_time, batch.state) == (False, "pending")
    [run] = page.get(f"/reminders/{made.id}/explain/").context["past"]
    assert run["story"].is_manual
    page.post(f"/reminders/{made.id}/pause/")
    batch.refresh_from_db()
    assert (batch.state, batch.cancelled_at is not None) == ("cancelled", True)


def test_counting_an_audience_is_one_statement(staff: User, django_assert_num_queries: Any) -> None:
    schedule = make_schedule(staff, [], audience="everybody")
    fire.fire_due(NINE)
    with django_assert_num_queries(1):
        assert audiences.count("everybody", "", schedule.id) == 1


def test_the_topic_of_a_stored_announcement_may_be_gone(page: Client, staff: User) -> None:
    made = make_schedule(staff, [], audience="topic", audience_key="0" * 32)
    with patch.object(audience_form, "MOST_UNCONFIRMED", 0):
        assert page.get(f"/reminders/{made.id}/").status_code == 200
        assert "The present one" in page.get(f"/reminders/{made.id}/edit/").content.decode()
