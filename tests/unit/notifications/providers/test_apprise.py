import html
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import hypothesis
import pytest
from hypothesis import strategies

from demo.receivers import Hang, HTTPReceiver, Received, Reply, gotify
from demo.receivers.gotify import TOKEN
from notifications import providers
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.net import http
from notifications.reasons import DeliveryCode
from tests.network import DEADLINE, SLACK, answered, make_message, shape_of, took
from work.answers import Ambiguous, Answer, Retryable
from work.reasons import Reason

APPRISE = providers.get("apprise")

ANSWER = gotify.answer

VALID = [
    {"url": f"gotify://push.example.org/{TOKEN}"},
    {"url": f"gotifys://push.example.org/{TOKEN}"},
    {"url": "pover://uplanteduplanteduplanteduplant@aplantedaplantedaplantedaplant"},
]
WRONG = [
    "planted",
    "gotify://push.example.org",
    "gotify://",
    "file:///etc/passwd",
    "syslog://planted",
    "dbus://planted",
]
WRONG += ["json://example.org/planted", "mailto://ada:planted@example.org", "tgram://planted/1", "<script>://planted"]
WRONG += [f"gotify://{host}/{TOKEN}" for host in ("10.0.0.1", "push.example.org:25")]
WRONG += ["gotify://" + "x" * 1000]
INVALID = [({}, "url"), *[({"url": url}, "url") for url in WRONG]]


SENT = (
    "/message",
    {"X-Gotify-Key": TOKEN},
    {"title": "Water the plants", "message": "The ferns too. ☂", "priority": 5},
)
MEANINGS: list[tuple[dict[str, str], Reply | None, Answer]] = [
    ({"token": TOKEN[:-1] + "9"}, None, Rejected(answered("Gotify", 401))),
    ({}, Reply(400), Rejected(answered("Gotify", 400))),
    ({}, Reply(302, {"Location": "http://10.0.0.1/"}), Rejected(answered("Gotify", 302))),
    ({}, Reply(429, {"Retry-After": "9"}), Retryable(answered("Gotify", 429), 9)),
    ({}, Reply(503), Retryable(answered("Gotify", 503))),
    ({}, Reply(201), Ambiguous(Reason(DeliveryCode.PARTIAL, service="Gotify"))),
]

TEXTS = {"title", "message"}
TEXT = strategies.nothing()


def destination(origin: str, token: str = TOKEN) -> Destination:
    return APPRISE.destination({"url": f"gotify://{urlsplit(origin).netloc}/{token}"})


def check_text(request: Received, message: Message) -> None:
    assert json.loads(request.body)["message"].strip() in (message.body.strip(), message.subject.strip())


def test_a_name_that_resolves_to_a_private_address_is_rejected(names: dict[str, list[str]]) -> None:
    names["push.example.org"] = ["10.0.0.1"]
    answer = APPRISE.send(make_message(), destination("http://push.example.org"))
    assert isinstance(answer, Rejected)
    assert answer.reason.code == DeliveryCode.PRIVATE


def test_the_form_says_that_an_address_is_private() -> None:
    form = APPRISE.form({"url": f"gotify://192.168.1.1/{TOKEN}"})
    assert "private network" in form.errors["url"][0]


def test_transport_options_in_the_url_are_ignored(receiver: HTTPReceiver) -> None:
    url = f"gotify://127.0.0.1:{receiver.port}/{TOKEN}?retry=5&wait=9&verify=no&redirect=yes&optional=yes&rto=99"
    receiver.answer = Reply(500)
    answer = APPRISE.send(make_message(), APPRISE.destination({"url": url}))
    assert answer == Retryable(answered("Gotify", 500))
    assert len(receiver.requests) == 1


def test_the_deadline_holds_for_a_silent_service(receiver: HTTPReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(APPRISE), "deadline", DEADLINE)
    receiver.answer = Hang()
    assert took(lambda: APPRISE.send(make_message(), destination(receiver.origin))) < DEADLINE + SLACK


def test_a_url_of_a_service_that_is_no_longer_allowed_is_rejected() -> None:
    for url in ("file:///etc/passwd", "syslog://", "", "gotify"):
        assert isinstance(APPRISE.send(make_message(), Destination({}, {"url": url})), Rejected)


WORDS = strategies.text(max_size=120) | strategies.text(alphabet="<>&*_`[]()#-~|!\\ \nab", max_size=120)


@contextmanager
def redirected(receiver: HTTPReceiver) -> Iterator[None]:
    """A post to a public address goes to the receiver instead."""
    real = http.request

    def request(method: str, url: str, **options: Any) -> http.Response:
        return real(method, f"{receiver.origin}{urlsplit(url).path}", **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(http, "request", request)
        yield


def check_html(document: Any, body: str) -> None:
    [content] = document["content"]
    assert content["type"] == "text/html"
    assert set(shape_of(content["value"])) <= {"br"}
    shown = html.unescape(re.sub("<br>\n?", "\n", content["value"]))
    assert shown.rstrip() in (body.rstrip(), "Water the plants")


def check_markdown(document: Any, body: str) -> None:
    assert not re.search(r"(?<!\\)(?:\\\\)*[*_`\[\]]", document["markdown"])


@pytest.mark.parametrize(
    ("url", "check"),
    [
        ("sendgrid://SG.aplanted:carillon@example.org/ada@example.org", check_html),
        ("webex://" + "aplanted" * 10, check_markdown),
    ],
)
def test_no_text_is_markup_where_a_service_shows_it(url: str, check: Callable[[Any, str], None]) -> None:
    with HTTPReceiver(Reply(202)) as receiver, redirected(receiver):

        @hypothesis.settings(max_examples=50, deadline=None, derandomize=True)
        @hypothesis.given(WORDS)
        def send(body: str) -> None:
            receiver.requests.clear()
            APPRISE.send(make_message(body=body), APPRISE.destination({"url": url}))
            [request] = receiver.requests
            check(json.loads(request.body), body)

        send()


ID = "a" * 32


@pytest.mark.parametrize(
    "url",
    [
        f"pbul://{ID}",
        f"pover://{'u' * 30}@{ID[:30]}",
        f"twilio://AC{ID}:{ID}@15551234567/15557654321",
        f"workflows://prod-1.westeurope.logic.azure.com:443/{ID}/{ID}",
        f"mmost://chat.example.org/{ID}",
        f"rocket://{ID[:17]}/{ID}@chat.example.org/#ferns",
        f"zulip://bot@example/{ID}/ferns",
        f"hassio://192.0.2.7/{ID}",
    ],
    ids=lambda url: url.partition(":")[0],
)
def test_the_services_that_people_ask_for_are_carried(url: str) -> None:
    answer = Reply(200, body=b'{"success": true, "status": 1, "result": "success"}')
    with HTTPReceiver(answer) as receiver, redirected(receiver):
        sent = APPRISE.send(make_message(), APPRISE.destination({"url": url}))
        assert isinstance(sent, Delivered), sent
        assert any(b"plants" in request.body for request in receiver.requests)


def test_a_refused_service_says_why() -> None:
    [error] = APPRISE.form({"url": "mqtts://token@example.org/ferns"}).errors["url"]
    assert error.startswith("MQTT is not supported: ")


def test_a_url_that_names_a_file_of_the_server_is_refused() -> None:
    url = f"workflows://prod-1.westeurope.logic.azure.com/{ID}/{ID}/?template=/etc/hostname"
    assert "url" in APPRISE.form({"url": url}).errors
