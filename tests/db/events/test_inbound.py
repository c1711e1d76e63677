"""Webhooks that come in: stored with their events, once, and kept to look at."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from common import encryption
from events.inbound import receive
from events.models import Event, InboundAddress, InboundRequest
from events.reasons import Code
from people.models import User
from tests.make import make_user
from tests.unit.events.test_schemes import STANDARD, github, standard, stripe

TOKEN = "f" * 48
ORDER = {"type": "order.paid", "amount": 12}
ALERT: dict[str, Any] = {
    "version": "4",
    "status": "firing",
    "receiver": "carillon",
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "DiskFull", "severity": "critical"},
            "annotations": {"summary": "The disk is full."},
            "startsAt": "2026-06-01T12:00:00Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "https://prometheus.example.org",
            "fingerprint": "c4ca4238a0b92382",
        },
        {
            "status": "resolved",
            "labels": {"alertname": "LoadHigh"},
            "startsAt": "2026-06-01T11:00:00Z",
            "endsAt": "2026-06-01T12:00:00Z",
            "fingerprint": "c81e728d9d4c2f63",
        },
    ],
}


def make_address(user: User | None = None, secret: str = "", token: str = TOKEN, **overrides: Any) -> InboundAddress:
    address = InboundAddress(user=user or make_user(), hashed=receive.hashed(token), label="Shop", **overrides)
    address.sealed_secrets = encryption.seal_secrets({"token": token, "secret": secret}, address.id)
    address.save()
    return address


def post(body: Any, headers: dict[str, str] | None = None, token: str = TOKEN) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Client(enforce_csrf_checks=True).generic(
        "POST", f"/in/{token}", raw, content_type="application/json", headers=headers or {}
    )


def test_any_json_becomes_an_event_before_the_answer() -> None:
    address = make_address()
    answer = post(ORDER)
    event = Event.objects.get()
    assert (answer.status_code, answer.json()) == (202, {"ids": [str(event.key)]})
    assert (event.user, event.type, event.source, event.data) == (address.user, "shop.received", "Shop", ORDER)
    kept = address.requests.get()
    assert (kept.status, json.loads(kept.body), kept.event_keys) == (202, ORDER, [str(event.key)])


@pytest.mark.parametrize(
    ("scheme", "secret", "sign"),
    [("github", "secret", github), ("stripe", "secret", stripe), ("standard", STANDARD, standard)],
)
def test_a_delivery_that_is_repeated_is_one_event_and_a_wrong_or_old_one_is_none(
    scheme: str, secret: str, sign: Any
) -> None:
    address = make_address(scheme=scheme, secret=secret)
    body, now = json.dumps(ORDER).encode(), timezone.now()
    first = post(body, sign(secret, body, now))
    again = post(body, sign(secret, body, now + timedelta(seconds=1)) | {"X-GitHub-Delivery": "other"})
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.content == again.content
    assert post(body + b" ", sign(secret, body, now)).status_code == 401
    if scheme != "github":
        assert post(body, sign(secret, body, now - timedelta(hours=1))).status_code == 401
    assert Event.objects.count() == 1
    codes = set(address.requests.filter(status=401).values_list("reason_code", flat=True))
    assert codes == ({Code.WRONG_SIGNATURE} if scheme == "github" else {Code.WRONG_SIGNATURE, Code.OLD_SIGNATURE})


def test_an_event_has_its_senders_word_for_what_happened() -> None:
    make_address(scheme="github", secret="s")
    body = json.dumps({"ref": "main"}).encode()
    post(body, github("s", body, timezone.now()) | {"X-GitHub-Event": "pull_request"})
    assert Event.objects.get().type == "github.pull_request"


def test_alerts_of_grafana_and_alertmanager_are_one_event_each_and_repeat_once() -> None:
    make_address()
    assert post(ALERT).content == post(ALERT).content
    raised, resolved = Event.objects.order_by("type")[::-1][1], Event.objects.order_by("type").last()
    assert Event.objects.count() == 2
    assert resolved is not None
    assert (raised.type, resolved.type) == ("alert.raised", "alert.resolved")
    assert raised.data["key"] == "c4ca4238a0b92382"
    assert (raised.data["title"], raised.data["severity"]) == ("DiskFull", "critical")
    assert (raised.data["summary"], raised.data["ends_at"]) == ("The disk is full.", "")


def test_expressions_make_the_event() -> None:
    fields = {
        "type": "join('.', ['order', body.action])",
        "source": 'headers."x-shop"',
        "data": "{amount: body.amount}",
        "time": "body.at",
        "id": "body.id",
    }
    make_address(fields=fields)
    sent = {"action": "paid", "amount": 12, "at": 1_780_000_000, "id": 77, "more": 1}
    keys = [post(sent, {"X-Shop": "berlin"}).json()["ids"] for _ in range(2)]
    event = Event.objects.get()
    assert keys == [[str(event.key)]] * 2
    assert (event.type, event.source, event.data) == ("order.paid", "berlin", {"amount": 12})
    assert event.occurred_at.timestamp() == 1_780_000_000


@pytest.mark.parametrize(
    "fields",
    [{"type": "body.amount"}, {"type": "'delivery.dead'"}, {"data": "body.amount"}, {"time": "body.type"}],
)
def test_an_expression_that_does_not_fit_loses_nothing_and_says_so(fields: dict[str, str]) -> None:
    address = make_address(fields=fields)
    assert post(ORDER).status_code == 202
    assert Event.objects.get().data == ORDER
    kept = address.requests.get()
    assert (kept.reason_code, kept.reason_params["field"]) == (Code.UNMAPPED, next(iter(fields)))


def test_what_is_too_large_for_an_event_is_kept_and_said() -> None:
    address = make_address()
    big = {"text": "x" * 200_000}
    assert post(big).status_code == 202
    assert Event.objects.get().data == {"too_large": True, "bytes": len(json.dumps(big, separators=(",", ":")))}
    assert len(address.requests.get().body) > 200_000


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"a": 1, "a": 2}', b'"\\u0000"', b"[" * 40 + b"]" * 40])
def test_what_is_no_json_is_refused_and_kept(body: bytes) -> None:
    address = make_address()
    answer = post(body)
    assert (answer.status_code, Event.objects.count()) == (400, 0)
    assert answer.json()["detail"]
    assert address.requests.get().reason_code == Code.NOT_JSON


def test_nobody_learns_more_than_that_an_address_is_not_there() -> None:
    make_address(user=make_user(is_active=False))
    assert post(ORDER).status_code == 404
    assert post(ORDER, token="0" * 48).status_code == 404
    assert Client().get(f"/in/{TOKEN}").status_code == 405


def test_one_that_is_switched_off_takes_nothing() -> None:
    make_address(enabled=False)
    assert (post(ORDER).status_code, Event.objects.count()) == (410, 0)


def test_the_last_requests_are_kept_without_secrets_and_none_of_others() -> None:
    address, other = make_address(), make_address(token="a" * 48)
    post(ORDER, token="a" * 48)
    for number in range(receive.KEPT + 3):
        post({"number": number}, {"Authorization": "Bearer x", "Cookie": "session=1"})
    kept = [json.loads(one.body)["number"] for one in address.requests.all()]
    assert kept == list(range(receive.KEPT + 2, 2, -1))
    assert other.requests.count() == 1
    assert not {"authorization", "cookie"} & set(InboundRequest.objects.filter(address=address)[0].headers)


def test_a_replay_is_a_new_event_even_of_what_was_refused() -> None:
    address = make_address(scheme="github", secret="s")
    post(ORDER, {"X-Hub-Signature-256": "sha256=00"})
    refused = address.requests.get()
    assert Event.objects.count() == 0
    receive.replay(address, refused, timezone.now())
    receive.replay(address, refused, timezone.now())
    assert Event.objects.count() == 2
    assert list(Event.objects.values_list("data", flat=True)) == [ORDER, ORDER]


def test_githubs_json_in_a_form_is_read() -> None:
    make_address()
    Client().post(f"/in/{TOKEN}", {"payload": json.dumps(ORDER)})
    client = Client()
    client.post(f"/in/{TOKEN}", f"payload={json.dumps(ORDER)}", content_type="application/x-www-form-urlencoded")
    assert Event.objects.get().data == ORDER


def test_a_secret_that_cannot_be_read_is_said() -> None:
    address = make_address(scheme="github", secret="s")
    InboundAddress.objects.filter(id=address.id).update(
        sealed_secrets=encryption.seal_secrets({"secret": "x"}, uuid4())
    )
    assert post(ORDER).status_code == 503


def test_guessing_addresses_and_posting_without_end_are_slowed_down(settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 3
    make_address()
    for token, answered in (("0" * 48, 404), (TOKEN, 202)):
        assert [post(ORDER, token=token).status_code for _ in range(4)] == [answered] * 3 + [429]
