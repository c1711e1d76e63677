import json
import time
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import strategies
from pytest_django import Settings

from config.environment import env
from demo.receivers import HTTPReceiver, Received, web_push
from demo.receivers.web_push import AUTH, BUSY, ENDED, OPEN, P256DH, SMALL, UNKNOWN, subscription
from notifications import providers
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.providers import push_encryption
from notifications.providers.web_push import SERVICE, public_key
from notifications.reasons import DeliveryCode
from tests.network import KEY, answered, make_message
from work.answers import Retryable
from work.reasons import Reason

WEB_PUSH = providers.get("web_push")
ANSWER = web_push.answer
read = web_push.read

VALID = [
    subscription("https://fcm.googleapis.com", "/fcm/send/planted"),
    subscription("https://web.push.apple.com", "/planted"),
    subscription("https://db5p.notify.windows.com", "/w/?token=planted"),
]
GOOD = VALID[0]
INVALID = [
    *[(GOOD | {name: ""}, name) for name in GOOD],
    (GOOD | {"endpoint": "https://hooks.example.org/planted"}, "endpoint"),
    (GOOD | {"endpoint": "https://evilfcm.googleapis.com/planted"}, "endpoint"),
    (GOOD | {"endpoint": "https://notify.windows.com.example.org/planted"}, "endpoint"),
    (GOOD | {"endpoint": "planted"}, "endpoint"),
    (GOOD | {"p256dh": P256DH[:-4]}, "p256dh"),
    (GOOD | {"p256dh": "B" + "A" * 86}, "p256dh"),
    (GOOD | {"auth": AUTH[:-4]}, "auth"),
]

SENT = (
    OPEN,
    {
        "Content-Type": "application/octet-stream",
        "Content-Encoding": "aes128gcm",
        "TTL": "86400",
        "Urgency": "high",
        "Topic": KEY.hex,
    },
    {
        "tag": KEY.hex,
        "title": "Water the plants",
        "body": "The ferns too. ☂",
        "open": "",
        "answer": "",
        "stop": "",
        "said": {
            "done": "Done",
            "snooze": "Snooze 10 minutes",
            "stop": "Stop these messages",
            "failed": "Not saved",
            "again": "Open “#” and try again.",
        },
        "snoozes": [
            ["1-hour", "Snooze: 1 hour"],
            ["tomorrow", "Snooze: Tomorrow, 08:00"],
            ["next-week", "Snooze: Next Monday, 08:00"],
        ],
    },
)
MEANINGS = [
    ({"path": ENDED}, None, Rejected(Reason(DeliveryCode.SUBSCRIPTION_ENDED), gone=True)),
    ({"path": UNKNOWN}, None, Rejected(Reason(DeliveryCode.SUBSCRIPTION_ENDED), gone=True)),
    ({"path": BUSY}, None, Retryable(answered(SERVICE, 429), 30.0)),
    ({"path": SMALL}, None, Rejected(answered(SERVICE, 413))),
]

TEXTS = {"title", "body"}
TEXT = strategies.nothing()


def destination(origin: str, path: str = OPEN) -> Destination:
    return WEB_PUSH.destination(subscription(origin, path))


def key_of(request: Received) -> str:
    return str(make_message().key) if read(request)["tag"] == KEY.hex else ""


def check_text(request: Received, message: Message) -> None:
    document = read(request)
    assert document["title"] == (WEB_PUSH.escape(message.subject) or "Reminder")
    assert document["body"] == WEB_PUSH.escape(message.body)


def test_the_encryption_is_that_of_the_example_in_rfc_8291() -> None:
    decode = push_encryption.decode
    sender = push_encryption.read_private_key("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
    browser = push_encryption.read_private_key("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")
    key, auth = push_encryption.public_key(browser), decode("BTBZMqHH6r4Tts7J_aSIgg")
    salt, text = decode("DGv6ra1nlYgDCS1FRnbzlw"), b"When I grow up, I want to be a watermelon"
    body = push_encryption._encrypt(text, key, auth, sender, salt)
    assert push_encryption.encode(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl"
        "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    assert web_push.decrypt(body, browser, auth) == text


def test_the_sender_is_signed_for_this_push_service_and_half_a_day(receiver: HTTPReceiver, settings: Settings) -> None:
    settings.BASE_URL = "https://carillon.example"
    assert WEB_PUSH.send(make_message(), destination(receiver.origin)) == Delivered()
    claims = web_push.sender(receiver.requests[0])
    assert (claims["aud"], claims["sub"], claims["key"]) == (receiver.origin, settings.BASE_URL, public_key())
    assert 11 * 3_600 < claims["exp"] - time.time() <= 12 * 3_600


def test_without_https_the_contact_is_an_email_address(receiver: HTTPReceiver, settings: Settings) -> None:
    settings.BASE_URL, settings.DEFAULT_FROM_EMAIL = "http://127.0.0.1:8000", "Carillon <bells@example.org>"
    WEB_PUSH.send(make_message(), destination(receiver.origin))
    assert web_push.sender(receiver.requests[0])["sub"] == "mailto:bells@example.org"


def test_a_subscription_keeps_the_key_it_was_made_with(receiver: HTTPReceiver, settings: Settings) -> None:
    there, before = destination(receiver.origin), public_key()
    settings.SECRET_KEY = "another planted secret"
    assert public_key() != before
    assert WEB_PUSH.send(make_message(), there) == Delivered()
    assert web_push.sender(receiver.requests[0])["key"] == before


def test_the_operators_own_key_is_used(settings: Settings) -> None:
    settings.VAPID_PRIVATE_KEY = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
    assert public_key().startswith("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIg")


@pytest.mark.parametrize("value", ["short", "ü" * 43, "A" * 44])
def test_a_key_that_is_none_stops_the_program_and_is_not_shown(value: str) -> None:
    with pytest.raises(env.Misconfigured, match="VAPID_PRIVATE_KEY") as error:
        env.vapid_key(value)
    assert value not in str(error.value)


def test_links_are_paths_and_the_longest_message_fits(receiver: HTTPReceiver) -> None:
    host = "https://carillon.example"
    answer, shown = f"/answer/{'0a' * 48}/", f"/history/{KEY}/"
    for letter in ("x", '"', "☂", "\n", "👩‍👧"):
        message = make_message(
            subject=letter * 4_000, body=letter * 40_000, answer_url=host + answer, open_url=host + shown
        )
        assert WEB_PUSH.send(message, destination(receiver.origin)) == Delivered(), letter
    assert max(len(request.body) for request in receiver.requests) <= push_encryption.RECORD
    document = read(receiver.requests[0])
    assert (document["answer"], document["open"]) == (answer, shown)


@pytest.mark.parametrize(("left", "kept"), [(None, 86_400), (100_000.0, 86_400), (3_600.9, 3_600), (0.5, 0), (-1.0, 0)])
def test_the_push_service_keeps_a_message_until_it_is_stale(
    receiver: HTTPReceiver, left: float | None, kept: int
) -> None:
    WEB_PUSH.send(make_message(left=left), destination(receiver.origin))
    assert receiver.requests[0].headers["TTL"] == str(kept)


def test_a_message_is_closed_by_its_own_tag_and_replaces_one_that_has_not_arrived(receiver: HTTPReceiver) -> None:
    assert WEB_PUSH.close(KEY, destination(receiver.origin)) == Delivered()  # type: ignore[attr-defined]
    [request] = receiver.requests
    assert (read(request), request.headers["Topic"]) == ({"tag": KEY.hex, "closed": "Done"}, KEY.hex)


def test_nobody_else_can_read_a_message(receiver: HTTPReceiver) -> None:
    WEB_PUSH.send(make_message(), destination(receiver.origin))
    [request] = receiver.requests
    assert b"ferns" not in request.body
    with pytest.raises(Exception):  # noqa: B017
        web_push.decrypt(request.body, ec.generate_private_key(ec.SECP256R1()), push_encryption.decode(AUTH))


def test_what_may_be_shown_of_a_subscription_is_its_service(receiver: HTTPReceiver) -> None:
    there = destination("https://fcm.googleapis.com", "/fcm/send/planted")
    assert set(there.address) == {"url", "digest"}
    assert there.address["url"] == "https://fcm.googleapis.com"
    assert WEB_PUSH.summary(there) == "Through fcm.googleapis.com"
    assert json.dumps(dict(there.address)).find(urlsplit(there.secrets["endpoint"]).path) == -1
