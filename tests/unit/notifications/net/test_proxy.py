"""Requests through the operator's proxy, under the same address policy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from demo.receivers import HTTPReceiver, Reset
from demo.receivers.proxy import ProxyReceiver
from notifications.net.http import NotSent, Unanswered
from notifications.reasons import DeliveryCode
from tests.network import DEADLINE, SLACK, closed_port, post, raw_server, took
from work.reasons import Reason


@pytest.fixture
def proxy(settings: Settings) -> Iterator[ProxyReceiver]:
    with ProxyReceiver() as proxy:
        settings.EGRESS_PROXY = f"http://127.0.0.1:{proxy.port}"
        yield proxy


def test_all_requests_use_the_proxy_over_one_tunnel(
    receiver: HTTPReceiver, proxy: ProxyReceiver, names: dict[str, list[str]]
) -> None:
    names["hooks.example"] = ["127.0.0.1"]
    for _ in range(3):
        assert post(f"http://hooks.example:{receiver.port}/hook").status == 200
    target = f"127.0.0.1:{receiver.port}"
    assert proxy.asked == [[f"CONNECT {target} HTTP/1.1", f"Host: {target}"]]
    assert {request.headers["Host"] for request in receiver.requests} == {f"hooks.example:{receiver.port}"}


def test_only_the_proxy_gets_its_password(receiver: HTTPReceiver, proxy: ProxyReceiver, settings: Settings) -> None:
    settings.EGRESS_PROXY = f"http://ada:pl%40nted@127.0.0.1:{proxy.port}"
    post(receiver.url)
    assert proxy.asked[0][2] == "Proxy-Authorization: Basic YWRhOnBsQG50ZWQ="
    assert not [name for name in receiver.requests[0].headers if "auth" in name.lower()]


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://inside.example/", "http://169.254.169.254/"])
def test_the_policy_is_applied_before_the_proxy(
    url: str, proxy: ProxyReceiver, names: dict[str, list[str]], settings: Settings
) -> None:
    settings.ALLOWED_NETWORKS = []
    names["inside.example"] = ["10.0.0.1"]
    with pytest.raises(NotSent) as failure:
        post(url)
    assert failure.value.refused
    assert proxy.asked == []


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407"),
        (b"HTTP/1.1 403 Forbidden\r\nX: y\r\n\r\nno", "403"),
        (b"SSH-2.0-x\r\n\r\n", "something that is not HTTP"),
        (b"", "something that is not HTTP"),
        (b"HTTP/1.1 200 " + b"x" * 9000, "something that is not HTTP"),
    ],
)
def test_a_refusal_of_the_proxy_means_that_nothing_was_sent(
    receiver: HTTPReceiver, proxy: ProxyReceiver, reply: bytes, answer: str
) -> None:
    proxy.reply = reply
    with pytest.raises(NotSent) as failure:
        post(receiver.url)
    assert failure.value.reason == Reason(DeliveryCode.PROXY, answer=answer)
    assert (failure.value.refused, receiver.requests) == (False, [])


def test_an_unreachable_proxy_means_that_nothing_was_sent(receiver: HTTPReceiver, settings: Settings) -> None:
    settings.EGRESS_PROXY = f"http://127.0.0.1:{closed_port()}"
    with pytest.raises(NotSent, match="refused the connection"):
        post(receiver.url)


def test_the_deadline_holds_for_a_silent_proxy(receiver: HTTPReceiver, settings: Settings) -> None:
    def call() -> None:
        with pytest.raises(NotSent, match="did not answer within"):
            post(receiver.url, DEADLINE)

    with raw_server(lambda client: client.makefile().read()) as port:
        settings.EGRESS_PROXY = f"http://127.0.0.1:{port}"
        assert took(call) < DEADLINE + SLACK


def test_a_request_that_breaks_behind_the_proxy_may_have_arrived(receiver: HTTPReceiver, proxy: ProxyReceiver) -> None:
    receiver.answer = Reset()
    with pytest.raises(Unanswered):
        post(receiver.url)
