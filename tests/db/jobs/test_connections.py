"""Connections on their pages: added when their source answers, with secrets that nobody sees again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from common.database import encryption
from demo.receivers import HTTPReceiver, Received, Reply
from demo.receivers.github import GitHub, token
from jobs.changes import connections
from jobs.connections.calendar import CalendarField
from jobs.models import Connection
from notifications.messages.message import Destination
from people.models import User
from tests.make import make_connection, make_job_schedule, make_user, without_triggers
from tests.network import served

ICS = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n"


@pytest.fixture(autouse=True)
def only_the_loopback_is_allowed(settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def github() -> Iterator[HTTPReceiver]:
    with served(GitHub({"ada": {}, "grace": {}, "revoked": {}, "broken": {}}).answer) as receiver:
        yield receiver


@pytest.fixture
def site() -> Iterator[HTTPReceiver]:
    """Pages for whoever has the password, a calendar, and nothing else."""

    def answer(request: Received) -> Reply:
        if request.path == "/prices.json":
            return Reply(200 if request.headers.get("X-Key") == "planted-key" else 401)
        return Reply(200, body=ICS) if request.path == "/planted.ics" else Reply(404)

    with HTTPReceiver(answer) as receiver:
        yield receiver


def post(browser: Client, path: str, **typed: Any) -> str:
    return browser.post(path, typed, follow=True).content.decode()


def test_github_is_connected_by_its_token_and_keeps_the_login(browser: Client, ada: User, github: HTTPReceiver) -> None:
    page = post(browser, "/connections/new/github/", token=token("ada"))
    connection = Connection.objects.get(user=ada)
    assert (connection.label, connection.address, connection.state) == ("GitHub", {"login": "ada"}, "working")
    assert connection.destination().secrets == {"token": token("ada")}
    assert connection.verified_at is not None
    for shown in (page, browser.get(f"/connections/{connection.id}/").content.decode()):
        assert "ada" in shown and token("ada") not in shown


@pytest.mark.parametrize("owner", ["revoked", "broken", "nobody"])
def test_a_token_that_github_does_not_take_is_not_kept(browser: Client, github: HTTPReceiver, owner: str) -> None:
    page = post(browser, "/connections/new/github/", token=token(owner), label="Mine")
    assert not Connection.objects.exists()
    assert 'role="alert"' in page and "Mine" in page


def test_a_token_of_another_shape_is_refused_without_asking(browser: Client, github: HTTPReceiver) -> None:
    assert "A token begins with ghp_" in post(browser, "/connections/new/github/", token="planted")
    assert not github.requests


def test_an_address_is_connected_with_its_headers(browser: Client, ada: User, site: HTTPReceiver) -> None:
    url = f"{site.origin}/prices.json"
    post(browser, "/connections/new/address/", url=url, headers="X-Key: wrong")
    assert not Connection.objects.exists()
    post(browser, "/connections/new/address/", url=url, headers="X-Key: planted-key", label="Prices")
    connection = Connection.objects.get(user=ada)
    assert (connection.address, connection.destination().secrets) == ({"url": url}, {"X-Key": "planted-key"})
    page = browser.get(f"/connections/{connection.id}/").content.decode()
    assert url in page and "planted-key" not in page


def test_a_calendar_is_shown_by_its_host_only(browser: Client, ada: User, site: HTTPReceiver) -> None:
    assert "something else than an iCalendar" not in post(
        browser, "/connections/new/calendar/", url=f"{site.origin}/planted.ics"
    )
    connection = Connection.objects.get(user=ada)
    assert connection.address == {"host": "127.0.0.1"}
    assert connection.destination().secrets == {"url": f"{site.origin}/planted.ics"}
    assert "planted.ics" not in browser.get(f"/connections/{connection.id}/").content.decode()
    assert "nothing at this address" in post(browser, "/connections/new/calendar/", url=f"{site.origin}/other.ics")


def test_webcal_means_https() -> None:
    assert CalendarField().to_python("webcal://example.org/a.ics") == "https://example.org/a.ics"


def test_a_private_address_is_refused_where_it_is_typed(browser: Client, settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = []
    for source in ("address", "calendar"):
        page = post(browser, f"/connections/new/{source}/", url="http://169.254.169.254/latest/")
        assert 'id="id_url_error"' in page
    assert not Connection.objects.exists()


def edit(browser: Client, connection: Connection, **typed: Any) -> str:
    connection.refresh_from_db()
    return post(browser, f"/connections/{connection.id}/", version=connection.version, **typed)


def test_a_stored_secret_stays_where_another_field_is_changed_or_wrong(
    browser: Client, ada: User, github: HTTPReceiver
) -> None:
    connection = make_connection(ada)
    before = connection.version
    edit(browser, connection, label="x" * 81)
    edit(browser, connection, label="Work")
    connection.refresh_from_db()
    assert (connection.label, connection.version) == ("Work", before + 1)
    assert connection.destination().secrets == {"token": token("ada")}
    assert not github.requests  # the same token needs no check


def test_another_token_is_checked_and_enables_the_connection(browser: Client, ada: User, github: HTTPReceiver) -> None:
    connection = make_connection(ada, disabled_at="2026-06-01T12:00Z", failing_since="2026-06-01T12:00Z")
    edit(browser, connection, token=token("revoked"))
    connection.refresh_from_db()
    assert (connection.state, connection.destination().secrets) == ("disabled", {"token": token("ada")})
    edit(browser, connection, token=token("grace"))
    connection.refresh_from_db()
    assert (connection.state, connection.address) == ("working", {"login": "grace"})


def test_stored_headers_do_not_go_to_another_server(browser: Client, ada: User, site: HTTPReceiver) -> None:
    secrets = {"X-Key": "planted-key"}
    connection = make_connection(ada, "address", address={"url": f"{site.origin}/prices.json"}, secrets=secrets)
    page = edit(browser, connection, url=f"http://127.0.0.2:{site.port}/prices.json")
    assert "the stored value belongs to another server" in page
    connection.refresh_from_db()
    assert connection.address == {"url": f"{site.origin}/prices.json"}
    assert all("X-Key" not in request.headers for request in site.requests)


def test_a_change_of_an_older_version_is_not_saved(browser: Client, ada: User) -> None:
    connection = make_connection(ada)
    page = post(browser, f"/connections/{connection.id}/", version=0, label="Late")
    assert "Somebody changed this connection" in page
    connection.refresh_from_db()
    assert connection.label == "Github"


def test_a_change_during_the_question_to_its_source_is_not_overwritten(
    browser: Client, ada: User, github: HTTPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = make_connection(ada)
    rename_during_question(monkeypatch)
    assert "Somebody changed this connection" in edit(browser, connection, token=token("grace"))
    connection.refresh_from_db()
    assert (connection.label, connection.destination().secrets) == ("Theirs", {"token": token("ada")})


def rename_during_question(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = connections.ask_source

    def ask_slowly(*given: Any) -> Any:
        Connection.objects.update(label="Theirs", version=7)
        return ask(*given)

    monkeypatch.setattr(connections, "ask_source", ask_slowly)


def test_a_check_says_what_came_of_it(browser: Client, ada: User, github: HTTPReceiver) -> None:
    connection = make_connection(ada)
    assert "works." in post(browser, f"/connections/{connection.id}/check/")
    states = {}
    for owner in ("broken", "revoked", "ada"):
        connection.hold(Destination(connection.address, {"token": token(owner)}))
        connection.save()
        page = post(browser, f"/connections/{connection.id}/check/")
        connection.refresh_from_db()
        states[owner] = (connection.state, connection.failing_code, "does not work" in page)
    assert states == {
        "broken": ("failing", "http", True),
        "revoked": ("disabled", "github-token", True),
        "ada": ("working", "", False),
    }


def test_checks_are_limited_a_minute(ada: User, browser: Client, github: HTTPReceiver) -> None:
    connection = make_connection(ada)
    pages = [post(browser, f"/connections/{connection.id}/check/") for _ in range(connections.CHECKS_A_MINUTE + 1)]
    assert "which is the limit" in pages[-1] and "which is the limit" not in pages[-2]
    assert len(github.requests) == connections.CHECKS_A_MINUTE


def test_a_check_says_nothing_of_secrets_that_were_entered_meanwhile(
    ada: User, github: HTTPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = make_connection(ada, secrets={"token": token("revoked")})
    rename_during_question(monkeypatch)
    assert connections.check(connection) is not None
    connection.refresh_from_db()
    assert connection.state == "working"


def test_removing_erases_the_secrets_and_names_the_reminders(browser: Client, ada: User) -> None:
    connection = make_connection(ada)
    make_job_schedule(ada, kind="github_streak", connection=connection, title="Commit something")
    assert "Commit something" in browser.get(f"/connections/{connection.id}/").content.decode()
    assert "Commit something" in browser.get(f"/connections/{connection.id}/remove/").content.decode()
    post(browser, f"/connections/{connection.id}/remove/")
    connection.refresh_from_db()
    assert (connection.sealed_secrets, connection.removed_at is None) == ("", False)
    assert browser.get(f"/connections/{connection.id}/").status_code == 404
    assert "No connection yet" in browser.get("/connections/").content.decode()


def test_one_person_has_at_most_so_many(browser: Client, ada: User, github: HTTPReceiver, settings: Settings) -> None:
    settings.MOST_CONNECTIONS = 1
    make_connection(make_user())
    post(browser, "/connections/new/github/", token=token("ada"))
    assert "which is the limit" in post(browser, "/connections/new/github/", token=token("ada"))
    assert Connection.objects.filter(user=ada).count() == 1


def test_a_damaged_connection_does_not_break_the_pages(browser: Client, ada: User) -> None:
    make_connection(ada)
    gone = make_connection(ada, "gone", label="Gone")
    damaged = make_connection(ada, label="Damaged")
    with without_triggers():
        Connection.objects.filter(id=damaged.id).update(sealed_secrets="x", address=[1])
    page = browser.get("/connections/").content.decode()
    assert page.count('class="row"') == 3
    for one in (gone, damaged):
        assert browser.get(f"/connections/{one.id}/").status_code == 200
        assert "does not work" in post(browser, f"/connections/{one.id}/check/")


def test_secrets_are_sealed_for_their_own_row(ada: User) -> None:
    mine, yours = make_connection(ada), make_connection(make_user())
    yours.sealed_secrets = mine.sealed_secrets
    with pytest.raises(encryption.Unreadable):
        yours.destination()
    assert token("ada") not in mine.sealed_secrets
