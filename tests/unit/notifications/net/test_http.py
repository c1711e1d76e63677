"""The guarded HTTP client: what it returns, what it raises, and where it connects."""

import logging
import os
import socket
import traceback
from ipaddress import ip_network
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from demo.receivers import Hang, HTTPReceiver, Reply, Reset
from notifications.net import http
from notifications.net.address_policy import permitted
from notifications.net.deadline import RefusedAddress, connect, within
from notifications.net.http import NotSent, Unanswered
from notifications.reasons import DeliveryCode
from tests.network import DEADLINE, closed_port, post, raw_server, read_request


def test_an_answer_is_returned_whole(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(418, {"X-Pot": "tea"}, b"short and stout")
    response = post(receiver.url + "?a=b%20c", **{"X-Cup": "1"})
    assert (response.status, response.headers["x-pot"], response.body) == (418, "tea", b"short and stout")
    (request,) = receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/hooks/carillon?a=b%20c", b"{}")
    assert (request.headers["X-Cup"], request.headers["Accept-Encoding"]) == ("1", "identity")


@pytest.mark.parametrize("value", ["1\r\nX-Other: 2", "1\n X-Other: 2", "1\n", " 1", "☂"])
def test_a_header_that_cannot_be_written_is_refused(receiver: HTTPReceiver, value: str) -> None:
    with pytest.raises(NotSent, match="cannot be written") as failure:
        post(receiver.url, **{"X-Cup": value})
    assert failure.value.refused
    assert receiver.requests == []


def test_one_connection_carries_many_requests(receiver: HTTPReceiver) -> None:
    receiver.answers.extend([Reply(200), Reply(204, body=b""), Reply(500), Reply(302), Reply(body=b"x" * 60_000)])
    for _ in range(6):
        post(receiver.url)
    assert (len(receiver.requests), receiver.connections) == (6, 1)


def test_a_redirect_is_returned_and_not_followed(receiver: HTTPReceiver) -> None:
    with HTTPReceiver() as elsewhere:
        receiver.answer = Reply(307, {"Location": elsewhere.url})
        assert post(receiver.url).status == 307
        assert elsewhere.requests == []


def test_a_redirect_to_a_private_address_is_not_followed(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(302, {"Location": "http://169.254.169.254/latest/meta-data/"})
    assert post(receiver.url).status == 302
    assert len(receiver.requests) == 1


def test_no_cookie_is_kept(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(headers={"Set-Cookie": "id=1; Path=/"})
    post(receiver.url)
    post(receiver.url)
    assert "Cookie" not in receiver.requests[1].headers


def test_the_environment_is_ignored(receiver: HTTPReceiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ada password planted")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with HTTPReceiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        post(receiver.url)
        assert (len(receiver.requests), len(proxy.requests)) == (1, 0)
        assert "Authorization" not in receiver.requests[0].headers


def test_a_large_body_is_cut_and_its_connection_dropped(receiver: HTTPReceiver) -> None:
    receiver.answers.append(Reply(body=b"x" * 5_000_000))
    assert len(post(receiver.url).body) == http.MAX_BODY
    assert post(receiver.url).body == b"ok"
    assert receiver.connections == 2


def test_a_compressed_body_is_not_decompressed(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8b not really")
    assert post(receiver.url).body == b"\x1f\x8b not really"


@pytest.mark.parametrize("body", [b"Content-Length: 100\r\n\r\nhalf", b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhalf"])
def test_the_status_counts_if_the_body_breaks_off(body: bytes) -> None:
    def talk(client: socket.socket) -> None:
        read_request(client)
        client.sendall(b"HTTP/1.1 201 Created\r\n" + body)

    with raw_server(talk) as port:
        response = post(f"http://127.0.0.1:{port}/")
    assert (response.status, response.body, response.broken is not None) == (201, b"", True)


def test_no_more_than_asked_for_is_read_of_a_chunk_of_negative_size() -> None:
    pieces = iter(range(1000))

    def talk(client: socket.socket) -> None:
        read_request(client)
        client.sendall(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
        for _ in pieces:
            client.sendall(bytes(65536))

    with raw_server(talk) as port:
        assert post(f"http://127.0.0.1:{port}/").body == b""
    assert next(pieces, None) is not None


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1:CLOSED/", DeliveryCode.CONNECTION_REFUSED),
        ("http://nowhere.invalid/", DeliveryCode.NAME),
    ],
)
def test_a_request_without_a_connection_is_not_sent(url: str, code: DeliveryCode) -> None:
    with pytest.raises(NotSent) as failure:
        post(url.replace("CLOSED", str(closed_port())))
    assert failure.value.reason.code == code
    assert not failure.value.refused


def test_a_reset_after_the_request_is_unanswered(receiver: HTTPReceiver) -> None:
    receiver.answer = Reset()
    with pytest.raises(Unanswered, match="broke"):
        post(receiver.url)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (b"", DeliveryCode.NO_ANSWER),
        (b"SSH-2.0-OpenSSH_9.9\r\n", DeliveryCode.NOT_HTTP),
        (b"HTTP/1.1 abc\r\n\r\n", DeliveryCode.NOT_HTTP),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", DeliveryCode.INTERIM),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", DeliveryCode.NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, DeliveryCode.NOT_HTTP),
    ],
)
def test_an_invalid_answer_is_unanswered(reply: bytes, code: DeliveryCode) -> None:
    def talk(client: socket.socket) -> None:
        read_request(client)
        client.sendall(reply)

    with raw_server(talk) as port, pytest.raises(Unanswered) as failure:
        post(f"http://127.0.0.1:{port}/")
    assert failure.value.reason.code == code


def test_an_answer_given_before_the_whole_request_is_read_counts() -> None:
    def talk(client: socket.socket) -> None:
        client.recv(100)
        client.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        while client.recv(65536):
            pass

    with raw_server(talk) as port:
        response = http.request("POST", f"http://127.0.0.1:{port}/", body=b"x" * 1_000_000, headers={}, deadline=5)
    assert response.status == 413


def test_a_forked_child_opens_its_own_connection(receiver: HTTPReceiver) -> None:
    post(receiver.url)
    child = os.fork()
    if child == 0:
        ended = 1
        try:
            ended = 0 if post(receiver.url).status == 200 else 2
        finally:
            os._exit(ended)
    assert os.waitpid(child, 0)[1] == 0
    post(receiver.url)
    assert (len(receiver.requests), receiver.connections) == (3, 2)


def test_neither_reasons_nor_logs_nor_traces_hold_the_query(
    receiver: HTTPReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = "plan" + "ted"  # a trace shows this source, too
    texts: list[str] = []
    receiver.answers.extend([Reset(), Hang(), Reply(headers={"": "no name"}), Reply(500)])
    others = [f"http://127.0.0.1:{closed_port()}/", "http://nowhere.invalid/", "http://10.0.0.1/"]
    for url in [*[receiver.url] * 4, *others]:
        try:
            post(f"{url}?token={token}", DEADLINE)
        except (NotSent, Unanswered) as failure:
            texts += [repr(failure.reason), repr(failure), "".join(traceback.format_exception(failure))]
    assert len(texts) >= 15
    assert token not in "".join(texts) + caplog.text


PRIVATE = """
127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.0.0.1 0177.0.0.1 017700000001 0 0.0.0.0
localhost LOCALHOST localhost. ::1 :: ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::
169.254.169.254 0xa9fea9fe 2852039166 fe80::1%lo 100.100.100.200 10.0.0.1 192.168.0.1 inside.example mixed.example
"""


@pytest.mark.parametrize("host", PRIVATE.split())
def test_no_spelling_of_a_private_address_is_connected_to(
    host: str, receiver: HTTPReceiver, names: dict[str, list[str]], settings: Settings
) -> None:
    settings.ALLOWED_NETWORKS = []
    names["inside.example"] = ["127.0.0.1"]
    names["mixed.example"] = ["93.184.216.34,127.0.0.1"]
    url = f"http://[{host}]:{receiver.port}/" if ":" in host else f"http://{host}:{receiver.port}/"
    with pytest.raises(NotSent) as failure:
        post(url)
    assert failure.value.refused
    # Without the check of the URL, the resolver may read other spellings.
    with pytest.raises((RefusedAddress, OSError)), within(5.0):
        connect(host, receiver.port, lambda address: permitted(address, []))
    assert receiver.requests == []


@pytest.mark.parametrize(("network", "address"), [("127.0.0.0/8", "127.0.0.1"), ("::1/128", "::1")])
def test_localhost_is_reached_at_the_address_that_is_allowed(
    network: str, address: str, names: dict[str, list[str]]
) -> None:
    names["localhost"] = ["::1,127.0.0.1"]
    allowed = [ip_network(network)]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as server, within(5.0):
        reached = connect("localhost", server.getsockname()[1], lambda found: permitted(found, allowed))
        with reached:
            assert reached.getpeername()[0] == address


def test_a_denied_port_is_not_connected_to(names: dict[str, list[str]]) -> None:
    names["hooks.example"] = ["127.0.0.1"]
    with pytest.raises(NotSent) as failure:
        post("http://hooks.example:6379/")
    assert failure.value.refused


def test_a_name_is_resolved_once_and_the_checked_address_is_used(
    receiver: HTTPReceiver, names: dict[str, list[str]], settings: Settings
) -> None:
    settings.ALLOWED_NETWORKS = ["127.0.0.2/32"]
    names["rebinding.example"] = ["127.0.0.2", "127.0.0.1"]
    with pytest.raises(NotSent, match="refused the connection"):
        post(f"http://rebinding.example:{receiver.port}/")
    assert names["rebinding.example"] == ["127.0.0.1"], "one look-up took one answer"
    with pytest.raises(NotSent, match="private network") as failure:
        post(f"http://rebinding.example:{receiver.port}/")
    assert failure.value.refused
    assert receiver.requests == []


def test_a_dead_address_leaves_time_for_the_next(receiver: HTTPReceiver, names: dict[str, list[str]]) -> None:
    names["two.example"] = ["127.0.0.9,127.0.0.1"]
    assert post(f"http://two.example:{receiver.port}/").status == 200
    assert receiver.requests[0].headers["Host"] == f"two.example:{receiver.port}"
