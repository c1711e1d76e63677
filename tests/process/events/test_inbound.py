"""Webhooks of other services over real HTTP: the same event with right, repeated, wrong and old signatures."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from events.models import Event, InboundAddress, InboundRequest
from events.reasons import EventCode
from tests.db.events.test_inbound import ORDER, make_address
from tests.process.web import Answer, Web
from tests.unit.events.test_schemes import STANDARD, Sign, github, standard, stripe

pytestmark = pytest.mark.django_db(transaction=True)

BODY = json.dumps(ORDER).encode()
SCHEMES = [
    ("github", "secret-of-16-bytes", github),
    ("stripe", "whsec_secret_of_16", stripe),
    ("standard", STANDARD, standard),
]


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[Web]:
    with Web(API_REQUESTS_PER_MINUTE="0") as web:
        yield web


def post(web: Web, token: str, body: bytes, headers: dict[str, str]) -> Answer:
    return web.ask("POST", f"/in/{token}", body, **{"Content-Type": "application/json"} | headers)


def codes(address: InboundAddress) -> list[str]:
    """Of the last requests, oldest first."""
    return list(address.requests.order_by("id").values_list("reason_code", flat=True))


@pytest.mark.parametrize(("scheme", "secret", "sign"), SCHEMES)
def test_one_event_however_often_and_none_of_wrong_or_old_signatures(
    web: Web, scheme: str, secret: str, sign: Sign
) -> None:
    address, now = make_address(scheme=scheme, secret=secret, token="a" * 48), timezone.now()
    first = post(web, "a" * 48, BODY, sign(secret, BODY, now))
    assert first.status == 202
    [key] = json.loads(first.text)["ids"]

    exactly_again = post(web, "a" * 48, BODY, sign(secret, BODY, now))
    signed_later = post(web, "a" * 48, BODY, sign(secret, BODY, now + timedelta(seconds=2)))
    assert [json.loads(one.text)["ids"] for one in (exactly_again, signed_later)] == [[key], [key]]

    def refused(body: bytes, headers: dict[str, str]) -> int:
        return post(web, "a" * 48, body, headers).status

    assert refused(BODY, sign("whsec_YW5vdGhlciBzZWNyZXQ=", BODY, now)) == 401
    assert refused(BODY + b" ", sign(secret, BODY, now)) == 401
    assert refused(BODY, {}) == 401
    wrong = [EventCode.WRONG_SIGNATURE, EventCode.WRONG_SIGNATURE, EventCode.UNSIGNED]
    if scheme != "github":  # which signs no time
        assert refused(BODY, sign(secret, BODY, now - timedelta(minutes=6))) == 401
        wrong.append(EventCode.OLD_SIGNATURE)
    assert codes(address) == ["", "", "", *wrong]
    assert [str(event.key) for event in Event.objects.all()] == [key]


def test_the_vector_of_githubs_documentation_passes_up_to_its_body(web: Web) -> None:
    address = make_address(scheme="github", secret="It's a Secret to Everybody", token="a" * 48)
    header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert post(web, "a" * 48, b"Hello, World!", {"X-Hub-Signature-256": header}).status == 400
    assert codes(address) == [EventCode.UNREADABLE_BODY]


def test_fifty_equal_requests_at_once_are_one_event(web: Web) -> None:
    make_address(scheme="standard", secret=STANDARD, token="a" * 48)
    headers, barrier = standard(STANDARD, BODY, timezone.now()), threading.Barrier(50)

    def send(_: int) -> Answer:
        barrier.wait()
        return web.ask_until_served(lambda: post(web, "a" * 48, BODY, headers))

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(send, range(50)))
    assert {(answer.status, answer.text) for answer in answers} == {(202, answers[0].text)}
    assert Event.objects.count() == 1


def test_what_is_too_large_or_no_address_is_refused_and_not_kept(web: Web) -> None:
    make_address(token="a" * 48)
    assert post(web, "a" * 48, b'"' + b"a" * 256 * 1024 + b'"', {}).status == 413
    assert post(web, "b" * 48, BODY, {}).status == 404
    assert (Event.objects.count(), InboundRequest.objects.count()) == (0, 0)


def test_no_secret_reaches_the_log(web: Web) -> None:
    before = len(web.lines)
    make_address(scheme="github", secret="hidden-from-everybody", token="a" * 48)
    post(web, "a" * 48, BODY, github("hidden-from-everybody", BODY, datetime.now().astimezone()))
    post(web, "a" * 48, BODY, {})
    post(web, "c" * 48, BODY, {})
    web.wait_until(lambda: sum("/in/" in line for line in web.lines[before:]) >= 3)
    assert not any(hidden in line for line in web.lines for hidden in ("a" * 48, "c" * 48, "hidden-from-everybody"))
