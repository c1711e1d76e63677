"""Webhooks that come in: stored with their events, once, and kept to look at."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from common.database import encryption
from common.uuid7 import first_of
from events.inbound import mapping, receive
from events.models import Event, InboundAddress, InboundRequest
from events.pure import types
from events.reasons import EventCode
from events.tasks import REQUESTS, prune as prune_events
from notifications.models import Notification
from notifications.net import chain
from people.models import User
from tests.db.locks import locked, wait_for_a_lock
from tests.make import make_channel, make_user, signed_in
from tests.unit.events.test_schemes import STANDARD, github, standard, stripe

TOKEN = "f" * 48
SECRET = "a secret of ours"
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
    address = InboundAddress(user=user or make_user(), hashed=encryption.hashed(token), label="Shop", **overrides)
    address.sealed_secrets = encryption.seal_secrets({"token": token, "secret": secret}, address.id)
    address.save()
    return address


def post(body: Any, headers: dict[str, str] | None = None, token: str = TOKEN) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Client(enforce_csrf_checks=True).generic(
        "POST", f"/in/{token}", raw, content_type="application/json", headers=headers or {}
    )


def in_thread(call: Callable[[], Any]) -> Any:
    try:
        return call()
    finally:
        connection.close()


def test_a_heartbeat_of_uptime_kuma_becomes_one_alert() -> None:
    make_address()
    heartbeat = {"monitorID": 7, "status": 0, "time": "2026-06-01 12:00:00", "msg": "timeout"}
    body = {"heartbeat": heartbeat, "monitor": {"id": 7, "name": "Shop"}, "msg": "[Shop] Down"}
    for same in (body, body | {"alerts": 5}):
        answer = post(same)
        assert (answer.status_code, len(answer.json()["ids"])) == (202, 1)
    event = Event.objects.latest("id")
    assert (event.type, event.data["key"], event.data["title"]) == ("alert.raised", "uptime-kuma-7", "Shop")


def test_nobody_who_posts_speaks_as_carillon() -> None:
    make_address()
    InboundAddress.objects.update(label=types.SOURCE)
    cloud_event = {"ce-specversion": "1.0", "ce-type": "order.paid", "ce-source": types.SOURCE, "ce-id": "1"}
    for headers in ({}, cloud_event):
        assert post(ORDER, headers).status_code == 202
    assert list(Event.objects.values_list("source", flat=True)) == ["", ""]


def test_what_a_message_of_ours_causes_goes_on_counting_its_steps() -> None:
    make_address()
    with chain.within("order 7", 3):
        ours = dict(chain.headers())
    for headers in (ours, {chain.HEADER: "9 order%207:forged"}):
        post(ORDER, headers)
    events = [(one.chain, one.hops) for one in Event.objects.order_by("id")]
    assert events[0] == ("order 7", 3)
    assert events[1][0] != "order 7" and events[1][1] == 0


def test_any_json_becomes_an_event_before_the_answer() -> None:
    address = make_address()
    answer = post(ORDER)
    event = Event.objects.get()
    assert (answer.status_code, answer.json()) == (202, {"ids": [str(event.key)]})
    assert (event.user, event.type, event.source, event.data) == (address.user, "shop.received", "Shop", ORDER)
    kept = address.requests.get()
    assert (kept.status, json.loads(kept.body), kept.event_keys) == (202, ORDER, [str(event.key)])


def test_a_request_that_cannot_be_stored_makes_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    make_address()
    monkeypatch.setattr(InboundRequest.objects, "create", Mock(side_effect=DatabaseError))
    with pytest.raises(DatabaseError):
        post(ORDER)
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    ("scheme", "secret", "sign"),
    [("github", SECRET, github), ("stripe", SECRET, stripe), ("standard", STANDARD, standard)],
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
    assert codes == (
        {EventCode.WRONG_SIGNATURE} if scheme == "github" else {EventCode.WRONG_SIGNATURE, EventCode.OLD_SIGNATURE}
    )


def test_an_event_has_its_senders_word_for_what_happened() -> None:
    make_address(scheme="github", secret=SECRET)
    body = json.dumps({"ref": "main"}).encode()
    post(body, github(SECRET, body, timezone.now()) | {"X-GitHub-Event": "pull_request"})
    assert Event.objects.get().type == "github.pull_request"


def test_alerts_of_grafana_and_alertmanager_are_one_event_each_and_repeat_once() -> None:
    address = make_address()
    assert post(ALERT).content == post(ALERT).content
    raised, resolved = Event.objects.order_by("type")[::-1][1], Event.objects.order_by("type").last()
    assert Event.objects.count() == 2
    assert resolved is not None
    assert (raised.type, resolved.type) == ("alert.raised", "alert.resolved")
    assert raised.data["key"] == "c4ca4238a0b92382"
    assert (raised.data["title"], raised.data["severity"]) == ("DiskFull", "critical")
    assert (raised.data["summary"], raised.data["ends_at"]) == ("The disk is full.", "")
    receive.replay(address, address.requests.all()[0])
    assert Event.objects.count() == 4


@pytest.mark.parametrize("in_form", [False, True])
def test_a_heartbeat_of_uptime_kuma_is_one_event_and_has_its_time(in_form: bool) -> None:
    make_address()
    heartbeat = {"status": 0, "time": "2026-06-01 12:00:00.123", "msg": "timeout"}
    body = json.dumps({"heartbeat": heartbeat, "monitor": {"id": 7, "name": "Shop"}, "msg": "[Shop] Down"})
    client = Client(enforce_csrf_checks=True)
    if in_form:  # as its “form-data” posts it
        answer = client.post(f"/in/{TOKEN}", {"data": body})
    else:
        answer = client.post(f"/in/{TOKEN}", body, content_type="application/json")
    event = Event.objects.get()
    assert (answer.status_code, event.type, event.data["title"]) == (202, "alert.raised", "Shop")
    assert event.occurred_at is not None and event.occurred_at.isoformat() == "2026-06-01T12:00:00.123000+00:00"


def test_an_alert_of_grafana_has_the_values_of_its_queries() -> None:
    make_address()
    post(ALERT | {"alerts": [ALERT["alerts"][0] | {"values": {"B": 44.2, "C": 1}}]})
    assert Event.objects.get().data["value"] == "B=44.2 C=1"


def test_an_event_has_its_senders_time() -> None:
    make_address(scheme="stripe", secret=SECRET)
    body = json.dumps({"type": "invoice.paid", "created": 1_780_000_000}).encode()
    post(body, stripe(SECRET, body, timezone.now()))
    make_address(scheme="standard", secret=STANDARD, token="e" * 48)
    body = json.dumps({"type": "order.paid", "timestamp": "2026-05-28T20:26:40Z"}).encode()
    post(body, standard(STANDARD, body, timezone.now()), token="e" * 48)
    make_address(token="d" * 48)
    post({"alerts": ALERT["alerts"][1:]}, token="d" * 48)
    times = Event.objects.order_by("id").values_list("occurred_at", flat=True)
    assert [time.isoformat() for time in times] == [
        *["2026-05-28T20:26:40+00:00"] * 2,
        "2026-06-01T12:00:00+00:00",
    ]


CLOUD_EVENT = {"specversion": "1.0", "id": "7", "source": "/shop", "type": "order.paid", "data": {"amount": 12}}


@pytest.mark.parametrize(
    ("content_type", "body", "headers", "count"),
    [
        ("application/cloudevents+json", CLOUD_EVENT, {}, 1),
        ("application/cloudevents-batch+json", [CLOUD_EVENT, CLOUD_EVENT | {"id": "8"}], {}, 2),
        (
            "application/json",
            {"amount": 12},
            {f"ce-{name}": value for name, value in CLOUD_EVENT.items() if name != "data"},
            1,
        ),
    ],
)
def test_cloud_events_are_taken_as_such_and_once(
    content_type: str, body: Any, headers: dict[str, Any], count: int
) -> None:
    address = make_address()
    for _ in range(2):
        answer = Client().generic("POST", f"/in/{TOKEN}", json.dumps(body), content_type=content_type, headers=headers)
        assert (answer.status_code, len(answer.json()["ids"])) == (202, count)
    for event in Event.objects.all():
        assert (event.type, event.source, event.data) == ("order.paid", "/shop", {"amount": 12})
    assert Event.objects.count() == count
    receive.replay(address, address.requests.all()[0])
    assert Event.objects.count() == 2 * count


@pytest.mark.parametrize("change", [{"source": ""}, {"time": "noon"}, {"type": "delivery.dead"}])
def test_a_malformed_cloud_event_is_taken_as_any_other_webhook(change: dict[str, str]) -> None:
    address = make_address()
    body = json.dumps(CLOUD_EVENT | change)
    answer = Client().generic("POST", f"/in/{TOKEN}", body, content_type="application/cloudevents+json")
    assert (answer.status_code, address.requests.get().reason_code) == (202, EventCode.MALFORMED)
    assert (Event.objects.get().type, Event.objects.get().data) == ("shop.received", CLOUD_EVENT | change)


def test_expressions_make_the_event() -> None:
    fields = {
        "type": "join('.', ['order', body.action])",
        "source": 'headers."x-shop"',
        "data": "{amount: body.amount}",
        "time": "body.at",
        "id": "body.id",
        "correlation_id": "body.cart",
    }
    address = make_address(fields=fields)
    sent = {"action": "paid", "amount": 12, "at": 1_780_000_000, "id": 77, "cart": 4711}
    keys = [post(sent, {"X-Shop": "berlin"}).json()["ids"] for _ in range(2)]
    event = Event.objects.get()
    assert keys == [[str(event.key)]] * 2
    assert (event.type, event.source, event.data) == ("order.paid", "berlin", {"amount": 12})
    assert (event.occurred_at.timestamp(), event.chain) == (1_780_000_000, "4711")
    receive.replay(address, address.requests.all()[0])
    assert Event.objects.count() == 2


@pytest.mark.parametrize("at", [1_780_000_000_000, "1780000000", "1780000000000", "2026-05-28t20:26:40z"])
def test_a_time_may_be_in_milliseconds_or_a_text(at: int | str) -> None:
    make_address(fields={"time": "body.at"})
    post({"at": at})
    event = Event.objects.get()
    assert event.occurred_at is not None and event.occurred_at.timestamp() == 1_780_000_000


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"type": "body.amount"}, "not_a_type"),
        ({"type": "'delivery.dead'"}, "not_a_type"),
        ({"data": "body.amount"}, "not_an_object"),
        ({"data": "{body: &body}"}, "json_value"),
        ({"time": "body.type"}, "not_an_instant"),
        ({"time": "`true`"}, "not_an_instant"),
        ({"time": "'2026-05-28T20:26:40'"}, "not_an_instant"),
        ({"correlation_id": '`"a\\nb"`'}, "correlation_id"),
    ],
)
def test_an_expression_that_does_not_fit_loses_nothing_and_says_so(fields: dict[str, str], code: str) -> None:
    address = make_address(fields=fields)
    assert post(ORDER).status_code == 202
    assert Event.objects.get().data == ORDER
    kept = address.requests.get()
    assert (kept.reason_code, kept.reason_params["field"]) == (EventCode.UNMAPPED, next(iter(fields)))
    assert kept.reason_params["problem"]["code"] == code


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
    assert address.requests.get().reason_code == EventCode.UNREADABLE_BODY


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
    for number in range(receive.MOST_REQUESTS + 3):
        post({"number": number}, {"Authorization": "Bearer x", "Cookie": "session=1"})
    kept = [json.loads(one.body)["number"] for one in address.requests.all()]
    assert kept == list(range(receive.MOST_REQUESTS + 2, 2, -1))
    assert other.requests.count() == 1
    assert not {"authorization", "cookie"} & set(InboundRequest.objects.filter(address=address)[0].headers)


def test_a_replay_is_a_new_event_even_of_what_was_refused() -> None:
    address = make_address(scheme="github", secret=SECRET)
    post(ORDER, {"X-Hub-Signature-256": "sha256=00"})
    refused = address.requests.get()
    assert Event.objects.count() == 0
    receive.replay(address, refused)
    receive.replay(address, refused)
    assert Event.objects.count() == 2
    assert list(Event.objects.values_list("data", flat=True)) == [ORDER, ORDER]


@pytest.mark.django_db(transaction=True)
def test_a_post_to_an_address_that_is_removed_meanwhile_is_not_found() -> None:
    address = make_address()
    with locked("events_inboundaddress", address.id, "UPDATE") as other, ThreadPoolExecutor(1) as pool:
        sent = pool.submit(in_thread, partial(post, ORDER))
        wait_for_a_lock()
        other.execute("DELETE FROM events_inboundaddress")
        other.commit()
        assert sent.result().status_code == 404
    assert not Event.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_address_is_removed_with_a_post_that_comes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    address = make_address()
    browser, trim = signed_in(address.user), receive.change
    with ThreadPoolExecutor(1) as pool:
        removals: list[Future[Any]] = []

        def remove_meanwhile(*statement: Any) -> int:
            """Behind the insert of the request."""
            removals.append(pool.submit(in_thread, partial(browser.post, f"/inbound/{address.id}/remove")))
            wait_for_a_lock()
            return trim(*statement)

        monkeypatch.setattr(receive, "change", remove_meanwhile)
        assert post(ORDER).status_code == 202
        assert removals[0].result().status_code == 302
    assert (InboundAddress.objects.count(), Event.objects.count()) == (0, 1)


def test_githubs_json_in_a_form_is_read() -> None:
    make_address()
    Client().post(f"/in/{TOKEN}", f"payload={json.dumps(ORDER)}", content_type="application/x-www-form-urlencoded")
    assert Event.objects.get().data == ORDER


def test_a_secret_that_cannot_be_read_is_said() -> None:
    address = make_address(scheme="github", secret=SECRET)
    InboundAddress.objects.filter(id=address.id).update(
        sealed_secrets=encryption.seal_secrets({"secret": "x"}, uuid4())
    )
    assert post(ORDER).status_code == 503


def test_guessing_addresses_and_posting_without_end_are_slowed_down(settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 3
    make_address()
    for token, answered in (("0" * 48, 404), (TOKEN, 202)):
        assert [post(ORDER, token=token).status_code for _ in range(4)] == [answered] * 3 + [429]


def in_utf16(text: str) -> bytes:
    return b"\xff\xfe" + text.encode("utf-16-le")


XML = (
    '<?xml version="1.0" encoding="iso-8859-1"?><o:order xmlns:o="urn:o" id="7"><name>Bäcker</name>'
    '<item n="1">Lamp</item><item/></o:order>'
)
ORDER_IN_XML = {"order": {"@o": "urn:o", "@id": "7", "name": "Bäcker", "item": [{"@n": "1", "#text": "Lamp"}, ""]}}
FORM = "application/x-www-form-urlencoded"
MULTIPART = (
    b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
    b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n'
    b"Content-Type: text/plain\r\n\r\nfour\r\n--x--\r\n"
)

PHOTO = (
    '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nä\r\n'
    '--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n'
    "Content-Type: image/png\r\n\r\n"
).encode() + b"\xff\xd8\x00abc\r\n--x--\r\n"


@pytest.mark.parametrize(
    ("content_type", "body", "data"),
    [
        ("application/json", b"\xef\xbb\xbf" + json.dumps(ORDER).encode(), ORDER),
        ("application/json", in_utf16('{"name": "Bäcker"}'), {"name": "Bäcker"}),
        ("application/json", '{"name": "Bäcker"}'.encode("utf-16-be"), {"name": "Bäcker"}),
        ("application/json; charset=iso-8859-1", '{"name": "Bäcker"}'.encode("latin-1"), {"name": "Bäcker"}),
        ('application/json; charset="Windows-1252"', '{"price": "5 €"}'.encode("cp1252"), {"price": "5 €"}),
        ("application/json; charset=iso-8859-1", '{"price": "5 €"}'.encode("cp1252"), {"price": "5 €"}),
        ("application/json; charset=iso-8859-1", b'{"name": "\xe4\x81"}', {"name": "ä\x81"}),
        ("application/cloudevents+json; charset=shift_jis", '{"name": "東京"}'.encode("shift_jis"), {"name": "東京"}),
        ("", json.dumps(ORDER).encode(), ORDER),
        (FORM, b"a=1&b=x%20y&a=2&c=", {"a": ["1", "2"], "b": "x y", "c": ""}),
        (FORM, b"payload=" + json.dumps(ORDER).encode(), ORDER),
        (
            "multipart/form-data; boundary=x",
            MULTIPART,
            {"a": "1", "f": {"name": "a.txt", "type": "text/plain", "bytes": 4}},
        ),
        ("application/json", b'{"a": 1e999, "b": ' + b"1" * 400 + b"}", {"a": "1e999", "b": "1" * 400}),
        ("application/xml", XML.encode("latin-1"), ORDER_IN_XML),
        ("application/soap+xml; charset=utf-8", XML.encode(), ORDER_IN_XML),
        ("text/xml", "<a>1 &lt; 2</a>".encode("utf-16"), {"a": "1 < 2"}),
        # A charset that is wrong, as senders write it by habit.
        ("application/json; charset=utf-16", '{"name": "Bäcker"}'.encode(), {"name": "Bäcker"}),
        ("application/json; charset=us-ascii", '{"name": "Bäcker"}'.encode(), {"name": "Bäcker"}),
        ("application/json; charset=iso-8859-1", '{"name": "Bäcker"}'.encode(), {"name": "Bäcker"}),
        ("application/json; charset=utf-8", in_utf16('{"name": "Bäcker"}'), {"name": "Bäcker"}),
        ("application/json; charset=utf-16", '{"name": "Bäcker"}'.encode("utf-16-le"), {"name": "Bäcker"}),
        ("application/json; charset=us-ascii", '{"name": "Bäcker"}'.encode("utf-16-le"), {"name": "Bäcker"}),
        ("application/json; charset=iso-8859-1", '{"name": "Bäcker"}'.encode("utf-32-be"), {"name": "Bäcker"}),
        (f"{FORM}; charset=iso-8859-1", "name=Bäcker".encode("utf-16"), {"name": "Bäcker"}),
        ("text/xml", '<?xml version="1.0" encoding="utf-16"?><a>ä</a>'.encode(), {"a": "ä"}),
        ("text/xml", '<?xml version="1.0" encoding="utf-16"?><a>ä</a>'.encode("utf-16-be"), {"a": "ä"}),
        ("text/xml", b'\n <?xml version="1.0"?><a/>\n', {"a": ""}),
        ("text/xml", b"<a><![CDATA[<b>&amp;]]> x<!-- c --><?p i?></a>", {"a": "<b>&amp; x"}),
        (
            "text/xml",
            b'<a x="1" n:x="2" xmlns:n="u">&#228;<b/>end<b>2</b></a>',
            {"a": {"@x": "1", "@n:x": "2", "@n": "u", "b": ["", "2"], "#text": "äend"}},
        ),
        (FORM, b"name=B%E4cker&b=%80", {"name": "Bäcker", "b": "€"}),
        (FORM, b"name=%81", {"name": "\x81"}),
        (f"{FORM}; charset=shift_jis", b"name=%93%8C", {"name": "東"}),
        (FORM, b"payload=hello", {"payload": "hello"}),
        (FORM, b' {"a": "x&y=1", "b": [1]}', {"a": "x&y=1", "b": [1]}),
        (FORM, b"[a]=1", {"[a]": "1"}),
        ("multipart/form-data; boundary=x", PHOTO, {"a": "ä", "f": {"name": "a", "type": "image/png", "bytes": 6}}),
        (
            "multipart/form-data; boundary=x; charset=iso-8859-1",
            PHOTO.replace("ä".encode(), b"\xe4").replace(b"\xff\xd8\x00", b"abc"),
            {"a": "ä", "f": {"name": "a", "type": "image/png", "bytes": 6}},
        ),
    ],
)
def test_a_body_is_read_as_its_sender_wrote_it_also_when_it_is_replayed(
    content_type: str, body: bytes, data: dict[str, Any]
) -> None:
    address = make_address()
    answer = Client().generic("POST", f"/in/{TOKEN}", body, content_type=content_type)
    assert answer.status_code == 202, answer.content
    assert Event.objects.get().data == data
    receive.replay(address, address.requests.get())
    assert [event.data for event in Event.objects.all()] == [data, data]


DEEP = "<a>" * 40 + "</a>" * 40
BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>'


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json; charset=klingon", b"{}"),
        ("application/json; charset=punycode", b"{}"),
        ("application/json; charset=zlib", b"{}"),
        ("application/json; charset=" + "x" * 300, b"{}"),
        ("application/json; charset=shift_jis", b'{"a": "\x81"}'),
        ("application/json", b'{"a": "\xe4"}'),
        ("application/json", b"\xff\xfe{"),
        ("application/json", b'{"a": "\\ud800"}'),
        ("application/json", b"[" * 100_000),
        (FORM, b"&".join(b"a%d=1" % number for number in range(1_001))),
        (FORM, b""),
        (FORM, b"a=%00"),
        (FORM, b"&&"),
        (FORM, b"payload=%7B"),
        (FORM, b"name=B\xe4cker"),
        ("multipart/form-data", MULTIPART),
        ("multipart/form-data; boundary=x", b"--x--\r\n"),
        ("multipart/form-data; boundary=x", MULTIPART.replace(b"\r\n1\r\n", b"\r\n\xe4\r\n")),
        ("application/xml", b"<a>&eacute;</a>"),
        ("application/xml", b""),
        ("application/xml", b"<a/><b/>"),
        ("multipart/form-data; boundary=x", b"no form"),
        ("application/xml", b"<a><b></a>"),
        ("application/xml", DEEP.encode()),
        ("application/xml", b"<a>" + b"<b/>" * 10_001 + b"</a>"),
        ("application/xml", BOMB.encode()),
        ("application/xml", b'<!DOCTYPE a SYSTEM "http://127.0.0.1/x"><a/>'),
        ("application/xml", b"\x00"),
    ],
)
def test_what_cannot_be_read_is_a_problem_and_kept(content_type: str, body: bytes) -> None:
    address = make_address()
    answer = Client().generic("POST", f"/in/{TOKEN}", body, content_type=content_type)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert (answer.json()["code"], bool(answer.json()["detail"])) == (EventCode.UNREADABLE_BODY, True)
    assert (address.requests.get().reason_code, Event.objects.count()) == (EventCode.UNREADABLE_BODY, 0)


EXPRESSIONS = [
    "to_number('1e999')",
    "to_number('-1e999')",
    "to_number('NaN')",
    "to_number('1e300')",
    f"to_number('{'9' * 400}')",
    "sum([body.big, body.big])",
    "avg(body.none)",
    '`"\\ud800"`',
    '`"\\u0000"`',
    '`{"\\u0000": 1}`',
    "`1e999`",
    "abs('x')",
    "join(',', body.numbers)",
    "[[[[[[[[[[[body]]]]]]]]]]]",
    "headers.x",
    "body.numbers[0:1:0]",
    "'2026-01-01T00:00:00+01:00:30.5'",
    "'2026-01-01T00:00:00-23:59:59.999999'",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("field", ["type", "source", "data", "time", "id"])
def test_no_result_of_an_expression_loses_a_request(field: str, expression: str) -> None:
    inner = f"{{a: {expression}}}" if field == "data" else expression
    deep: Any = 1
    for _ in range(29):
        deep = [deep]
    address = make_address(fields={field: inner})
    answer = post({"big": 9e17, "numbers": [1, 2], "deep": deep})
    assert answer.status_code == 202
    [key] = answer.json()["ids"]
    assert str(Event.objects.get().key) == key
    assert address.requests.get().status == 202


def test_an_event_takes_so_many_alerts_of_a_post_and_the_rest_is_named() -> None:
    address = make_address()
    firing = ALERT["alerts"][0]
    alerts = [firing | {"fingerprint": f"{number:016x}"} for number in range(mapping.MOST_ALERTS + 5)]
    answer = post(ALERT | {"alerts": alerts})
    assert (answer.status_code, len(answer.json()["ids"]), answer.json()["left_out"]) == (202, mapping.MOST_ALERTS, 5)
    assert Event.objects.count() == mapping.MOST_ALERTS
    kept = address.requests.get()
    assert (kept.reason_code, kept.reason_params["left_out"]) == (EventCode.TOO_MANY_ALERTS, 5)
    assert len(json.loads(kept.body)["alerts"]) == mapping.MOST_ALERTS + 5


def test_an_alert_that_is_too_large_is_an_event_that_says_so() -> None:
    make_address()
    big = ALERT["alerts"][0] | {"annotations": {"summary": "x" * 70_000}}
    assert post(ALERT | {"alerts": [big]}).status_code == 202
    assert Event.objects.get().data["too_large"] is True


@pytest.mark.parametrize(
    ("scheme", "secret"),
    [
        ("github", ""),
        ("stripe", ""),
        ("hmac", ""),
        ("hmac", "x"),
        ("standard", ""),
        ("standard", "whsec_"),
        ("standard", "no"),
    ],
)
def test_an_address_without_a_real_key_takes_nothing_and_its_owner_is_told_once_a_day(scheme: str, secret: str) -> None:
    address = make_address(scheme=scheme, secret=secret)
    make_channel(address.user)
    body = json.dumps(ORDER).encode()
    key = secret.encode() if secret != "whsec_" else b""
    signed = {
        "X-Signature": hmac.new(key, body, hashlib.sha256).hexdigest(),
        "X-Hub-Signature-256": "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest(),
    }
    now = timezone.now()
    for headers in (signed, stripe(secret, body, now), {}):
        assert post(body, headers).status_code == 503
    assert Event.objects.count() == 0
    assert set(address.requests.values_list("reason_code", flat=True)) == {EventCode.NO_SECRET}
    assert Notification.objects.filter(user=address.user, origin="notice").count() == 1


def test_only_headers_that_hold_no_secret_are_kept() -> None:
    address = make_address(fields={"source": 'headers."x-shop"', "id": 'headers."x-api-token"'})
    secret = dict.fromkeys(("Authorization", "X-Gitlab-Token", "X-Api-Key", "X-Api-Token", "X-Other"), "secret")
    assert post(ORDER, secret | {"X-Shop": "Berlin", "X-GitHub-Event": "push"}).status_code == 202
    kept = address.requests.get().headers
    assert (kept["x-shop"], kept["x-github-event"]) == ("Berlin", "push")
    assert kept.keys() <= {"content-length", "content-type", "x-shop", "x-github-event"}


def test_the_bodies_of_an_address_that_are_kept_have_a_size() -> None:
    address = make_address()
    for number in range(6):
        post({"number": number, "text": "x" * 250_000})
    assert [json.loads(one.body)["number"] for one in address.requests.all()] == [5, 4, 3, 2]


def test_a_form_without_fields_is_not_said_to_have_too_many() -> None:
    make_address()
    assert "no fields" in Client().generic("POST", f"/in/{TOKEN}", b"&&", content_type=FORM).json()["detail"]


def test_requests_are_kept_for_three_months() -> None:
    address = make_address()
    for days in (89, 91):
        at = timezone.now() - timedelta(days=days)
        InboundRequest.objects.create(id=first_of(at), address=address, at=at, status=days)
    assert REQUESTS.count() == 1
    prune_events()
    assert InboundRequest.objects.get().status == 89
