import logging
import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from notifications import http
from notifications.addresses import permitted
from notifications.exchange import SIMULTANEOUS_LOOKUPS, RefusedAddress, dial
from notifications.http import NotSent, Response, Unanswered
from tests.providers.making import closed_port, raw_server
from tests.receivers import Drip, Hang, HTTPReceiver, Reply, Reset

DEADLINE = 0.4
SLACK = 1.5  # for a busy machine; a deadline that does not hold is later by far more

INSIDE = """
127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.0.0.1 0177.0.0.1 017700000001 0 0.0.0.0
localhost LOCALHOST localhost. ::1 :: ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::
169.254.169.254 0xa9fea9fe 2852039166 fe80::1%lo 100.100.100.200 10.0.0.1 192.168.0.1 inside.example mixed.example
"""


@pytest.fixture
def receiver() -> Iterator[HTTPReceiver]:
    with HTTPReceiver() as receiver:
        yield receiver


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """A name server of our own: each look-up of a name takes the next of its answers, "," between addresses."""
    answers: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: Any, flags: int = 0, **named: Any) -> Any:
        if host not in answers or flags & socket.AI_NUMERICHOST:
            return real(host, port, *rest, flags=flags, **named)
        queue = answers[host]
        addresses = queue.pop(0) if len(queue) > 1 else queue[0]
        return [found for address in addresses.split(",") for found in real(address, port, *rest, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return answers


def post(url: str, deadline: float = 5.0, **headers: str) -> Response:
    return http.request("POST", url, body=b"{}", headers=headers, deadline=deadline)


def took(call: Callable[[], Any]) -> float:
    start = time.monotonic()
    call()
    return time.monotonic() - start


def read_request(client: socket.socket) -> None:
    while not client.recv(65536).endswith(b"{}"):
        pass


def test_an_answer_is_returned_whole(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(418, {"X-Pot": "tea"}, b"short and stout")
    response = post(receiver.url + "?a=b%20c", **{"X-Cup": "1"})
    assert (response.status, response.headers["x-pot"], response.body) == (418, "tea", b"short and stout")
    (request,) = receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/hooks/carillon?a=b%20c", b"{}")
    assert (request.headers["X-Cup"], request.headers["Accept-Encoding"]) == ("1", "identity")


@pytest.mark.parametrize("value", ["1\r\nX-Other: 2", "1\n", " 1", "☂"])
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


def test_a_redirect_into_the_network_is_not_followed(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(302, {"Location": "http://169.254.169.254/latest/meta-data/"})
    assert post(receiver.url).status == 302
    assert len(receiver.requests) == 1


def test_no_cookie_is_kept(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(headers={"Set-Cookie": "id=1; Path=/"})
    post(receiver.url)
    post(receiver.url)
    assert "Cookie" not in receiver.requests[1].headers


def test_the_environment_has_no_say(receiver: HTTPReceiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
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
    assert len(post(receiver.url).body) == http.LARGEST_BODY
    assert post(receiver.url).body == b"ok"
    assert receiver.connections == 2


def test_a_compressed_body_is_not_blown_up(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8b not really")
    assert post(receiver.url).body == b"\x1f\x8b not really"


@pytest.mark.parametrize("answer", [Hang(), Drip("headers")])
def test_no_answer_within_the_deadline_is_unanswered(receiver: HTTPReceiver, answer: Hang | Drip) -> None:
    receiver.answer = answer

    def call() -> None:
        with pytest.raises(Unanswered, match=r"did not answer within 0\.4 seconds"):
            post(receiver.url, DEADLINE)

    assert DEADLINE <= took(call) < DEADLINE + SLACK


def test_a_dripping_body_does_not_stretch_the_deadline_and_the_status_stands(receiver: HTTPReceiver) -> None:
    receiver.answer = Drip("body", status=202)
    answers = []
    assert took(lambda: answers.append(post(receiver.url, DEADLINE))) < DEADLINE + SLACK
    assert answers[0].status == 202


def test_a_body_that_breaks_off_leaves_the_status_standing() -> None:
    def talk(client: socket.socket) -> None:
        read_request(client)
        client.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf")

    with raw_server(talk) as port:
        assert post(f"http://127.0.0.1:{port}/").status == 201


def test_the_deadline_holds_in_threads(receiver: HTTPReceiver) -> None:
    receiver.answer = Drip("headers", pause=0.02)
    ends: list[str] = []

    def call() -> None:
        try:
            post(receiver.url, DEADLINE)
        except Unanswered as failure:
            ends.append(failure.reason)

    threads = [threading.Thread(target=call) for _ in range(8)]

    def all_of_them() -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert took(all_of_them) < DEADLINE + 2 * SLACK
    assert len(ends) == 8


def test_a_silent_name_server_does_not_stretch_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    real = socket.getaddrinfo

    def look_up(host: str, *rest: Any, flags: int = 0, **named: Any) -> Any:
        if not flags & socket.AI_NUMERICHOST:
            answered.wait(5)
        return real(host, *rest, flags=flags, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    def call() -> None:
        with pytest.raises(NotSent, match="did not answer within"):
            post("http://hooks.example/", DEADLINE)

    assert took(call) < DEADLINE + SLACK
    answered.set()


def test_hanging_look_ups_are_bounded_and_a_forked_child_begins_with_none(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, asked = threading.Event(), []
    real = socket.getaddrinfo

    def look_up(host: str, *rest: Any, flags: int = 0, **named: Any) -> Any:
        if flags & socket.AI_NUMERICHOST:
            return real(host, *rest, flags=flags, **named)
        asked.append(host)
        answered.wait(5)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for _ in range(SIMULTANEOUS_LOOKUPS * 2):  # on a busy machine, one in ten milliseconds may not come to its look-up
        with pytest.raises(NotSent, match="did not answer within"):
            post("http://hooks.example/", 0.01)
    assert len(asked) == SIMULTANEOUS_LOOKUPS
    child = os.fork()
    if child == 0:
        answered = threading.Event()
        answered.set()
        ended = 1
        try:
            post("http://hooks.example/", 1.0)
        except NotSent as failure:
            ended = 0 if "could not be looked up" in failure.reason else 2
        finally:
            os._exit(ended)
    assert os.waitpid(child, 0)[1] == 0
    answered.set()


def test_a_machine_without_threads_forgets_no_look_up(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]], receiver: HTTPReceiver
) -> None:
    names["hooks.example"] = ["127.0.0.1"]

    real = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "look-up":
            raise RuntimeError("can't start new thread")
        real(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        for _ in range(SIMULTANEOUS_LOOKUPS + 1):
            with pytest.raises(NotSent):
                post(f"http://hooks.example:{receiver.port}/", 1.0)
    assert post(f"http://hooks.example:{receiver.port}/", 1.0).status == 200


def test_a_listener_that_never_accepts_is_not_sent_or_unanswered_in_time() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))

        def call() -> None:
            with pytest.raises(NotSent):
                post(f"http://127.0.0.1:{port}/", DEADLINE)

        assert took(call) < DEADLINE + SLACK
        for filler in fillers:
            filler.close()


def test_a_refused_connection_is_not_sent() -> None:
    with pytest.raises(NotSent, match="refused the connection") as failure:
        post(f"http://127.0.0.1:{closed_port()}/")
    assert not failure.value.refused


def test_a_name_that_does_not_exist_is_not_sent() -> None:
    with pytest.raises(NotSent, match="could not be looked up") as failure:
        post("http://nowhere.invalid/")
    assert not failure.value.refused


def test_a_reset_after_the_request_is_unanswered(receiver: HTTPReceiver) -> None:
    receiver.answer = Reset()
    with pytest.raises(Unanswered, match="broke"):
        post(receiver.url)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"", "without an answer"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "not HTTP"),
        (b"HTTP/1.1 abc\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "103 only"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, "not HTTP"),
    ],
)
def test_what_is_no_answer_is_unanswered(said: bytes, reason: str) -> None:
    def talk(client: socket.socket) -> None:
        read_request(client)
        client.sendall(said)

    with raw_server(talk) as port, pytest.raises(Unanswered, match=reason):
        post(f"http://127.0.0.1:{port}/")


def test_an_answer_given_before_the_whole_request_is_read_counts() -> None:
    def talk(client: socket.socket) -> None:
        client.recv(100)
        client.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        while client.recv(65536):
            pass

    with raw_server(talk) as port:
        response = http.request("POST", f"http://127.0.0.1:{port}/", body=b"x" * 1_000_000, headers={}, deadline=5)
    assert response.status == 413


@pytest.mark.parametrize(
    "host",
    INSIDE.split(),
)
def test_no_way_of_writing_an_inside_address_is_dialled(
    host: str, receiver: HTTPReceiver, names: dict[str, list[str]], settings: Settings
) -> None:
    settings.ALLOWED_NETWORKS = []
    names["inside.example"] = ["127.0.0.1"]
    names["mixed.example"] = ["93.184.216.34,127.0.0.1"]
    url = f"http://[{host}]:{receiver.port}/" if ":" in host else f"http://{host}:{receiver.port}/"
    with pytest.raises(NotSent) as failure:
        post(url, DEADLINE)
    assert failure.value.refused
    # The same beneath the check of the address's form, where a resolver reads what a form did not.
    with pytest.raises((RefusedAddress, OSError)):
        dial(host, receiver.port, lambda address: permitted(address, []))
    time.sleep(0.01)
    assert receiver.requests == []


def test_a_closed_port_is_not_dialled(names: dict[str, list[str]]) -> None:
    names["hooks.example"] = ["127.0.0.1"]
    with pytest.raises(NotSent) as failure:
        post("http://hooks.example:6379/")
    assert failure.value.refused


def test_a_name_is_looked_up_once_and_what_was_checked_is_what_is_dialled(
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
    said: list[str] = []
    receiver.answers.extend([Reset(), Hang(), Reply(headers={"": "no name"}), Reply(500)])
    others = [f"http://127.0.0.1:{closed_port()}/", "http://nowhere.invalid/", "http://10.0.0.1/"]
    for url in [*[receiver.url] * 4, *others]:
        try:
            post(f"{url}?token={token}", DEADLINE)
        except (NotSent, Unanswered) as failure:
            said += [failure.reason, repr(failure), "".join(traceback.format_exception(failure))]
    assert len(said) >= 15
    assert token not in "".join(said) + caplog.text
