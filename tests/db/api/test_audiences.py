"""Audiences over the API: what staff may choose."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission

from events.models import Topic
from people.models import User
from tests.db.api.conftest import Api
from tests.make import make_user

pytestmark = pytest.mark.django_db


def test_staff_read_whom_they_may_tell_and_a_schedule_takes_each(ada: User) -> None:
    ada.is_staff = True
    ada.save()
    ada.user_permissions.add(Permission.objects.get(codename="add_batch"))
    group, api = Group.objects.create(name="Crew"), Api(ada)
    topic = Topic.objects.create(user=ada, slug="news", name="News")
    Topic.objects.create(user=make_user(), slug="theirs", name="Theirs")
    found = api.get("/audiences").json()["items"]
    assert {(one["kind"], one["key"], one["name"]) for one in found if one["kind"] != "connected"} == {
        ("everybody", "", "Everybody"),
        ("group", str(group.pk), "Crew"),
        ("topic", str(topic.id), "News"),
    }
    body = {"title": "We move", "timing": {"daily": {"time": "09:00"}}, "time_zone": "UTC", "channel_ids": []}
    for one in found:
        chosen = {"kind": one["kind"], "key": one["key"]}
        assert api.post("/schedules", body | {"audience": chosen}).json()["audience"] == chosen


def test_others_may_tell_nobody(api: Api) -> None:
    assert api.get("/audiences").json() == {"items": [], "next": None}
