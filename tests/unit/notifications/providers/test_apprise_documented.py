"""The services that people ask for most, each against a server that answers as its documentation says."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from demo.receivers import HTTPReceiver, Received, Reply
from notifications import providers
from notifications.messages.message import Delivered, Rejected
from tests.network import answered, make_message
from tests.unit.notifications.providers.test_apprise import redirected
from work.answers import Retryable

APPRISE = providers.get("apprise")
KEY, WRONG = "a" * 32, "b" * 32


@dataclass(frozen=True)
class Documented:
    """`url` holds KEY where the secret is; with WRONG in its place the service answers `refused`.

    `texts`: what must be in the body. `limited`: the answer to too many requests, which asks to wait `wait` seconds.
    """

    source: str
    url: str
    path: str
    refused: tuple[int, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ("Water", "plants", "ferns")
    accepted: tuple[int, Any] = (200, {})
    limited: tuple[dict[str, str], Any] = ({}, {})
    wait: float | None = None


BASIC = {
    "pushbullet": "Basic YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE6",
    "twilio": "Basic QUNhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYTphYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYQ==",
    "zulip": "Basic Ym90LWJvdEBleGFtcGxlLnp1bGlwY2hhdC5jb206YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=",
}
SERVICES = [
    Documented(
        "https://docs.pushbullet.com/#create-push",
        f"pbul://{KEY}",
        "/v2/pushes",
        (401, {"error": {"code": "invalid_access_token", "type": "invalid_request", "message": "Access token is…"}}),
        {"Authorization": BASIC["pushbullet"]},
        ('"type": "note"', "Water", "ferns"),
        (200, {"active": True, "iden": "ujpah72o0sjAoRtnM0jc", "type": "note"}),
        ({"X-Ratelimit-Reset": "1432447070"}, {"error": {"code": "ratelimited"}}),
    ),
    Documented(
        "https://pushover.net/api#response",
        f"pover://{'u' * 30}@{KEY[:30]}",
        "/1/messages.json",
        (400, {"token": "invalid", "errors": ["application token is invalid"], "status": 0, "request": "5042853c"}),
        {},
        (f"token={KEY[:30]}&", f"user={'u' * 30}", "Water+the+plants"),
        (200, {"status": 1, "request": "647d2300-702c-4b38-8b2f-d56326ae460b"}),
        ({"X-Limit-App-Remaining": "0"}, {"errors": ["message quota exceeded"], "status": 0}),
    ),
    Documented(
        "https://www.twilio.com/docs/messaging/api/message-resource",
        f"twilio://AC{'a' * 32}:{KEY}@15551234567/15557654321",
        f"/2010-04-01/Accounts/AC{'a' * 32}/Messages.json",
        (401, {"code": 20003, "message": "Authenticate", "status": 401}),
        {"Authorization": BASIC["twilio"]},
        ("From=%2B15551234567", "To=%2B15557654321", "Water+the+plants"),
        (201, {"sid": "SM" + "c" * 32, "status": "queued", "error_code": None}),
        ({}, {"code": 20429, "message": "Too many requests", "status": 429}),
    ),
    Documented(
        "https://learn.microsoft.com/connectors/teams/#when-a-teams-webhook-request-is-received",
        f"workflows://prod-1.westeurope.logic.azure.com:443/{KEY}/{'s' * 32}",
        f"/workflows/{KEY}/triggers/manual/paths/invoke",
        (401, {"error": {"code": "DirectApiAuthorizationRequired", "message": "…"}}),
        {"Content-Type": "application/json"},
        ('"type": "AdaptiveCard"', "Water the plants"),
        (202, ""),
        ({"Retry-After": "20"}, {"error": {"code": "429"}}),
        20.0,
    ),
    Documented(
        "https://developers.mattermost.com/integrate/webhooks/incoming/",
        f"mmosts://chat.example.org/{KEY}",
        f"/hooks/{KEY}",
        (400, {"id": "web.incoming_webhook.invalid.app_error", "message": "Invalid webhook.", "status_code": 400}),
        {},
        ('"text": "Water the plants',),
        (200, "ok"),
        ({"X-Ratelimit-Limit": "10", "Retry-After": "1"}, "limit exceeded"),
        1.0,
    ),
    Documented(
        "https://docs.rocket.chat/docs/integrations",
        f"rockets://{'r' * 17}/{KEY}@chat.example.org/#ferns",
        f"/hooks/{'r' * 17}/{KEY}",
        (400, {"success": False, "error": "Invalid integration id or token provided."}),
        {},
        ('"text": "Water the plants',),
        (200, {"success": True}),
        ({}, {"success": False, "error": "Error, too many requests. Please slow down. [error-too-many-requests]"}),
    ),
    Documented(
        "https://zulip.com/api/rest-error-handling",
        f"zulip://bot@example/{KEY}/ferns",
        "/api/v1/messages",
        (401, {"result": "error", "msg": "Invalid API key", "code": "INVALID_API_KEY"}),
        {"Authorization": BASIC["zulip"]},
        ("type=stream", "to=ferns", "Water+the+plants"),
        (200, {"result": "success", "msg": "", "id": 42}),
        ({"Retry-After": "28.706807374954224"}, {"code": "RATE_LIMIT_HIT", "result": "error"}),
        28.706807374954224,
    ),
    Documented(
        "https://developers.home-assistant.io/docs/api/rest/",
        f"hassios://home.example.org/{KEY}",
        "/api/services/persistent_notification/create",
        (401, "401: Unauthorized"),
        {"Authorization": f"Bearer {KEY}"},
        ('"title": "Water the plants"', '"message": "The ferns too.'),
        (200, []),
    ),
]
each = pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.url.partition(":")[0])


def write(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
    text = body if isinstance(body, str) else json.dumps(body)
    return Reply(status, {"Content-Type": "application/json", **(headers or {})}, text.encode())


def server(service: Documented) -> Any:
    def answer(request: Received) -> Reply:
        is_right = (
            request.method == "POST"
            and request.path == service.path
            and service.headers.items() <= request.headers.items()
            and all(text in request.body.decode() for text in service.texts)
        )
        return write(*service.accepted) if is_right else write(*service.refused)

    return answer


def send(service: Documented, receiver: HTTPReceiver, key: str = KEY) -> Any:
    url = service.url.replace(KEY, key).replace(KEY[:30], key[:30])
    with redirected(receiver):
        return APPRISE.send(make_message(), APPRISE.destination({"url": url}))


@each
def test_a_message_arrives_as_documented(service: Documented) -> None:
    with HTTPReceiver(server(service)) as receiver:
        assert send(service, receiver) == Delivered()
        assert len(receiver.requests) == 1
        assert b"pprise" not in receiver.requests[0].body  # it is from Carillon, and shows no pictures of other hosts


@each
def test_a_wrong_token_is_a_dead_letter_with_the_status(service: Documented) -> None:
    with HTTPReceiver(server(service)) as receiver:
        sent = send(service, receiver, WRONG)
    assert isinstance(sent, Rejected)
    assert sent.reason.params["status"] == service.refused[0]
    assert WRONG not in repr(sent)


@each
def test_the_wait_that_a_rate_limit_asks_for_is_kept(service: Documented) -> None:
    headers, body = service.limited
    with HTTPReceiver(write(429, body, headers)) as receiver:
        sent = send(service, receiver)
        name = APPRISE.summary(APPRISE.destination({"url": service.url}))
        assert sent == Retryable(answered(name, 429), service.wait)
        assert len(receiver.requests) == 1


@each
def test_an_outage_is_waited_for(service: Documented) -> None:
    with HTTPReceiver(Reply(503)) as receiver:
        assert isinstance(send(service, receiver), Retryable)
