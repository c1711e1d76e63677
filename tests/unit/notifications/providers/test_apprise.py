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

from demo.receivers import Hang, HTTPReceiver, Reply, gotify
from demo.receivers.gotify import TOKEN
from notifications import providers
from notifications.message import Delivered, Destination, Rejected
from notifications.net import http
from notifications.reasons import Code
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
WRONG += [f"gotify://{host}/{TOKEN}" for host in ("localhost", "10.0.0.1", "push.example.org:25")]
WRONG += ["gotify://" + "x" * 1000]
INVALID = [({}, "url"), *[({"url": url}, "url") for url in WRONG]]


def make_destination(host: str, token: str = TOKEN) -> Destination:
    return APPRISE.destination({"url": f"gotify://{host}/{token}"})


def destinations(origin: str) -> list[Destination]:
    host = urlsplit(origin).netloc
    return [make_destination(host), make_destination(host, TOKEN[:-1] + "9")]


def at(receiver: HTTPReceiver) -> Destination:
    return destinations(receiver.origin)[0]


def test_a_message_has_the_documented_shape(receiver: HTTPReceiver) -> None:
    assert APPRISE.send(make_message(), at(receiver)) == Delivered()
    [request] = receiver.requests
    assert (request.method, request.path, request.headers["X-Gotify-Key"]) == ("POST", "/message", TOKEN)
    document = json.loads(request.body)
    assert (document["title"], document["message"]) == ("Water the plants", "The ferns too. ☂")


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (Reply(400), Rejected(answered("Gotify", 400))),
        (Reply(302, {"Location": "http://10.0.0.1/"}), Rejected(answered("Gotify", 302))),
        (Reply(429, {"Retry-After": "9"}), Retryable(answered("Gotify", 429), 9)),
        (Reply(503), Retryable(answered("Gotify", 503))),
        (Reply(201), Ambiguous(Reason(Code.PARTIAL, service="Gotify"))),
    ],
)
def test_each_answer_of_the_service_has_its_meaning(receiver: HTTPReceiver, reply: Reply, answer: Answer) -> None:
    receiver.answer = reply
    assert APPRISE.send(make_message(), at(receiver)) == answer
    assert len(receiver.requests) == 1, "no redirects, and no retries by Apprise"


def test_a_name_that_resolves_to_a_private_address_is_rejected(names: dict[str, list[str]]) -> None:
    names["push.example.org"] = ["10.0.0.1"]
    answer = APPRISE.send(make_message(), make_destination("push.example.org"))
    assert isinstance(answer, Rejected)
    assert answer.reason.code == Code.PRIVATE


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
    assert took(lambda: APPRISE.send(make_message(), at(receiver))) < DEADLINE + SLACK


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


@hypothesis.settings(max_examples=50, deadline=None, derandomize=True)
@hypothesis.given(body=WORDS)
def test_no_text_is_markup_where_a_service_shows_html(body: str) -> None:
    with HTTPReceiver(Reply(202)) as receiver, redirected(receiver):
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
    with HTTPReceiver() as receiver, redirected(receiver):
        url = "webex://" + "aplanted" * 10
        APPRISE.send(make_message(body=body), APPRISE.destination({"url": url}))
    [request] = receiver.requests
    markdown = json.loads(request.body)["markdown"]
    assert not re.search(r"(?<!\\)(?:\\\\)*[*_`\[\]]", markdown)


@hypothesis.settings(max_examples=50, deadline=None, derandomize=True)
@hypothesis.given(subject=strategies.text(min_size=1, max_size=80), body=strategies.text(max_size=200))
def test_no_text_changes_the_request(subject: str, body: str) -> None:
    with HTTPReceiver(ANSWER) as receiver:
        APPRISE.send(make_message(subject=subject, body=body), at(receiver))
    for request in receiver.requests:
        assert request.path == "/message"
        document = json.loads(request.body)
        assert set(document) <= {"title", "message", "priority", "extras"}
        assert document["message"].strip() in (body.strip(), subject.strip())
