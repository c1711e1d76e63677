"""Fetch, against sources that are hostile or broken."""

from __future__ import annotations

import gzip
import socket
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from pytest_django import Settings

from demo.receivers import Drip, Hang, HTTPReceiver, Received, Reply
from jobs.reading.fetch import MOST_BYTES, Fetch, Later, NotModified, Refused, Unfit, problem
from jobs.reasons import JobCode
from notifications.net.http import NotSent, Response, Unanswered
from notifications.reasons import DeliveryCode
from tests.network import DEADLINE, SLACK, raw_server, took
from tests.unit.notifications.net.test_address_policy import DENIED, REFUSED_URLS
from tests.unit.notifications.net.test_http import PRIVATE

SECRET = {"Authorization": "Bearer planted"}


def raw(*parts: bytes) -> AbstractContextManager[int]:
    """A server that says this after a request's head, and hangs up."""

    def talk(client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(65536)
        for part in parts:
            client.sendall(part)

    return raw_server(talk)


def unfit(call: Callable[[], object]) -> Later | Refused:
    with pytest.raises(Unfit) as failure:
        call()
    return failure.value.answer


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "said",
    [
        OK + b"Content-Length: 100\r\n\r\nhalf",
        CHUNKED + b"4\r\nhalf\r\n",
        CHUNKED + b"zz\r\nhalf\r\n0\r\n\r\n",
        CHUNKED + b"-5\r\nhalf\r\n0\r\n\r\n",
        CHUNKED + b"ffffffffffffffff\r\nhalf",
        CHUNKED + b"4" * 70_000,
        CHUNKED,
    ],
)
def test_half_an_answer_is_an_error_and_not_a_page(said: bytes) -> None:
    with raw(said) as port:
        answer = unfit(lambda: Fetch(5).get(f"http://127.0.0.1:{port}/"))
    assert isinstance(answer, Later)


def test_the_status_of_half_an_answer_counts_where_it_is_no_success() -> None:
    with raw(b"HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nhalf") as port:
        assert Fetch(5).get(f"http://127.0.0.1:{port}/").status == 404


@pytest.mark.parametrize("said", [OK + b"\r\nwhole", CHUNKED + b"2\r\nwh\r\n3\r\nole\r\n0\r\n\r\n"])
def test_an_answer_without_a_length_is_read_to_its_end(said: bytes) -> None:
    with raw(said) as port:
        assert Fetch(5).get(f"http://127.0.0.1:{port}/").body == b"whole"


@pytest.mark.parametrize("answer", [Hang(), Drip(), Drip("body")])
def test_a_source_that_hangs_or_drips_is_given_up_at_the_deadline(receiver: HTTPReceiver, answer: Hang | Drip) -> None:
    receiver.answer = answer

    def check() -> None:
        with pytest.raises((Unanswered, Unfit)):
            Fetch(DEADLINE).get(receiver.url)

    assert took(check) < DEADLINE + SLACK


def test_redirects_share_one_deadline(receiver: HTTPReceiver) -> None:
    receiver.answers.extend([Reply(302, {"Location": "/next"}), Hang()])

    def check() -> None:
        with pytest.raises(Unanswered):
            Fetch(DEADLINE).get(receiver.url)

    assert took(check) < DEADLINE + SLACK
    assert len(receiver.requests) == 2


@pytest.mark.parametrize("head", [OK + b"Content-Length: 1073741824\r\n\r\n", OK + b"\r\n", CHUNKED])
def test_a_page_that_grows_to_a_gigabyte_is_left_after_two_megabytes(head: bytes) -> None:
    sent = 0

    def talk(client: socket.socket) -> None:
        nonlocal sent
        client.recv(65536)
        client.sendall(head)
        piece = b"x" * 65536
        piece = b"10000\r\n" + piece + b"\r\n" if head is CHUNKED else piece
        while True:
            client.sendall(piece)
            sent += len(piece)

    with raw_server(talk) as port:
        answer = unfit(lambda: Fetch(20).get(f"http://127.0.0.1:{port}/"))
    assert (answer.reason.code, sent < 20 * MOST_BYTES) == (JobCode.TOO_LARGE, True)


def test_a_page_of_two_megabytes_is_read_whole(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(body=b"x" * MOST_BYTES)
    assert len(Fetch(20).get(receiver.url).body) == MOST_BYTES


def test_zeros_in_gzip_are_not_unpacked(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(bytes(100_000_000), 1, mtime=0))
    assert unfit(lambda: Fetch(5).get(receiver.url)).reason.code == JobCode.TOO_LARGE
    assert receiver.requests[0].headers["Accept-Encoding"] == "identity"
    receiver.answer = Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(bytes(MOST_BYTES), mtime=0) * 2)
    assert unfit(lambda: Fetch(5).get(receiver.url)).reason.code == JobCode.TOO_LARGE


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"<rss/>", mtime=0)),
        ("X-Gzip", gzip.compress(b"<rss/>", mtime=0)),
        ("gzip", gzip.compress(b"<rs", mtime=0) + gzip.compress(b"s/>", mtime=0)),
        ("gzip", gzip.compress(b"<rss/>", mtime=0) + bytes(512)),
        ("", gzip.compress(b"<rss/>", mtime=0)),
        ("deflate", zlib.compress(b"<rss/>")),
        ("deflate", zlib.compress(b"<rss/>")[2:-4]),
        ("UTF-8", b"<rss/>"),
        ("none", b"<rss/>"),
    ],
)
def test_a_page_that_is_compressed_although_nobody_asked_is_read(
    receiver: HTTPReceiver, encoding: str, body: bytes
) -> None:
    receiver.answer = Reply(headers={"Content-Encoding": encoding}, body=body)
    assert Fetch(5).get(receiver.url).body == b"<rss/>"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", b"x"),
        ("gzip", b"x"),
        ("gzip", gzip.compress(b"<rss/>", mtime=0)[:-9]),
        ("gzip", gzip.compress(b"<rss/>", mtime=0) + gzip.compress(b"<rss/>", mtime=0)[:-9]),
        ("gzip", gzip.compress(b"", mtime=0) * 10_000),
        ("gzip, gzip", b"x"),
    ],
)
def test_a_compression_that_cannot_be_read_whole_is_said(receiver: HTTPReceiver, encoding: str, body: bytes) -> None:
    receiver.answer = Reply(headers={"Content-Encoding": encoding}, body=body)
    assert unfit(lambda: Fetch(5).get(receiver.url)).reason.code == JobCode.COMPRESSED


def test_a_redirect_loop_ends(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(302, {"Location": receiver.url})
    assert unfit(lambda: Fetch(5).get(receiver.url)).reason.code == JobCode.MOVED_TOO_OFTEN
    assert len(receiver.requests) == 6


@pytest.mark.parametrize("location", ["http://[", "http://[v1.x]/"])
def test_a_redirect_to_no_address_is_refused(receiver: HTTPReceiver, location: str) -> None:
    receiver.answer = Reply(302, {"Location": location})
    with pytest.raises((Unfit, NotSent)) as failure:
        Fetch(5).get(receiver.url)
    assert isinstance(failure.value, Unfit) or failure.value.refused


@pytest.mark.parametrize("location", ["ftp://example.org/", "file:///etc/passwd", "javascript:x", "gopher://x.org/_x"])
def test_a_redirect_to_another_scheme_is_refused(receiver: HTTPReceiver, location: str) -> None:
    receiver.answer = Reply(302, {"Location": location})
    with pytest.raises(NotSent) as failure:
        Fetch(5).get(receiver.url)
    assert (failure.value.refused, failure.value.reason.code) == (True, DeliveryCode.FORBIDDEN)


def test_every_address_that_people_may_not_enter_is_refused_to_checks(settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = []
    for url in REFUSED_URLS:
        with pytest.raises(NotSent) as failure:
            Fetch(5).get(url, SECRET)
        assert failure.value.refused, url


def test_no_name_that_resolves_to_a_denied_address_is_connected_to(
    settings: Settings, names: dict[str, list[str]]
) -> None:
    settings.ALLOWED_NETWORKS = []
    for address in DENIED.split():
        if (address[0].isdigit() and address.count(".") == 3) or (":" in address and "%" not in address):
            for also in ("", "93.184.216.34,"):
                names["inside.example"] = [also + address]
                with pytest.raises(NotSent) as failure:
                    Fetch(5).get("http://inside.example/", SECRET)
                assert failure.value.refused or "256" in address, address


@pytest.mark.parametrize("host", [*PRIVATE.split(), "127.0.0.2"])
def test_no_redirect_leads_to_a_private_address(
    host: str, receiver: HTTPReceiver, names: dict[str, list[str]], settings: Settings
) -> None:
    names |= {"inside.example": ["127.0.0.1"], "mixed.example": ["93.184.216.34,127.0.0.1"]}

    def redirect(_: Received) -> Reply:
        settings.ALLOWED_NETWORKS = []  # this server was let pass; from now on everybody is a stranger
        return Reply(302, {"Location": f"http://{f'[{host}]' if ':' in host else host}:{inside.port}/"})

    receiver.answer = redirect
    with HTTPReceiver() as inside:
        with pytest.raises(NotSent) as failure:
            Fetch(5).get(receiver.url, SECRET)
        assert (failure.value.refused, len(receiver.requests), inside.requests) == (True, 1, [])


def test_a_secret_goes_to_its_own_scheme_host_and_port_only(
    receiver: HTTPReceiver, names: dict[str, list[str]]
) -> None:
    names["other.example"] = ["127.0.0.1"]
    with HTTPReceiver() as elsewhere:
        for target in (elsewhere.url, f"http://other.example:{receiver.port}/"):
            receiver.answers.extend([Reply(302, {"Location": "/same"}), Reply(302, {"Location": target})])
            Fetch(5, etag='"1"').get(receiver.url, SECRET)
        seen = [request.headers.get("Authorization") for request in receiver.requests]
        assert seen == ["Bearer planted", "Bearer planted", "Bearer planted", "Bearer planted", None]
        assert elsewhere.requests[0].headers.keys().isdisjoint({"Authorization", "If-None-Match"})


def test_what_is_known_is_named_and_what_a_failure_calls_itself_is_forgotten(receiver: HTTPReceiver) -> None:
    def answer(request: Received) -> Reply:
        return Reply(304, body=b"") if request.headers.get("If-None-Match") == '"1"' else Reply(200, {"ETag": '"1"'})

    receiver.answer = answer
    first = Fetch(5)
    first.get(receiver.url)
    assert first.etag == '"1"'
    with pytest.raises(NotModified):
        Fetch(5, first.etag).get(receiver.url)
    receiver.answer = Reply(500, {"ETag": '"2"', "Last-Modified": "now"})
    failed = Fetch(5, '"1"', "then")
    failed.get(receiver.url)
    assert (failed.etag, failed.modified) == ("", "")
    receiver.answer = Reply(200, {"ETag": '"' + "x" * 600 + '"', "Last-Modified": "\xff"})
    failed.get(receiver.url)
    assert (failed.etag, failed.modified) == ("", "")


def test_a_304_that_was_not_asked_for_is_no_success(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(304, body=b"")
    assert isinstance(problem(Fetch(5).get(receiver.url), "It"), Refused)


@pytest.mark.parametrize(
    ("status", "secret", "kind", "code"),
    [
        (200, False, type(None), None),
        (401, True, Refused, JobCode.REFUSED),
        (403, False, Refused, JobCode.ASKS_FOR_SECRET),
        (404, False, Refused, JobCode.NOT_FOUND),
        (429, False, Later, DeliveryCode.HTTP),
        (500, False, Later, DeliveryCode.HTTP),
    ],
)
def test_a_status_says_what_follows(status: int, secret: bool, kind: type, code: str | None) -> None:
    found = problem(Response(status, {}, b""), "It", secret=secret)
    assert isinstance(found, kind)
    assert found is None or found.reason.code == code
    assert getattr(found, "disconnect", False) == (status == 401)
