"""What a request claims of itself, its host and its charset, breaks nothing and leads nobody astray."""

from __future__ import annotations

import asyncio
import gzip
import re
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module

import pytest
from allauth.account.models import EmailAddress
from asgiref.testing import ApplicationCommunicator
from django.core import mail
from django.core.signals import request_started
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from config.web.middleware import Compression
from people.models import User
from tests.make import make_channel, make_user, signed_in

HOST = "localhost:6666"


def links(text: str) -> set[str]:
    return set(re.findall(r"https?://[^/\s]+", text))


@pytest.mark.parametrize("verification", ["optional", "mandatory"])
def test_links_in_account_mails_lead_to_the_base_url(settings: Settings, verification: str) -> None:
    settings.BASE_URL = "https://carillon.example"
    settings.ACCOUNT_EMAIL_VERIFICATION = verification
    known = make_user(email="known@example.org", password="bell-tower-42")
    EmailAddress.objects.create(user=known, email=known.email, verified=True, primary=True)
    client = Client(HTTP_HOST=HOST)
    for path, fields in [
        ("password/reset/", {"email": known.email}),
        ("password/reset/", {"email": "nobody@example.org"}),
        ("signup/", {"email": known.email, "password1": "tower-bell-43"}),
        ("signup/", {"email": "new@example.org", "password1": "tower-bell-43"}),
    ]:
        Client(HTTP_HOST=HOST).post(f"/account/{path}", fields)
    client.post("/account/login/", {"login": known.email, "password": "bell-tower-42"})
    client.post("/account/reauthenticate/", {"password": "bell-tower-42"})
    client.post("/account/email/", {"email": "second@example.org", "action_add": ""})
    changed = {"oldpassword": "bell-tower-42", "password1": "tower-bell-43", "password2": "tower-bell-43"}
    client.post("/account/password/change/", changed)
    assert len(mail.outbox) >= 5
    assert set().union(*(links(str(letter.body)) for letter in mail.outbox)) == {"https://carillon.example"}
    assert ":6666" not in "".join(letter.message().as_string() for letter in mail.outbox)


@pytest.mark.parametrize(
    "path",
    ["/", "/reminders/", "/channels/", "/history/", "/settings/", "/account/email/", "/account/second-factor/", "/no/"],
)
def test_no_page_is_kept_by_a_browser_or_a_proxy(browser: Client, path: str) -> None:
    told = browser.get(path)["Cache-Control"]
    assert "private" in told and "no-store" in told


def test_pages_of_one_row_and_of_the_admin_are_not_kept_either(browser: Client, ada: User) -> None:
    channel = make_channel(ada)
    staff = signed_in(is_staff=True, is_superuser=True)
    for answer in (browser.get(f"/channels/{channel.id}/"), staff.get("/admin/"), staff.get("/admin/people/user/")):
        assert answer.status_code == 200
        assert "private" in answer["Cache-Control"] and "no-store" in answer["Cache-Control"]


def test_static_files_are_kept(client: Client) -> None:
    assert "no-store" not in client.get("/static/carillon.css").headers.get("Cache-Control", "")


def test_the_first_visit_is_under_60_kb(settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = False
    client = Client(headers={"accept-encoding": "gzip"})
    page = client.get("/account/login/")
    asked = re.findall(r'(?:href|src)="(/static/[^"#]+)', gzip.decompress(page.content).decode())
    files = {address: client.get(address) for address in asked}
    assert len(files) >= 5 and all("immutable" in file["Cache-Control"] for file in files.values())
    assert sum(len(answer.content) for answer in [page, *files.values()]) < 60_000


FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data; boundary=x"
Ask = Callable[[str, str, bytes], tuple[int, bytes]]
WHOLE_PARTS = b'--x\r\nContent-Disposition: form-data; name="login"\r\n\r\nx\r\n--x--\r\n'
ODD = [
    "base64",
    "rot13",
    "hex",
    "zlib",
    "undefined",
    "idna",
    "punycode",
    "unicode_escape",
    "utf-16",
    "utf-7",
    "latin-1",
]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask the application that the server runs for a page: its status, and the page."""
    monkeypatch.setenv("DATABASE_POOL", "")  # else importing it sets one for all that this process starts
    # The threads of the application outlive the test, and so would their connections.
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)
    application = import_module("config.asgi").application

    async def exchange(method: str, kind: str, body: bytes) -> tuple[int, bytes]:
        headers = {b"host": b"localhost", b"content-type": kind.encode("latin-1"), b"content-length": b"%d" % len(body)}
        scope = {"type": "http", "method": method, "path": "/account/login/", "query_string": b"next=%ff"}
        asked = ApplicationCommunicator(application, scope | {"headers": list(headers.items())})
        await asked.send_input({"type": "http.request", "body": body})
        start, page = await asked.receive_output(10), await asked.receive_output(10)
        await asked.wait(60)
        return start["status"], page["body"]

    return lambda *of: asyncio.run(exchange(*of))


@pytest.mark.parametrize("charset", [*ODD, "latin-1", "mbcs", "no-such", "\xff", "a'b", "UTF-8\x01"])
@pytest.mark.parametrize("kind", [FORM, PARTS, "text/plain"])
def test_an_odd_charset_is_refused_and_breaks_nothing(ask: Ask, charset: str, kind: str) -> None:
    body = WHOLE_PARTS if kind == PARTS else b"login=%ff&q=1"
    for method in ("GET", "POST"):
        status, page = ask(method, f"{kind}; charset={charset}", body)
        assert (status, b"<html" in page) == (400, True)


def test_requests_share_threads_and_none_sees_what_an_earlier_one_set(ask: Ask) -> None:
    leftover: ContextVar[bool] = ContextVar("leftover", default=False)
    seen: list[tuple[int, bool]] = []

    def note(**_: object) -> None:
        seen.append((threading.get_ident(), leftover.get()))
        leftover.set(True)

    request_started.connect(note)
    try:
        for _ in range(20):
            ask("GET", FORM, b"")
    finally:
        request_started.disconnect(note)
    threads = {thread for thread, _ in seen}
    assert len(seen) == 20 > len(threads)
    assert threading.get_ident() not in threads
    assert not any(set_before for _, set_before in seen)


@pytest.mark.usefixtures("ask")
def test_requests_that_wait_for_another_host_hold_up_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    web = import_module("config.asgi")
    handler, ended = web.Handler(), threading.Event()

    def respond(scope: dict[str, str], *_: object) -> tuple[None, HttpResponse]:
        return None, HttpResponse(str(scope["path"] == "/quick" or ended.wait(10)))

    async def ask_all() -> None:
        slow = [asyncio.ensure_future(handler._in_thread({"path": "/slow"}, None, None)) for _ in range(web._AT_ONCE)]
        await asyncio.wait_for(handler._in_thread({"path": "/quick"}, None, None), 5)
        assert not any(one.done() for one in slow)
        ended.set()
        assert [answer.content for _, answer in await asyncio.gather(*slow)] == [b"True"] * web._AT_ONCE

    monkeypatch.setattr(handler, "_respond", respond)
    asyncio.run(ask_all())


@pytest.mark.usefixtures("ask")
def test_the_web_process_changes_often_between_threads() -> None:
    """docs/decisions.md has what a page waits for with Python's own interval."""
    assert sys.getswitchinterval() <= 0.001


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", "utf8", "us-ascii", '"utf-8"'])
@pytest.mark.parametrize("kind", [FORM, PARTS])
def test_the_usual_charsets_are_read(ask: Ask, charset: str, kind: str) -> None:
    status, _ = ask("POST", f"{kind}; charset={charset}", WHOLE_PARTS if kind == PARTS else b"login=x")
    assert status == 403  # for want of the form's token: the body was read


def test_pages_are_compressed_and_what_has_an_etag_is_not(browser: Client) -> None:
    page = browser.get("/reminders/", headers={"Accept-Encoding": "gzip"})
    assert (page["Content-Encoding"], "Accept-Encoding" in page["Vary"]) == ("gzip", True)
    asks = RequestFactory().get("/", headers={"Accept-Encoding": "gzip"})
    versioned = Compression(lambda _: HttpResponse("x" * 1_000, headers={"ETag": '"1"'}))(asks)
    assert (versioned["ETag"], versioned.has_header("Content-Encoding")) == ('"1"', False)


def test_links_of_an_old_host_lead_to_the_present_one(client: Client, settings: Settings) -> None:
    settings.OLD_HOSTS, settings.BASE_URL = ["old.example.org"], "https://new.example.org"
    settings.ALLOWED_HOSTS = ["new.example.org", "old.example.org"]
    answer = client.get("/m/abc/?until=1%202", headers={"Host": "old.example.org:8443"})
    assert (answer.status_code, answer["Location"]) == (308, "https://new.example.org/m/abc/?until=1%202")
    assert client.head("/", headers={"Host": "OLD.example.org"}).status_code == 308
    assert client.get("/healthz", headers={"Host": "old.example.org"}).status_code == 200
    # Programs may follow no redirect, and must not send a token to another host.
    assert client.post("/in/abc", headers={"Host": "old.example.org"}).status_code == 404
    assert client.get("/api/v1/me", headers={"Host": "old.example.org"}).status_code == 401
    assert client.get("/account/login/", headers={"Host": "new.example.org"}).status_code == 200
    assert client.get("/account/login/", headers={"Host": "other.example.org"}).status_code == 400
