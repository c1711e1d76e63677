import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import hypothesis
import pytest
from hypothesis import strategies
from pytest_django.fixtures import Settings
from standardwebhooks import WebhookVerificationError

from demo.receivers import HTTPReceiver, Reply, Reset
from demo.receivers.http import Answer as Told
from notifications import providers
from notifications.message import Ambiguous, Answer, Delivered, Destination, Message, Rejected, Retryable
from tests.providers.making import KEY, closed_port, make_message

WEBHOOK = providers.get("webhook")
SECRET = "whsec_" + base64.b64encode(b"planted-planted-planted-planted").decode()

VALID = [
    {"url": "https://example.org/hooks/carillon"},
    {"url": "http://example.org:8080/?token=planted", "secret": SECRET},
    {"url": "https://93.184.216.34/", "secret": ""},
    {"url": "https://example.org/planted", "headers": "Authorization: Bearer planted\r\n\r\nX-Room: 7"},
]
INVALID = [
    ({}, "url"),
    ({"url": ""}, "url"),
    ({"url": "example.org/hooks"}, "url"),
    ({"url": "ftp://example.org/"}, "url"),
    ({"url": "http://localhost/"}, "url"),
    ({"url": "http://ada:planted@example.org/"}, "url"),
    ({"url": "http://192.168.1.1/"}, "url"),
    ({"url": "http://example.org:22/"}, "url"),
    ({"url": "https://example.org/" + "x" * 2000}, "url"),
    ({"url": "https://example.org/\x01"}, "url"),
    ({"url": "https://example.org/", "secret": "planted"}, "secret"),
    ({"url": "https://example.org/", "headers": "planted"}, "headers"),
    ({"url": "https://example.org/", "headers": "X Room: planted"}, "headers"),
    ({"url": "https://example.org/", "headers": "X-Room:"}, "headers"),
    ({"url": "https://example.org/", "headers": "X-Room: plantéd"}, "headers"),
    ({"url": "https://example.org/", "headers": "hOST: example.net"}, "headers"),
    ({"url": "https://example.org/", "headers": "Content-Length: 0"}, "headers"),
    ({"url": "https://example.org/", "headers": "webhook-signature: planted"}, "headers"),
    ({"url": "https://example.org/", "headers": "Transfer-Encoding: chunked"}, "headers"),
    ({"url": "https://example.org/", "headers": "X-Room: 1\nx-room: 2"}, "headers"),
    ({"url": "https://example.org/", "headers": "\n".join(f"X-{n}: 1" for n in range(11))}, "headers"),
    ({"url": "https://example.org/", "secret": "whsec_c2hvcnQ="}, "secret"),
    ({"url": "https://example.org/", "secret": "whsec_" + base64.b64encode(b"x" * 65).decode()}, "secret"),
    ({"url": "https://example.org/", "secret": "whsec_ÄÄÄÄ" * 8}, "secret"),
]


def make_destination(url: str) -> Destination:
    return WEBHOOK.destination({"url": url, "secret": SECRET})


def worlds() -> Iterator[Destination]:
    """For the contract: destinations, each in another state of the world."""
    statuses = (200, 204, 301, 400, 404, 408, 410, 425, 429, 500, 503, 599, 799)
    told: list[Told] = [*map(Reply, statuses), Reset()]
    for answer in told:
        with HTTPReceiver(answer) as receiver:
            yield make_destination(receiver.url + "?token=planted")
    yield make_destination(f"http://127.0.0.1:{closed_port()}/?token=planted")
    yield make_destination("http://nowhere.invalid/?token=planted")
    yield make_destination("http://10.0.0.1/?token=planted")
    yield make_destination("http://10.0.0.1/planted/hook")


def keys_sent(message: Message) -> list[str]:
    """For the contract: what two tries carry outside."""
    with HTTPReceiver() as receiver:
        receiver.answers.append(Reply(500))
        for _ in range(2):
            WEBHOOK.send(message, make_destination(receiver.url))
        return [request.headers["webhook-id"] for request in receiver.requests]


def test_the_reference_implementation_verifies_what_arrives(receiver: HTTPReceiver) -> None:
    assert WEBHOOK.send(make_message(), make_destination(receiver.url)) == Delivered("200 OK")
    (request,) = receiver.requests
    assert request.verified(SECRET) == {
        "type": "notification",
        "timestamp": "2026-03-29T07:00:00+00:00",
        "data": {
            "id": str(KEY),
            "subject": "Water the plants",
            "body": "The ferns too. ☂",
            "slot": "2026-03-29T07:00:00+00:00",
            "recipient": "Ada",
            "answer_url": None,
        },
    }
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["webhook-id"] == str(KEY)


@hypothesis.settings(max_examples=80, deadline=None, derandomize=True)
@hypothesis.given(subject=strategies.text(), body=strategies.text(), recipient=strategies.text())
def test_any_text_arrives_unharmed_and_verified(subject: str, body: str, recipient: str) -> None:
    with HTTPReceiver() as receiver:
        WEBHOOK.send(make_message(subject=subject, body=body, recipient=recipient), make_destination(receiver.url))
    data = receiver.requests[0].verified(SECRET)["data"]
    assert (data["subject"], data["body"], data["recipient"]) == (subject, body, recipient)


def test_another_secret_does_not_verify(receiver: HTTPReceiver) -> None:
    WEBHOOK.send(make_message(), make_destination(receiver.url))
    with pytest.raises(WebhookVerificationError):
        receiver.requests[0].verified("whsec_" + base64.b64encode(b"y" * 24).decode())


def test_a_secret_that_carillon_makes_verifies(receiver: HTTPReceiver) -> None:
    destination = WEBHOOK.destination({"url": receiver.url, "secret": ""})
    secret = destination.secrets[WEBHOOK.revealed]
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 24
    assert secret != WEBHOOK.destination({"url": receiver.url, "secret": ""}).secrets[WEBHOOK.revealed]
    WEBHOOK.send(make_message(), destination)
    receiver.requests[0].verified(secret)


def test_a_message_without_a_slot_is_stamped_with_the_time_of_its_sending(receiver: HTTPReceiver) -> None:
    WEBHOOK.send(make_message(slot=None), make_destination(receiver.url))
    document = json.loads(receiver.requests[0].body)
    assert document["data"]["slot"] is None
    assert abs(datetime.fromisoformat(document["timestamp"]) - datetime.now(UTC)) < timedelta(seconds=5)


def test_the_path_and_the_query_go_out_and_are_kept_with_the_secrets(receiver: HTTPReceiver) -> None:
    destination = make_destination(receiver.url + "?token=planted&x=%20")
    assert destination.address == {"url": receiver.origin, "hint": "/hooks/…"}
    WEBHOOK.send(make_message(), destination)
    assert receiver.requests[0].path == "/hooks/carillon?token=planted&x=%20"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (Reply(200), Delivered("200 OK")),
        (Reply(204, body=b""), Delivered("204 No Content")),
        (Reply(299), Delivered("299")),
        (Reply(400), Rejected("The receiver answered 400 Bad Request.")),
        (Reply(404), Rejected("The receiver answered 404 Not Found.")),
        (Reply(408), Retryable("The receiver answered 408 Request Timeout.")),
        (Reply(410), Rejected("The receiver answered 410 Gone: it wants no more messages.", gone=True)),
        (Reply(425), Retryable("The receiver answered 425 Too Early.")),
        (Reply(429, {"Retry-After": "7"}), Retryable("The receiver answered 429 Too Many Requests.", 7.0)),
        (Reply(429, {"Retry-After": "soon"}), Retryable("The receiver answered 429 Too Many Requests.")),
        (Reply(500), Retryable("The receiver answered 500 Internal Server Error.")),
        (Reply(503, {"retry-after": "0"}), Retryable("The receiver answered 503 Service Unavailable.", 0.0)),
        (Reply(599), Retryable("The receiver answered 599.")),
        (Reset(), Ambiguous("The connection to the receiver broke.")),
    ],
)
def test_each_answer_of_the_receiver_has_its_meaning(
    receiver: HTTPReceiver, reply: Reply | Reset, answer: Answer
) -> None:
    receiver.answer = reply
    assert WEBHOOK.send(make_message(), make_destination(receiver.url)) == answer


def test_a_redirect_is_rejected_with_advice(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(308, {"Location": receiver.url})
    answer = WEBHOOK.send(make_message(), make_destination(receiver.url))
    assert isinstance(answer, Rejected)
    assert "give this channel the final address" in answer.reason
    assert len(receiver.requests) == 1


def test_a_retry_after_date_becomes_seconds(receiver: HTTPReceiver) -> None:
    when = datetime.now(UTC) + timedelta(minutes=2)
    receiver.answer = Reply(429, {"Retry-After": when.strftime("%a, %d %b %Y %H:%M:%S GMT")})
    answer = WEBHOOK.send(make_message(), make_destination(receiver.url))
    assert isinstance(answer, Retryable)
    assert answer.retry_after == pytest.approx(120, abs=3)


def test_a_private_address_is_rejected_and_an_unknown_name_retried(settings: Settings) -> None:
    assert isinstance(WEBHOOK.send(make_message(), make_destination("http://10.0.0.1/")), Rejected)
    assert isinstance(WEBHOOK.send(make_message(), make_destination("http://nowhere.invalid/")), Retryable)


def test_a_damaged_secret_is_rejected_with_advice(receiver: HTTPReceiver) -> None:
    destination = Destination(address={"url": receiver.url}, secrets={"secret": "planted"})
    answer = WEBHOOK.send(make_message(), destination)
    assert answer == Rejected("This channel's signing secret is damaged. Remove the channel and add it again.")
    assert receiver.requests == []


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


def test_headers_of_ones_own_go_out_beside_ours(receiver: HTTPReceiver) -> None:
    form = WEBHOOK.form({"url": receiver.url, "headers": "Authorization: Bearer planted\nUser-Agent:  Ada's  "})
    assert form.is_valid(), form.errors
    destination = WEBHOOK.destination(form.cleaned_data)
    WEBHOOK.send(make_message(), destination)
    headers = receiver.requests[0].headers
    assert (headers["Authorization"], headers["User-Agent"]) == ("Bearer planted", "Ada's")
    receiver.requests[0].verified(destination.secrets["secret"])


def test_a_rotated_secret_signs_beside_the_one_before_for_a_day(receiver: HTTPReceiver) -> None:
    first = make_destination(receiver.url)
    second = WEBHOOK.rotated(first, datetime.now(UTC))
    assert second is not None
    assert second.secrets["secret"] != SECRET
    WEBHOOK.send(make_message(), second)
    assert receiver.requests[0].verified(second.secrets["secret"])
    assert receiver.requests[0].verified(SECRET)
    assert receiver.requests[0].path == "/hooks/carillon"


def test_a_day_later_only_the_new_secret_signs(receiver: HTTPReceiver) -> None:
    rotated = WEBHOOK.rotated(make_destination(receiver.url), datetime.now(UTC) - timedelta(hours=24, seconds=1))
    assert rotated is not None
    WEBHOOK.send(make_message(), rotated)
    assert receiver.requests[0].verified(rotated.secrets["secret"])
    with pytest.raises(WebhookVerificationError):
        receiver.requests[0].verified(SECRET)


def test_rotating_twice_breaks_no_promise_to_a_receiver_that_has_not_changed_over(receiver: HTTPReceiver) -> None:
    now = datetime.now(UTC)
    second = WEBHOOK.rotated(make_destination(receiver.url), now - timedelta(hours=23))
    assert second is not None
    third = WEBHOOK.rotated(second, now)
    assert third is not None
    assert WEBHOOK.overlaps(third, now) == [now + timedelta(hours=24), now + timedelta(hours=1)]
    WEBHOOK.send(make_message(), third)
    for secret in (SECRET, second.secrets["secret"], third.secrets["secret"]):
        assert receiver.requests[0].verified(secret)
    fourth = WEBHOOK.rotated(third, now + timedelta(hours=2))
    assert fourth is not None
    assert SECRET not in fourth.secrets["replaced"]
