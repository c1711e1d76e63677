import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import hypothesis
import pytest
from hypothesis import strategies
from pytest_django.fixtures import Settings

from demo.receivers import Hang, HTTPReceiver, Reply, Reset, gotify
from demo.receivers.gotify import TOKEN
from notifications import providers
from notifications.message import Ambiguous, Answer, Delivered, Destination, Message, Rejected, Retryable
from notifications.net import http
from tests.providers.making import DEADLINE, SLACK, closed_port, make_message, shape_of, took

APPRISE = providers.get("apprise")

VALID = [
    {"url": f"gotify://push.example.org/{TOKEN}"},
    {"url": f"gotifys://push.example.org/{TOKEN}"},
    {"url": "pover://uplanteduplanteduplanteduplant@aplantedaplantedaplantedaplant"},
]
INVALID = [
    ({}, "url"),
    ({"url": "planted"}, "url"),
    ({"url": "gotify://push.example.org"}, "url"),
    ({"url": "gotify://"}, "url"),
    ({"url": "file:///etc/passwd"}, "url"),
    ({"url": "syslog://planted"}, "url"),
    ({"url": "dbus://planted"}, "url"),
    ({"url": "json://example.org/planted"}, "url"),
    ({"url": "mailto://ada:planted@example.org"}, "url"),
    ({"url": "tgram://planted/1"}, "url"),
    ({"url": "<script>://planted"}, "url"),
    ({"url": f"gotify://localhost/{TOKEN}"}, "url"),
    ({"url": f"gotify://10.0.0.1/{TOKEN}"}, "url"),
    ({"url": f"gotify://push.example.org:25/{TOKEN}"}, "url"),
    ({"url": "gotify://" + "x" * 1000}, "url"),
]


def make_destination(host: str, token: str = TOKEN) -> Destination:
    return APPRISE.destination({"url": f"gotify://{host}/{token}"})


def at(receiver: HTTPReceiver, token: str = TOKEN) -> Destination:
    return make_destination(f"127.0.0.1:{receiver.port}", token)


@pytest.fixture
def server() -> Iterator[HTTPReceiver]:
    with HTTPReceiver(gotify.answer) as receiver:
        yield receiver


def worlds() -> Iterator[Destination]:
    """For the contract: destinations, each in another state of the world."""
    with HTTPReceiver(gotify.answer) as receiver:
        yield at(receiver)
        yield at(receiver, TOKEN[:-1] + "9")
        for told in (Reset(), Reply(200, body=b"\xff"), Reply(404), Reply(429), Reply(500), Reply(302), Reply(999)):
            receiver.answers.append(told)
            yield at(receiver)
    for host in (f"127.0.0.1:{closed_port()}", "nowhere.invalid", "10.0.0.1"):
        yield make_destination(host)


def keys_sent(message: Message) -> list[str]:
    """For the contract: the services have no place for a key."""
    return []


def test_a_message_has_the_documented_shape(server: HTTPReceiver) -> None:
    assert APPRISE.send(make_message(), at(server)) == Delivered()
    [request] = server.requests
    assert (request.method, request.path, request.headers["X-Gotify-Key"]) == ("POST", "/message", TOKEN)
    document = json.loads(request.body)
    assert (document["title"], document["message"]) == ("Water the plants", "The ferns too. ☂")


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        (Reply(400), Rejected("Gotify refused the message: 400 Bad Request.")),
        (Reply(302, {"Location": "http://10.0.0.1/"}), Rejected("Gotify refused the message: 302 Found.")),
        (Reply(429, {"Retry-After": "9"}), Retryable("Gotify answered 429 Too Many Requests.", 9)),
        (Reply(503), Retryable("Gotify answered 503 Service Unavailable.")),
        (Reply(201), Ambiguous("Gotify took a part of it only, or answered something that is not understood.")),
        (Reset(), Ambiguous("The connection to the receiver broke.")),
    ],
)
def test_each_answer_of_the_service_has_its_meaning(server: HTTPReceiver, told: Reply | Reset, answer: Answer) -> None:
    server.answer = told
    assert APPRISE.send(make_message(), at(server)) == answer
    assert len(server.requests) == 1, "neither redirects nor retries of its own"


def test_a_private_address_is_refused_at_the_door(settings: Settings, server: HTTPReceiver) -> None:
    destination = at(server)
    settings.ALLOWED_NETWORKS = []
    answer = APPRISE.send(make_message(), destination)
    assert isinstance(answer, Rejected)
    assert "private network" in answer.reason
    assert server.requests == []


def test_a_name_that_leads_inside_is_refused_at_the_door(names: dict[str, list[str]]) -> None:
    names["push.example.org"] = ["10.0.0.1"]
    answer = APPRISE.send(make_message(), make_destination("push.example.org"))
    assert isinstance(answer, Rejected)
    assert "private network" in answer.reason


def test_the_form_says_of_a_private_address_that_it_is_one() -> None:
    form = APPRISE.form({"url": f"gotify://192.168.1.1/{TOKEN}"})
    assert "private network" in form.errors["url"][0]


def test_what_an_address_asks_of_the_transport_is_not_heeded(server: HTTPReceiver) -> None:
    url = f"gotify://127.0.0.1:{server.port}/{TOKEN}?retry=5&wait=9&verify=no&redirect=yes&optional=yes&rto=99"
    server.answer = Reply(500)
    answer = APPRISE.send(make_message(), APPRISE.destination({"url": url}))
    assert answer == Retryable("Gotify answered 500 Internal Server Error.")
    assert len(server.requests) == 1


def test_a_silent_service_keeps_to_the_deadline(server: HTTPReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(APPRISE), "deadline", DEADLINE)
    server.answer = Hang()
    assert took(lambda: APPRISE.send(make_message(), at(server))) < DEADLINE + SLACK


def test_an_address_of_a_service_that_is_not_allowed_any_more_is_rejected() -> None:
    for url in ("file:///etc/passwd", "syslog://", "", "gotify"):
        assert isinstance(APPRISE.send(make_message(), Destination({}, {"url": url})), Rejected)


def test_a_long_body_is_cut_with_a_mark(server: HTTPReceiver) -> None:
    assert APPRISE.send(make_message(body="👍🏽" * 40_000), at(server)) == Delivered()
    message = json.loads(server.requests[0].body)["message"]
    assert len(message) in range(32_760, 32_769)
    assert message.endswith("👍🏽…")


WORDS = strategies.text(max_size=120) | strategies.text(alphabet="<>&*_`[]()#-~|!\\ \nab", max_size=120)


@contextmanager
def at_home(receiver: HTTPReceiver) -> Iterator[None]:
    """What a service would post to its public address goes to the receiver."""
    real = http.request

    def request(method: str, url: str, **options: Any) -> http.Response:
        return real(method, f"{receiver.origin}{urlsplit(url).path}", **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(http, "request", request)
        yield


@hypothesis.settings(max_examples=50, deadline=None, derandomize=True)
@hypothesis.given(body=WORDS)
def test_no_text_is_markup_where_a_service_shows_html(body: str) -> None:
    with HTTPReceiver(Reply(202)) as receiver, at_home(receiver):
        url = "sendgrid://SG.aplanted:carillon@example.org/ada@example.org"
        APPRISE.send(make_message(body=body), APPRISE.destination({"url": url}))
    [request] = receiver.requests
    [content] = json.loads(request.body)["content"]
    assert content["type"] == "text/html"
    assert set(shape_of(content["value"])) <= {"br"}
    shown = html.unescape(re.sub("<br>\n?", "\n", content["value"]))
    assert shown.rstrip() in (body.rstrip(), "Water the plants")


@hypothesis.settings(max_examples=50, deadline=None, derandomize=True)
@hypothesis.given(body=WORDS)
def test_no_text_is_markup_where_a_service_shows_markdown(body: str) -> None:
    with HTTPReceiver() as receiver, at_home(receiver):
        url = "webex://" + "aplanted" * 10
        APPRISE.send(make_message(body=body), APPRISE.destination({"url": url}))
    [request] = receiver.requests
    said = json.loads(request.body)["markdown"]
    assert not re.search(r"(?<!\\)(?:\\\\)*[*_`\[\]]", said)


@hypothesis.settings(max_examples=50, deadline=None, derandomize=True)
@hypothesis.given(subject=strategies.text(min_size=1, max_size=80), body=strategies.text(max_size=200))
def test_no_text_changes_the_request(subject: str, body: str) -> None:
    with HTTPReceiver(gotify.answer) as receiver:
        APPRISE.send(make_message(subject=subject, body=body), at(receiver))
    for request in receiver.requests:
        assert request.path == "/message"
        document = json.loads(request.body)
        assert set(document) <= {"title", "message", "priority", "extras"}
        assert document["message"].strip() in (body.strip(), subject.strip())
