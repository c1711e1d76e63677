"""Channels over the API: what a program adds, verifies, tests, changes and removes."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core import mail
from django.utils import timezone

from api.models import StoredAnswer
from notifications import providers
from notifications.models import Channel, Delivery, Notification
from people.models import User
from tests.db.api.conftest import Api, at_most, wrong_fields
from tests.make import NOON, disabled, make_channel, make_user, send_now

pytestmark = pytest.mark.django_db

HOOK = {"kind": "webhook", "label": "Server", "fields": {"url": "https://example.org/hook/t0ken"}}
MAIL = {"kind": "email", "fields": {"address": "grace@example.org"}}


def code_sent() -> str:
    """The code in the newest email."""
    send_now(Delivery.objects.latest("id").id)
    return next(word for word in str(mail.outbox[-1].body).split() if len(word) == 9 and word[4] == "-")


def test_a_webhook_is_added_and_its_secret_is_told_once(api: Api, ada: User) -> None:
    made = api.post("/channels", HOOK)
    assert (made.status_code, made.json()["state"], made.json()["label"]) == (201, "unverified", "Server")
    assert made.json()["secret"].startswith("whsec_")
    assert made.json()["code_sent"]
    assert Notification.objects.get().origin == "code"
    read = api.get(f"/channels/{made.json()['id']}")
    assert "secret" not in read.json()
    for answer in (read, api.get("/channels"), api("PATCH", f"/channels/{made.json()['id']}", {"label": "S"})):
        assert made.json()["secret"] not in answer.content.decode()
        assert "t0ken" not in answer.content.decode()


def test_a_repeated_create_tells_the_same_secret_which_is_kept_encrypted(api: Api) -> None:
    first, again = (api.post("/channels", HOOK, Idempotency_Key="k") for _ in range(2))
    assert first.content == again.content
    assert first["ETag"] == again["ETag"]
    assert Channel.objects.count() == 1
    assert first.json()["secret"] not in StoredAnswer.objects.get().body


def test_a_channel_is_verified_by_the_code_that_was_sent(api: Api) -> None:
    key = api.post("/channels", MAIL).json()["id"]
    code = code_sent()
    assert wrong_fields(api.post(f"/channels/{key}/verify", {"code": "0000-0000"})) == ["code"]
    assert api.post(f"/channels/{key}/test").status_code == 409
    done = api.post(f"/channels/{key}/verify", {"code": code})
    assert (done.status_code, done.json()["state"]) == (200, "ready")
    assert api.post(f"/channels/{key}/verify", {"code": "0000-0000"}).status_code == 200
    assert api.post(f"/channels/{key}/code").status_code == 409


def test_each_wrong_code_counts_also_with_an_idempotency_key(api: Api) -> None:
    key = api.post("/channels", MAIL).json()["id"]
    code = code_sent()
    for number in range(5):
        wrong = f"{(int(code.replace('-', '')) + 1 + number) % 10**8:08}"
        answers = [api.post(f"/channels/{key}/verify", {"code": wrong}, Idempotency_Key=f"k{number}") for _ in range(2)]
        assert [wrong_fields(one) for one in answers] == [["code"], ["code"]]
    assert wrong_fields(api.post(f"/channels/{key}/verify", {"code": code}, Idempotency_Key="right")) == ["code"]
    assert Channel.objects.get().verified_at is None


def test_a_second_code_within_a_minute_is_refused(api: Api) -> None:
    key = api.post("/channels", MAIL).json()["id"]
    refused = api.post(f"/channels/{key}/code")
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-messages")
    assert refused["Retry-After"] == "60"
    assert Notification.objects.count() == 1


def test_a_test_is_sent_and_its_result_is_read(api: Api, ada: User) -> None:
    inbox = make_channel(ada)
    sent = api.post(f"/channels/{inbox.id}/test")
    assert sent.status_code == 202
    send_now(Delivery.objects.get().id)
    [delivery] = api.get(sent["Location"].removeprefix("/api/v1")).json()["deliveries"]
    assert (delivery["id"], delivery["state"]) == (sent.json()["delivery_id"], "delivered")
    assert [one["outcome"] for one in delivery["attempts"]] == ["delivered"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"kind": "pigeon"}, ["kind"]),
        ({"kind": "webhook"}, ["fields.url"]),
        ({"kind": "email", "fields": {"address": "grace"}}, ["fields.address"]),
        ({"kind": "email", "fields": {"address": "grace@example.org", "cc": "x"}}, ["fields.cc"]),
        ({"kind": "email", "fields": {"address": 1}}, ["fields.address"]),
        ({"kind": "email", "fields": {"address": "grace@example.org"}, "label": "x" * 81}, ["label"]),
        ({"kind": "webhook", "fields": {"url": "https://example.org/", "headers": "Host: x"}}, ["fields.headers"]),
        ({"kind": "inbox", "colour": "red"}, ["colour"]),
        ({"label": "x"}, ["kind"]),
    ],
)
def test_a_wrong_channel_is_refused_by_its_field(api: Api, body: dict[str, Any], fields: list[str]) -> None:
    assert wrong_fields(api.post("/channels", body)) == fields
    assert not Channel.objects.exists()


def test_a_second_inbox_and_one_channel_too_many_are_conflicts(api: Api, ada: User, settings: Any) -> None:
    make_channel(ada)
    assert api.post("/channels", {"kind": "inbox"}).status_code == 409
    settings.MOST_CHANNELS = 1
    assert api.post("/channels", MAIL).status_code == 409
    assert Channel.objects.count() == 1


def test_each_kind_says_its_fields(api: Api) -> None:
    kinds = {one["kind"]: one for one in api.get("/channels/kinds").json()["items"]}
    assert set(kinds) == {provider.kind for provider in providers.all()}
    assert [one["name"] for one in kinds["webhook"]["fields"]] == ["url", "secret", "headers", "cloudevents"]
    assert all(one["label"] for kind in kinds.values() for one in kind["fields"])
    assert next(one for one in kinds["ntfy"]["fields"] if one["name"] == "priority")["choices"]


def test_a_change_keeps_what_is_not_given_and_another_address_is_verified_again(api: Api, ada: User) -> None:
    hook = make_channel(ada, "webhook", secrets={"secret": "whsec_" + "c2VjcmV0" * 4, "path": "/hook"})
    before = hook.destination().secrets
    path = f"/channels/{hook.id}"
    named = api("PATCH", path, {"label": "Phone", "on_unknown": "hold"})
    assert (named.status_code, named.json()["label"], named.json()["on_unknown"]) == (200, "Phone", "hold")
    assert (named.json()["state"], named.json()["secret"]) == ("ready", None)
    headed = api("PATCH", path, {"fields": {"headers": "X-Token: 1", "url": "https://example.org/hook"}}).json()
    assert headed["state"] == "unverified"
    after = Channel.objects.get(id=hook.id).destination().secrets
    assert json.loads(after["headers"]) == {"X-Token": "1"}
    assert after["secret"] == before["secret"]
    dropped = api("PATCH", path, {"fields": {"headers": None}})
    assert dropped.status_code == 200
    assert "headers" not in Channel.objects.get(id=hook.id).destination().secrets
    assert wrong_fields(api("PATCH", path, {"fields": {"secret": "x"}})) == ["fields.secret"]
    assert wrong_fields(api("PATCH", path, {"label": ""})) == ["label"]
    assert wrong_fields(api("PATCH", path, {"on_unknown": "perhaps"})) == ["on_unknown"]
    assert api("PATCH", path, {"give_up_after": 3600}).json()["give_up_after"] == 3600
    assert api("PATCH", path, {"give_up_after": None}).json()["give_up_after"] is None
    assert wrong_fields(api("PATCH", path, {"give_up_after": 5})) == ["give_up_after"]


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_nobody_overwrites_a_change_that_they_have_not_seen(api: Api, ada: User, method: str) -> None:
    hook = make_channel(ada, "webhook")
    path = f"/channels/{hook.id}"
    seen = api.get(path)["ETag"]
    assert api("PATCH", path, {"on_unknown": "hold"}, If_Match=seen).status_code == 200
    refused = api(method, path, {"label": "Mine"} if method == "PATCH" else None, If_Match=seen)
    assert (refused.status_code, refused.json()["current"]["on_unknown"]) == (412, "hold")
    assert api(method, path, {"label": "Mine"}, If_Match=refused["ETag"]).status_code in {200, 204}


def test_a_removed_channel_is_gone_and_what_waits_for_it_is_cancelled(api: Api, ada: User) -> None:
    hook = make_channel(ada, "webhook")
    sent = api.post("/notifications", {"title": "Rent", "channel_ids": [str(hook.id)]}).json()
    assert api("DELETE", f"/channels/{hook.id}").status_code == 204
    assert api("DELETE", f"/channels/{hook.id}").status_code == 404
    assert api.get("/channels").json()["items"] == []
    assert api.get(f"/notifications/{sent['id']}").json()["deliveries"][0]["reason"]["code"] == "removed"


def test_a_channel_is_enabled_unless_an_operator_disabled_it(api: Api, ada: User) -> None:
    failed = make_channel(ada, "webhook", disabled_at=NOON, failing_since=NOON, **disabled("Gone."))
    stopped = make_channel(ada, "webhook", disabled_at=NOON, **disabled("No."))
    assert api.get(f"/channels/{failed.id}").json()["may_enable"]
    assert api.post(f"/channels/{failed.id}/enable").json()["state"] == "ready"
    assert api.post(f"/channels/{stopped.id}/enable").status_code == 409


def test_a_list_takes_few_statements_however_many_channels_there_are(api: Api, ada: User) -> None:
    for _ in range(20):
        make_channel(ada, "webhook")
    api.get("/me")
    with at_most(4):
        found = api.get("/channels?limit=15&kind=webhook").json()
    assert len(found["items"]) == 15
    assert found["next"]


def test_a_token_without_the_scope_changes_no_channel(ada: User) -> None:
    inbox, reading = make_channel(ada), Api(ada, ("read", "notifications"))
    assert reading.get(f"/channels/{inbox.id}").status_code == 200
    assert reading("DELETE", f"/channels/{inbox.id}").status_code == 403
    assert reading.post("/channels", MAIL).status_code == 403
    assert Api(make_user()).post(f"/channels/{inbox.id}/test").status_code == 404


@pytest.mark.parametrize("kind", ["webhook", "status"])
def test_a_signing_secret_is_replaced_and_told_once(api: Api, ada: User, kind: str) -> None:
    old = "whsec_" + "c2VjcmV0" * 4
    address = {"url": "https://example.org/hook", "types": ["delivery.*"]}
    channel = make_channel(ada, kind, {"secret": old, "path": "/hook"}, address=address)
    first, again = (api.post(f"/channels/{channel.id}/secret", Idempotency_Key="k") for _ in range(2))
    assert (first.status_code, first.content) == (200, again.content)
    stored = Channel.objects.get().destination().secrets
    assert first.json()["secret"] == stored["secret"] != old
    assert old in json.dumps(stored)
    assert first.json()["secret"] not in StoredAnswer.objects.get().body
    assert datetime.fromisoformat(first.json()["old_expires_at"]) - timezone.now() > timedelta(hours=23)
    read = api.get(f"/channels/{channel.id}")
    assert first.json()["secret"] not in read.content.decode()
    assert first["ETag"] == read["ETag"]
    assert LogEntry.objects.get().user == ada


def test_a_secret_is_not_replaced_unseen_nor_too_often_nor_where_there_is_none(api: Api, ada: User) -> None:
    channel, inbox = make_channel(ada, "webhook"), make_channel(ada)
    path = f"/channels/{channel.id}/secret"
    seen = api.get(f"/channels/{channel.id}")["ETag"]
    assert api.post(path, If_Match=seen).status_code == 200
    assert api.post(path, If_Match=seen).status_code == 412
    assert {api.post(path).status_code for _ in range(3)} == {200}
    assert api.post(path).status_code == 409
    assert api.post(f"/channels/{inbox.id}/secret").status_code == 409
    assert api.post(f"/channels/{make_channel(make_user(), 'webhook').id}/secret").status_code == 404


def test_a_secret_that_no_key_reads_is_not_replaced(api: Api, ada: User) -> None:
    channel = make_channel(ada, "webhook")
    Channel.objects.update(sealed_secrets="damaged")
    assert api.post(f"/channels/{channel.id}/secret").status_code == 409
