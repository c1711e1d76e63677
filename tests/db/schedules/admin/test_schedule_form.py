"""An operator adds and edits a person's schedule: with the owner's channels, the owner's limits and the same checks."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from pytest_django import Settings

from people.models import User
from schedules.models import Schedule
from tests.db.conftest import Story
from tests.db.schedules.web.typed import typed
from tests.make import make_channel, make_schedule, make_user

ADD = "/admin/schedules/schedule/add/"


def edit_page(schedule: Schedule) -> str:
    return f"/admin/schedules/schedule/{schedule.pk}/edit/"


def filled(answer: Any, **overrides: Any) -> dict[str, Any]:
    """What the shown form would send, unchanged but for `overrides`."""
    form = answer.context["form"]
    return {field.html_name: field.value() for field in form if field.value() not in (None, False)} | overrides


def test_an_operator_adds_a_schedule_for_the_person_with_that_address(operator: Client, ada: User) -> None:
    channel = make_channel(ada)
    to = operator.get(ADD, {"email": "ADA@example.org"})
    assert to.url == f"{ADD}?owner={ada.pk}"  # type: ignore[attr-defined]
    fields = typed(channel, made_as=str(operator.get(to.url).context["form"]["made_as"].value()))  # type: ignore[attr-defined]
    for _ in range(2):  # a double click
        answer = operator.post(to.url, fields)  # type: ignore[attr-defined]
        assert answer.status_code == 302
    schedule = Schedule.objects.get()
    assert (schedule.user, schedule.kind, schedule.state) == (ada, "daily", "active")
    assert list(schedule.channels.all()) == [channel]
    event = schedule.events.get()
    assert (event.what, event.by and event.by.email) == ("created", "operator@example.org")
    assert LogEntry.objects.filter(object_id=str(schedule.pk)).count() == 1


def test_an_address_that_nobody_has_is_refused_at_its_field(operator: Client) -> None:
    errors = operator.get(ADD, {"email": "nobody@example.org"}).context["form"].errors
    assert list(errors) == ["email"]


@pytest.mark.parametrize("owner", ["0", "x", "9" * 30, "-1", "²"])
def test_an_owner_that_there_is_not_is_asked_for(operator: Client, owner: str) -> None:
    answer = operator.get(ADD, {"owner": owner})
    assert answer.status_code == 200
    assert list(answer.context["form"].fields) == ["email"]


def test_an_edit_keeps_what_was_not_changed_and_says_who_made_it(operator: Client, story: Story) -> None:
    answer = operator.get(edit_page(story.schedule))
    posted = operator.post(edit_page(story.schedule), filled(answer, title="Feed the cat", stale_after="600"))
    assert posted.status_code == 302
    after = Schedule.objects.get()
    assert (after.title, after.stale_after, after.version) == ("Feed the cat", 600, 2)
    assert (after.rule, after.time_zone, after.body) == ({"time": "09:00"}, "UTC", story.schedule.body)
    assert after.channels.count() == 2
    event = after.events.latest("id")
    assert (event.what, event.by and event.by.email) == ("edited", "operator@example.org")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"title": ""}, "title"),
        ({"time_zone": "Mars"}, "time_zone"),
        ({"kind": "cron", "expression": "x"}, "expression"),
        ({"channels": []}, "channels"),
        ({"stale_after": "-1"}, "stale_after"),
    ],
)
def test_what_the_owner_may_not_save_an_operator_may_not_either(
    operator: Client, ada: User, wrong: dict[str, Any], field: str
) -> None:
    schedule = make_schedule(ada)
    fields = filled(operator.get(edit_page(schedule)), **wrong)
    answer = operator.post(edit_page(schedule), fields)
    assert list(answer.context["form"].errors) == [field]
    assert Schedule.objects.get().version == 1


def test_a_schedule_never_gets_the_channel_of_somebody_else(operator: Client, ada: User) -> None:
    schedule, other = make_schedule(ada), make_channel(make_user())
    fields = filled(operator.get(edit_page(schedule)), channels=[str(other.pk)])
    assert "channels" in operator.post(edit_page(schedule), fields).context["form"].errors


def test_the_owners_limit_holds_for_an_operator(operator: Client, ada: User, settings: Settings) -> None:
    settings.MOST_SCHEDULES = 1
    channel = make_channel(ada)
    make_schedule(ada, [channel])
    answer = operator.post(f"{ADD}?owner={ada.pk}", typed(channel))
    assert answer.context["form"].non_field_errors()
    assert Schedule.objects.count() == 1


def test_of_two_editors_the_second_sees_both_versions_and_may_save_over_it(operator: Client, ada: User) -> None:
    schedule = make_schedule(ada)
    fields = filled(operator.get(edit_page(schedule)), title="Mine")
    Schedule.objects.filter(pk=schedule.pk).update(title="Theirs", version=2)
    answer = operator.post(edit_page(schedule), fields)
    assert answer.status_code == 409
    assert ("Title", "Theirs", "Mine") in answer.context["differences"]
    assert Schedule.objects.get().title == "Theirs"
    assert operator.post(edit_page(schedule), filled(answer)).status_code == 302
    assert Schedule.objects.get().title == "Mine"


def test_a_deleted_schedule_is_not_edited(operator: Client, ada: User) -> None:
    schedule = make_schedule(ada)
    fields = filled(operator.get(edit_page(schedule)), title="Mine")
    Schedule.objects.filter(pk=schedule.pk).update(deleted_at=schedule.created_at, next_fire_at=None)
    assert operator.get(edit_page(schedule)).status_code == 302
    assert operator.post(edit_page(schedule), fields).status_code == 302
    assert Schedule.objects.get().title == "Water the plants"


def test_a_broken_schedule_is_mended(operator: Client, ada: User) -> None:
    schedule = make_schedule(ada)
    Schedule.objects.filter(pk=schedule.pk).update(rule={}, state="broken", next_fire_at=None, error="?")
    fields = filled(operator.get(edit_page(schedule)), time="10:00")
    assert operator.post(edit_page(schedule), fields).status_code == 302
    assert Schedule.objects.get().state == "active"


@pytest.mark.parametrize(
    ("permission", "may_add", "may_edit"), [("view", 403, 403), ("add", 200, 403), ("change", 403, 200)]
)
def test_each_page_wants_its_own_permission(
    client: Client, ada: User, permission: str, may_add: int, may_edit: int
) -> None:
    staff = make_user(is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename=f"{permission}_schedule"))
    client.force_login(staff)
    schedule = make_schedule(ada)
    assert client.get(f"{ADD}?owner={ada.pk}").status_code == may_add
    assert client.get(edit_page(schedule)).status_code == may_edit


def test_the_title_of_a_schedule_is_data(operator: Client, ada: User) -> None:
    schedule = make_schedule(ada, title="<b>x</b>")
    assert "<b>x</b>" not in operator.get(edit_page(schedule)).content.decode()


def test_staff_neither_add_nor_edit_a_schedule_of_somebody_with_more_rights(client: Client) -> None:
    staff, chief = make_user(email="staff@example.org", is_staff=True), make_user(is_staff=True, is_superuser=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__model="schedule"))
    client.force_login(staff)
    channel = make_channel(chief)
    schedule = make_schedule(chief, [channel])
    assert client.post(f"{ADD}?owner={chief.pk}", typed(channel)).status_code == 403
    assert client.get(edit_page(schedule)).status_code == 403
    assert client.post(edit_page(schedule), typed(channel, version="1")).status_code == 403
    blank = edit_page(schedule).replace("/edit", "%20/edit")
    assert client.post(blank, typed(channel, version="1")).status_code == 404
    assert Schedule.objects.get().version == 1
