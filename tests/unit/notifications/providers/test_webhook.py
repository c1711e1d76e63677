import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import standardwebhooks
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from django.conf import settings
from hypothesis import strategies
from standardwebhooks import WebhookVerificationError

from demo.receivers import HTTPReceiver, Received, Reply
from notifications import providers
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.reasons import DeliveryCode
from tests.network import KEY, answered, make_message
from work.answers import Answer, Retryable
from work.reasons import Reason

WEBHOOK = providers.get("webhook")
RECEIVER = "the receiver"
ANSWER = None
KEY_BYTES = b"planted-planted-planted-planted"
SECRET = "whsec_" + base64.b64encode(KEY_BYTES).decode()
BASE = "https://example.org/"

VALID = [
    {"url": "https://example.org/hooks/carillon"},
    {"url": "http://example.org:8080/?token=planted", "secret": SECRET},
    {"url": "https://93.184.216.34/", "secret": ""},
    {"url": "https://example.org/planted", "headers": "Authorization: Bearer planted\r\n\r\nX-Room: 7"},
]
WRONG_URLS = ["", "example.org/hooks", "ftp://example.org/", "http://10.0.0.1/", "http://ada:planted@example.org/"]
WRONG_URLS += ["http://192.168.1.1/", "http://example.org:22/", BASE + "x" * 2000, BASE + "\x01"]
WRONG_HEADERS = ["planted", "X Room: planted", "X-Room:", "X-Room: plantéd", "hOST: example.net", "Content-Length: 0"]
WRONG_HEADERS += ["webhook-signature: planted", "Transfer-Encoding: chunked", "X-Room: 1\nx-room: 2"]
WRONG_HEADERS += ["\n".join(f"X-{n}: 1" for n in range(11))]
LONG_SECRET = "whsec_" + base64.b64encode(b"x" * 65).decode()
INVALID = [
    ({}, "url"),
    *[({"url": url}, "url") for url in WRONG_URLS],
    *[({"url": BASE, "headers": headers}, "headers") for headers in WRONG_HEADERS],
    *[
        ({"url": BASE, "secret": secret}, "secret")
        for secret in ("planted", "whsec_c2hvcnQ=", LONG_SECRET, "whsec_ÄÄÄÄ" * 8)
    ],
]


SENT = (
    "/hooks/carillon?token=planted&x=%20",
    {"webhook-id": str(KEY)},
    {
        "type": "notification",
        "timestamp": "2026-03-29T07:00:00Z",
        "data": {
            "id": str(KEY),
            "subject": "Water the plants",
            "body": "The ferns too. ☂",
            "slot_at": "2026-03-29T07:00:00Z",
            "recipient": "Ada",
            "answer_url": None,
            "unsubscribe_url": None,
            "correlation_id": str(KEY),
            "schedule_id": None,
            "category": None,
            "data": None,
        },
    },
)
MEANINGS: list[tuple[dict[str, str], Reply, Answer]] = [
    *[({}, Reply(status), Delivered(Reason(DeliveryCode.ACCEPTED, status=status))) for status in (200, 299)],
    ({}, Reply(204, body=b""), Delivered(Reason(DeliveryCode.ACCEPTED, status=204))),
    *[({}, Reply(status), Rejected(answered(RECEIVER, status))) for status in (400, 404)],
    ({}, Reply(410), Rejected(answered(RECEIVER, 410, DeliveryCode.GONE), gone=True)),
    ({}, Reply(308), Rejected(answered(RECEIVER, 308, DeliveryCode.REDIRECT))),
    *[({}, Reply(status), Retryable(answered(RECEIVER, status))) for status in (408, 425, 500, 599)],
    ({}, Reply(429, {"Retry-After": "7"}), Retryable(answered(RECEIVER, 429), 7.0)),
    ({}, Reply(429, {"Retry-After": "soon"}), Retryable(answered(RECEIVER, 429))),
    ({}, Reply(503, {"retry-after": "0"}), Retryable(answered(RECEIVER, 503), 0.0)),
]

TEXTS = {"data"}
TEXT = strategies.nothing()


def destination(origin: str, path: str = "/hooks/carillon?token=planted&x=%20") -> Destination:
    return WEBHOOK.destination({"url": f"{origin}{path}", "secret": SECRET})


def check_text(request: Received, message: Message) -> None:
    data = request.verified(SECRET)["data"]
    assert (data["subject"], data["body"], data["recipient"]) == (message.subject, message.body, message.recipient)


def key_of(request: Received) -> str:
    return str(request.headers["webhook-id"])


def test_the_signature_is_the_one_of_the_specification(receiver: HTTPReceiver) -> None:
    WEBHOOK.send(make_message(), destination(receiver.origin))
    [request] = receiver.requests
    signed = f"{KEY}.{request.headers['webhook-timestamp']}.".encode() + request.body
    mac = base64.b64encode(hmac.new(KEY_BYTES, signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{mac}"


def test_both_families_of_headers_verify(receiver: HTTPReceiver) -> None:
    WEBHOOK.send(make_message(), destination(receiver.origin))
    [request] = receiver.requests
    for prefix in ("webhook", "svix"):
        names = ("id", "timestamp", "signature")
        headers = {f"webhook-{name}": request.headers[f"{prefix}-{name}"] for name in names}
        assert standardwebhooks.Webhook(SECRET).verify(request.body.decode(), headers) == json.loads(request.body)


def test_a_message_can_be_a_cloud_event(receiver: HTTPReceiver) -> None:
    cleaned = {"url": f"{receiver.origin}/hook", "secret": SECRET, "cloudevents": True}
    WEBHOOK.send(make_message(), WEBHOOK.destination(cleaned))
    [request] = receiver.requests
    request.verified(SECRET)
    event = from_http_event(HTTPMessage(dict(request.headers), request.body))
    assert request.headers["Content-Type"] == "application/cloudevents+json"
    assert (event.get_id(), event.get_source()) == (str(KEY), settings.BASE_URL)
    assert event.get_time() == datetime(2026, 3, 29, 7, tzinfo=UTC)
    assert event.get_data() == SENT[2]["data"]


def test_changing_the_format_changes_no_address(receiver: HTTPReceiver) -> None:
    before = destination(receiver.origin)
    after = WEBHOOK.update(before, {**WEBHOOK.form_secrets(before), "cloudevents": True})
    assert after == Destination({**before.address, "cloudevents": True}, before.secrets)
    assert WEBHOOK.form_initial(after) == {"cloudevents": True}


def test_another_secret_does_not_verify(receiver: HTTPReceiver) -> None:
    WEBHOOK.send(make_message(), destination(receiver.origin))
    with pytest.raises(WebhookVerificationError):
        receiver.requests[0].verified("whsec_" + base64.b64encode(b"y" * 24).decode())


def test_a_generated_secret_verifies(receiver: HTTPReceiver) -> None:
    generated = WEBHOOK.destination({"url": receiver.url, "secret": ""})
    secret = generated.secrets[WEBHOOK.revealed]
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 24
    assert secret != WEBHOOK.destination({"url": receiver.url, "secret": ""}).secrets[WEBHOOK.revealed]
    WEBHOOK.send(make_message(), generated)
    receiver.requests[0].verified(secret)


@pytest.mark.parametrize(
    ("fields", "shown"),
    [({"slot": None}, (None, None)), ({"early": 10}, ("2026-03-29T07:00:00Z", 10))],
    ids=["nothing scheduled it", "its slot is still ahead"],
)
def test_a_message_that_is_not_due_has_the_time_of_sending(
    fields: dict[str, Any], shown: object, receiver: HTTPReceiver
) -> None:
    before = datetime.now(UTC)
    WEBHOOK.send(make_message(**fields), destination(receiver.origin))
    document = json.loads(receiver.requests[0].body)
    assert (document["data"]["slot_at"], document["data"].get("early")) == shown
    assert before.replace(microsecond=0) <= datetime.fromisoformat(document["timestamp"]) <= datetime.now(UTC)


def test_a_retry_after_date_becomes_seconds(receiver: HTTPReceiver) -> None:
    when = datetime.now(UTC) + timedelta(minutes=2)
    receiver.answer = Reply(429, {"Retry-After": when.strftime("%a, %d %b %Y %H:%M:%S GMT")})
    answer = WEBHOOK.send(make_message(), destination(receiver.origin))
    assert isinstance(answer, Retryable)
    assert answer.retry_after == pytest.approx(120, abs=3)


def test_a_damaged_secret_is_rejected_with_advice(receiver: HTTPReceiver) -> None:
    damaged = Destination(address={"url": receiver.url}, secrets={"secret": "planted"})
    answer = WEBHOOK.send(make_message(), damaged)
    assert answer == Rejected(Reason(DeliveryCode.DAMAGED, part="signing secret"))
    assert receiver.requests == []


def test_the_path_is_stored_as_a_secret_but_for_its_first_word() -> None:
    assert destination("https://example.org").address == {"url": "https://example.org", "hint": "/hooks/…"}


@pytest.mark.parametrize(
    ("url", "summary"),
    [
        ("https://example.org/", "example.org"),
        ("https://example.org/hooks/T0KEN/x?token=planted", "example.org/hooks/…"),
        ("https://example.org:8443/T0KEN/x", "example.org:8443/…"),
        ("https://example.org/planted", "example.org/…"),
    ],
)
def test_a_summary_shows_the_host_and_no_token(url: str, summary: str) -> None:
    assert WEBHOOK.summary(WEBHOOK.destination({"url": url})) == summary


def test_the_persons_headers_are_sent_beside_ours(receiver: HTTPReceiver) -> None:
    form = WEBHOOK.form({"url": receiver.url, "headers": "Authorization: Bearer planted\nUser-Agent:  Ada's  "})
    assert form.is_valid(), form.errors
    with_headers = WEBHOOK.destination(form.cleaned_data)
    WEBHOOK.send(make_message(), with_headers)
    headers = receiver.requests[0].headers
    assert (headers["Authorization"], headers["User-Agent"]) == ("Bearer planted", "Ada's")
    receiver.requests[0].verified(with_headers.secrets["secret"])


def test_a_replaced_secret_signs_beside_the_new_one_for_a_day(receiver: HTTPReceiver) -> None:
    first = destination(receiver.origin)
    second = WEBHOOK.rotate(first, datetime.now(UTC))
    assert second is not None
    assert second.secrets["secret"] != SECRET
    WEBHOOK.send(make_message(), second)
    assert receiver.requests[0].verified(second.secrets["secret"])
    assert receiver.requests[0].verified(SECRET)
    assert receiver.requests[0].path == SENT[0]


def test_a_day_later_only_the_new_secret_signs(receiver: HTTPReceiver) -> None:
    rotated = WEBHOOK.rotate(destination(receiver.origin), datetime.now(UTC) - timedelta(hours=24, seconds=1))
    assert rotated is not None
    WEBHOOK.send(make_message(), rotated)
    assert receiver.requests[0].verified(rotated.secrets["secret"])
    with pytest.raises(WebhookVerificationError):
        receiver.requests[0].verified(SECRET)


def test_a_secret_replaced_twice_still_signs_for_a_receiver_that_has_not_changed(receiver: HTTPReceiver) -> None:
    now = datetime.now(UTC)
    second = WEBHOOK.rotate(destination(receiver.origin), now - timedelta(hours=23))
    assert second is not None
    third = WEBHOOK.rotate(second, now)
    assert third is not None
    assert WEBHOOK.overlap_ends(third, now) == [now + timedelta(hours=24), now + timedelta(hours=1)]
    WEBHOOK.send(make_message(), third)
    for secret in (SECRET, second.secrets["secret"], third.secrets["secret"]):
        assert receiver.requests[0].verified(secret)
    fourth = WEBHOOK.rotate(third, now + timedelta(hours=2))
    assert fourth is not None
    assert SECRET not in fourth.secrets["replaced"]
