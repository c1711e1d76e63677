"""A real web process, attacked and left alone by its database."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
from allauth.account.models import EmailAddress
from django.conf import settings
from django.utils import timezone
from redis import Redis

from notifications.net import address_checks
from people import tokens
from tests.make import make_channel, make_schedule, make_user
from tests.network import SLACK
from tests.process.web import Web, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture(autouse=True)
def nothing_is_counted_yet() -> None:
    """What a web process counts, it counts where the next test's does."""
    with Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()


@contextmanager
def silent_server() -> Iterator[tuple[int, list[socket.socket]]]:
    """Takes connections and says nothing; its port, and those that are open or were."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:

        def take() -> None:
            with suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield listener.getsockname()[1], taken
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    for one in taken:
        one.close()


def test_a_body_that_is_too_large_is_refused_by_its_length_and_by_what_arrives_of_it(web: Web) -> None:
    piece = b"x" * MIB

    def pieces(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield piece

    refused = web.ask("POST", "/account/login/", piece * 17)
    assert (refused.status, refused.headers["Connection"]) == (413, "close")
    told = web.ask("POST", "/api/v1/schedules", piece * 17)
    assert (told.status, json.loads(told.text)["code"]) == (413, "too-large")
    before = web.written()
    assert web.ask("POST", "/account/login/", pieces(40)).status == 413
    assert web.ask("POST", "/nowhere/", pieces(17)).status == 413
    assert web.written() - before < 40 * MIB
    # Whoever only says how much they would send is already answered they do.
    with socket.create_connection(("127.0.0.1", web.port)) as raw:
        raw.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 400000000\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 413")
    assert web.ask("POST", "/account/login/", pieces(3)).status == 403  # no token
    assert web.ask("GET", "/healthz").status == 200


def raw(web: Web, *pieces: bytes) -> bytes:
    """What the web process answers to these bytes."""
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as line:
        with suppress(ConnectionError):
            for piece in pieces:
                line.sendall(piece)
        return b"".join(iter(lambda: line.recv(65_536), b""))


def test_a_head_without_end_is_refused_and_holds_up_nobody(web: Web) -> None:
    start, piece = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\na: ", b"x" * MIB
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(raw, web, start, *[piece] * 80)
        assert max(web.ask("GET", "/healthz").took for _ in range(20)) < 5
        assert sent.result().startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("hosts", [b"", b"Host:  \r\n", b"Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n"])
@pytest.mark.parametrize("path", [b"/account/login/", b"/healthz", b"/static/theme.js", b"/api/v1/schedules"])
@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
def test_a_request_without_one_host_gets_400(web: Web, hosts: bytes, path: bytes, version: bytes) -> None:
    answer = raw(web, b"GET " + path + b" HTTP/" + version + b"\r\n" + hosts + b"Connection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert (b"application/problem+json" in answer) == path.startswith(b"/api/")


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "TRACK", "PROPFIND"])
def test_a_method_that_nothing_takes_gets_405_and_echoes_nothing(web: Web, method: str) -> None:
    for path in ("/account/login/", "/static/theme.js", "/api/v1/schedules"):
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: a=planted\r\nConnection: close\r\n\r\n"
        answer = raw(web, head.encode())
        assert answer.split(b" ", 2)[1] in (b"400", b"405") and b"planted" not in answer, answer
        assert b"x-content-type-options" in answer.lower()


SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Strict-Transport-Security": "max-age=31536000; includeSubDomains; preload",
}


@pytest.fixture(scope="module")
def behind_proxy(django_db_setup: None) -> Iterator[Web]:
    with Web(BEHIND_PROXY="on", BASE_URL="https://127.0.0.1") as web:
        yield web


def test_every_response_has_the_headers_of_security_and_an_id(behind_proxy: Web) -> None:
    web = behind_proxy
    asked = [
        web.ask("GET", path, X_Forwarded_Proto="https", **headers)
        for path in ("/account/login/", "/nowhere/", "/healthz", "/static/theme.js", "/api/v1/schedules", "/admin/")
        for headers in ({}, {"Host": "elsewhere.example.org"}, {"Content_Length": "400000000"})
    ]
    assert {answer.status for answer in asked} >= {200, 302, 400, 401, 404, 413}
    for answer in asked:
        assert {name: answer.headers[name] for name in SECURITY} == SECURITY, answer.status
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert answer.headers["X-Request-ID"]
    assert web.ask("GET", "/healthz", Host="10.0.0.1").status == 200  # a load balancer asks by address
    taken = web.ask("GET", "/nowhere/", X_Forwarded_Proto="https", X_Request_ID="from-the-proxy")
    assert taken.headers["X-Request-ID"] == "from-the-proxy"


def test_only_a_named_proxy_is_believed(django_db_setup: None) -> None:
    base = {"BEHIND_PROXY": "on", "BASE_URL": "https://127.0.0.1"}
    for networks, is_believed in (("10.0.0.0/8", False), ("10.0.0.0/8,127.0.0.0/8", True)):
        with Web(**base, PROXY_NETWORKS=networks) as web:
            answer = web.ask("GET", "/account/login/", X_Forwarded_Proto="https", X_Request_ID="from-the-proxy")
            assert (answer.status == 200) is is_believed
            assert (answer.headers["X-Request-ID"] == "from-the-proxy") is is_believed


def test_each_cookie_is_for_this_host_and_https_alone(behind_proxy: Web) -> None:
    web = behind_proxy
    user = make_user(email="ada@example.org")
    user.set_password("a long enough password")
    user.save()
    EmailAddress.objects.create(user=user, email=user.email, primary=True, verified=True)
    page = web.ask("GET", "/account/login/", X_Forwarded_Proto="https")
    cookie, token = page.headers["Set-Cookie"], re.search(r'csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token is not None
    form = {"login": user.email, "password": "a long enough password", "csrfmiddlewaretoken": token[1]}
    headers = {"X_Forwarded_Proto": "https", "Referer": "https://127.0.0.1/", "Cookie": cookie.split(";")[0]}
    answers = [
        page,
        web.ask("POST", "/account/login/", form, **headers),
        web.ask("POST", "/theme/", {"theme": "dark"}, **headers),
    ]
    cookies = [cookie for answer in answers for cookie in answer.headers.get_all("Set-Cookie", [])]
    names = {cookie.split("=")[0] for cookie in cookies}
    assert names >= {"__Host-csrftoken", "__Host-sessionid", "__Host-theme"}
    for cookie in cookies:
        attributes = cookie.lower().split("; ")[1:]
        assert cookie.startswith("__Host-") and {"secure", "httponly", "path=/"} <= {*attributes}, cookie
        assert not any(attribute.startswith("domain") for attribute in attributes)


def test_a_refused_request_is_one_line_with_its_id_and_person(web: Web) -> None:
    ada = make_user()
    asked = web.ask("GET", "/nowhere/", cookie=signed_in(ada))
    line = f"/nowhere/ [request {asked.headers['X-Request-ID']}, person {ada.pk}]"
    web.wait_until(lambda: any(line in written for written in web.lines))
    _, token = tokens.create(ada, "CI", ["schedules"], None)
    headers = {"Authorization": f"Bearer {token}", "Content_Type": "application/json"}
    invalid = web.ask("POST", "/api/v1/schedules", b'{"no such field": 1}', **headers)
    assert invalid.status == 422
    line = f"/api/v1/schedules [request {invalid.headers['X-Request-ID']}, person {ada.pk}]"
    web.wait_until(lambda: any(line in written for written in web.lines))
    wrong = web.ask("GET", "/nowhere/", Host="elsewhere.example.org").headers["X-Request-ID"]
    web.wait_until(lambda: any(wrong in written for written in web.lines))
    assert not any("Traceback" in written for written in web.lines)


def access_log(web: Web) -> str:
    return "".join(line for line in web.lines if "GET /forwarded/" in line)


def test_a_forwarded_address_is_believed_only_behind_a_proxy(web: Web) -> None:
    with Web(BEHIND_PROXY="on") as behind:
        for asked, shown in ((web, "127.0.0.1:"), (behind, "192.0.2.7:")):
            asked.ask("GET", "/forwarded/", X_Forwarded_For="192.0.2.7")
            asked.wait_until(lambda: bool(access_log(asked)))  # noqa: B023 - called at once
            assert shown in access_log(asked)


def test_forms_that_look_at_silent_addresses_hold_up_no_page(web: Web) -> None:
    cookies = [signed_in(make_user()) for _ in range(12)]
    reader = signed_in(make_user())
    with silent_server() as (port, taken), ThreadPoolExecutor(60) as pool:
        form = {"url": f"https://127.0.0.1:{port}/", "label": "Silent"}
        sent = [
            pool.submit(web.ask, "POST", "/channels/new/webhook/", form, cookie) for cookie in cookies * 2 + cookies[:1]
        ]
        web.wait_until(lambda: len(taken) == address_checks.A_MINUTE)
        pages = [web.ask("GET", "/healthz"), web.ask("GET", "/channels/", cookie=reader)]
        answers = [one.result() for one in sent]
        waited = sorted(answer.at for answer in answers)[-address_checks.A_MINUTE :]
        assert all(page.status == 200 and page.at < waited[0] for page in pages)
        assert {302} <= {answer.status for answer in answers} <= {302, 409}  # two of each person at a time
        assert len(taken) == address_checks.A_MINUTE  # whoever they are, one host is not called more often


def test_one_person_has_two_addresses_looked_at_at_the_same_time(web: Web) -> None:
    ada = signed_in(make_user())
    with silent_server() as (port, taken), ThreadPoolExecutor(10) as pool:
        form = {"url": f"https://127.0.0.1:{port}/", "label": "Silent"}
        sent = [pool.submit(web.ask, "POST", "/channels/new/webhook/", form, ada) for _ in range(8)]
        answers = sorted((one.result() for one in sent), key=lambda answer: answer.at)
        assert len(taken) == address_checks.AT_ONCE
        assert [answer.status for answer in answers] == [409] * 6 + [302] * address_checks.AT_ONCE


@pytest.mark.parametrize("how", ["cut", "silence"])
def test_while_the_database_is_away_a_page_says_so_within_five_seconds(how: str, web: Web) -> None:
    cookie = signed_in(make_user())
    assert web.ask("GET", "/reminders/", cookie=cookie).status == 200
    getattr(web.database, how)()
    for path in ("/reminders/", "/account/login/", "/admin/"):
        answer = web.ask("GET", path, cookie=cookie)
        assert answer.status == 503 or path == "/account/login/", path
        assert answer.took < 5 + SLACK, (path, answer.took)
        if answer.status == 503:
            assert int(answer.headers["Retry-After"]) > 0
            assert "<h1>" in answer.text and "Traceback" not in answer.text
    web.database.cut() if how == "silence" else None
    web.database.mend()
    web.wait_until(lambda: web.ask("GET", "/reminders/", cookie=cookie).status == 200)


def test_while_redis_is_silent_what_a_person_sends_is_taken_within_five_seconds(web: Web) -> None:
    ada = make_user()
    schedule, cookie = make_schedule(ada, [make_channel(ada)], timezone.now()), signed_in(ada)
    assert web.ask("GET", "/reminders/", cookie=cookie).status == 200
    web.redis.silence()
    answer = web.ask("POST", f"/reminders/{schedule.id}/run/", {}, cookie)
    assert answer.status == 302
    assert answer.took < 5 + SLACK
    answer = web.ask("POST", "/account/login/", {"login": ada.email, "password": "wrong"}, "nobody=1")
    assert answer.status == 200
    assert answer.took < 5 + SLACK
    web.redis.cut()
    web.redis.mend()
    assert schedule.occurrences.count() == 1
