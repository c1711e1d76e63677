"""Status webhooks over the API: from adding one to removing it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pydantic import TypeAdapter
from pytest_django import Settings

from api.resources.status_webhooks import NewStatusWebhook, StatusWebhook
from demo.receivers import HTTPReceiver
from notifications.channels import changes
from notifications.models import Channel, Notification
from people.models import User
from tests.db.api.conftest import Api, at_most, wrong_fields
from tests.db.notifications.conftest import send_all
from tests.make import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def receiver(settings: Settings) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with HTTPReceiver() as receiver:
        yield receiver


@pytest.fixture
def body(receiver: HTTPReceiver) -> dict[str, Any]:
    return {"url": f"{receiver.origin}/planted", "types": ["delivery.*", "schedule.fired"], "headers": {"X-Room": "7"}}


@pytest.fixture
def verified(api: Api, body: dict[str, Any]) -> str:
    """The path of one."""
    path = f"/status-webhooks/{api.post('/status-webhooks', body).json()['id']}"
    Channel.objects.update(verified_at=timezone.now())
    return path


def test_it_is_added_verified_tried_and_removed(api: Api, body: dict[str, Any], receiver: HTTPReceiver) -> None:
    answer = api.post("/status-webhooks", body)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    TypeAdapter(NewStatusWebhook).validate_python(made, strict=False)
    assert made["state"] == "unverified" and "planted" not in str(made)
    send_all()
    code = re.search(r"\d{4}-\d{4}", receiver.requests[0].verified(made["secret"])["data"]["body"])
    assert code is not None
    path = f"/status-webhooks/{made['id']}"
    assert api.post(f"{path}/test").status_code == 409
    wrong = api.post(f"{path}/verify", {"code": "x"})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "code")
    right = api.post(f"{path}/verify", {"code": code[0]})
    assert (right.status_code, right.json()["state"]) == (200, "enabled")
    assert api.post(f"{path}/verify", {"code": code[0]}).status_code == api.post(f"{path}/code").status_code == 409
    tested = api.post(f"{path}/test")
    send_all()
    assert receiver.requests[-1].headers["X-Room"] == "7"
    result = api.get(tested["Location"].removeprefix("/api/v1")).json()
    assert (tested.status_code, result["origin"], result["outcome"]) == (202, "test", "full")
    assert (result["id"], result["deliveries"][0]["id"]) == tuple(tested.json().values())
    shown = api.get(path).json()
    TypeAdapter(StatusWebhook).validate_python(shown, strict=False)
    assert "secret" not in shown and api.get("/status-webhooks").json()["items"] == [shown]
    assert api("DELETE", path).status_code == 204
    assert api.get(path).status_code == 404


def test_other_types_need_no_new_code_and_another_address_does(api: Api, verified: str, receiver: HTTPReceiver) -> None:
    changed = api("PATCH", verified, {"types": ["channel.*"], "label": "Watcher"})
    assert (changed.status_code, changed.json()["types"], changed.json()["state"]) == (200, ["channel.*"], "enabled")
    assert changed.json()["label"] == "Watcher"
    Notification.objects.update(created_at=timezone.now() - timedelta(hours=1))
    moved = api("PATCH", verified, {"url": f"{receiver.origin}/elsewhere"})
    # What belongs to the former address is not sent to a new one without being asked for.
    assert (moved.status_code, moved.json().get("state")) == (200, "unverified")
    assert moved.json()["types"] == ["channel.*"]


def test_a_change_of_what_one_has_not_seen_is_refused(api: Api, verified: str) -> None:
    etag = api.get(verified).headers["ETag"]
    assert api("PATCH", verified, {"label": "A"}, If_Match=etag).status_code == 200
    stale = api("PATCH", verified, {"label": "B"}, If_Match=etag)
    assert (stale.status_code, stale.json()["current"]["label"]) == (412, "A")


def test_one_that_failures_disabled_can_be_enabled_and_an_operators_cannot(api: Api, verified: str) -> None:
    Channel.objects.update(disabled_at=timezone.now(), failing_since=timezone.now())
    assert api.get(verified).json()["state"] == "disabled"
    assert api.post(f"{verified}/enable").json()["state"] == "enabled"
    changes.disable(Channel.objects.values_list("id", flat=True), "Too many.")
    assert api.post(f"{verified}/enable").status_code == 409


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"url": "http://10.0.0.1/"}, "url"),
        ({"types": []}, "types"),
        ({"types": ["delivery.sent"]}, "types"),
        ({"types": "delivery.*"}, "types"),
        ({"types": ["delivery.*", ""]}, "types"),
        ({"types": ["delivery.* channel.*"]}, "types"),
        ({"secret": "short"}, "secret"),
        ({"headers": {"Host": "example.org"}}, "headers"),
        ({"headers": {"X: a": "b"}}, "headers"),
        ({"headers": {"X": "a\r\nY: b"}}, "headers"),
        ({"headers": {"X\nY": "b"}}, "headers"),
        ({"headers": {f"X-{number}": "b" * 900 for number in range(9)}}, "headers"),
        ({"label": "x" * 81}, "label"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_made(
    api: Api, body: dict[str, Any], wrong: dict[str, Any], field: str
) -> None:
    answer = api.post("/status-webhooks", body | wrong)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert not Channel.objects.exists()


def test_as_a_channel_it_is_changed_by_the_fields_that_it_shows(api: Api, verified: str) -> None:
    path = verified.replace("status-webhooks", "channels")
    fields = api.get(path).json()["fields"]
    assert fields == {"types": "delivery.* schedule.fired", "everybody": False}
    assert api("PATCH", path, {"fields": fields}).status_code == 200


@pytest.mark.parametrize("types", [[1], [["delivery.*"]], [None], "delivery.*"], ids=repr)
def test_damaged_types_are_named(api: Api, verified: str, types: Any) -> None:
    row = Channel.objects.get()
    Channel.objects.update(address=row.address | {"types": types})
    assert wrong_fields(api("PATCH", verified, {"label": "Watcher"})) == ["types"]


def test_everybodys_changes_are_for_operators(api: Api, body: dict[str, Any], settings: Settings) -> None:
    refused = api.post("/status-webhooks", body | {"everybody": True})
    assert refused.status_code == 409 and not Channel.objects.exists()
    made = Api(make_user(is_staff=True, is_superuser=True)).post("/status-webhooks", body | {"everybody": True})
    assert (made.status_code, made.json()["everybody"]) == (201, True)


def test_a_change_to_everybodys_changes_is_for_operators_too(api: Api, verified: str) -> None:
    assert api("PATCH", verified, {"everybody": True}).status_code == 409
    assert api.get(verified).json()["everybody"] is False


def test_one_without_a_code_is_not_made(api: Api, ada: User, body: dict[str, Any], settings: Settings) -> None:
    settings.TESTS_A_DAY = 0
    assert api.post("/status-webhooks", body).status_code == 429
    assert not Channel.objects.exists()


def test_a_list_costs_at_most_four_statements(api: Api, verified: str, body: dict[str, Any]) -> None:
    with at_most(4):
        api.get("/status-webhooks")
