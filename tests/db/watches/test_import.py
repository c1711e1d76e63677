"""An export of Healthchecks becomes watches: shown first, imported once."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from common.forms.json_file import LARGEST, MOST
from people.models import User
from tests.make import make_channel, make_watch
from watches.models import Watch

PATH = "/watches/import/"


def check(name: str, **fields: Any) -> dict[str, Any]:
    """One as Healthchecks 3 shows it to a read-only key."""
    shown = {"name": name, "slug": "", "tags": "", "desc": "", "grace": 3600, "n_pings": 7, "status": "up"}
    shown |= {"started": False, "last_ping": "2026-11-28T02:00:00+00:00", "next_ping": None, "manual_resume": False}
    shown |= {"methods": "", "subject": "", "subject_fail": "", "start_kw": "", "success_kw": "", "failure_kw": ""}
    shown |= {"filter_subject": False, "filter_body": False, "filter_http_body": False, "filter_default_fail": False}
    shown |= {"badge_url": "https://healthchecks.io/b/2/x.svg", "last_duration": 3, "unique_key": "a6c7b0"}
    return shown | ({} if "schedule" in fields else {"timeout": 86400}) | fields


def shown(client: Client, content: Any) -> HttpResponse:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return client.post(PATH, {"file": SimpleUploadedFile("checks.json", raw)})


def imported(client: Client, user: User, content: Any, **fields: Any) -> HttpResponse:
    channel = user.channels.first() or make_channel(user)
    return client.post(PATH, {"content": json.dumps(content), "channels": [str(channel.id)]} | fields)


def left_out(page: HttpResponse) -> list[tuple[str, str]]:
    return [(one.name, field) for one, field, _text in page.context["troubles"]]


def test_the_list_leads_to_the_import(browser: Client) -> None:
    page = browser.get("/watches/").content.decode()
    assert page.count(f'href="{PATH}"') == 2
    assert "checks.json" in browser.get(PATH).content.decode()


def test_checks_are_shown_and_nothing_is_saved(browser: Client, ada: User) -> None:
    inbox = [make_channel(ada)]
    make_watch(ada, inbox, name="Backup")
    make_watch(ada, inbox, name="Other", slug="db")
    checks = [
        check("Backup"),
        check("Database", slug="db"),
        check("Mails", slug="mails", schedule="*/5 * * * *", tz="Europe/Berlin"),
        check("Mails"),
        check("Twice", slug="mails"),
    ]
    page = shown(browser, {"checks": checks})
    assert [one.name for one, _when in page.context["new"]] == ["Mails"]
    assert page.context["existing"] == ["Backup", "Database", "Mails", "Twice"]
    assert left_out(page) == []
    assert "Import 1 watch?" in page.content.decode()
    assert Watch.objects.count() == 2


def test_checks_are_imported_once_and_their_addresses_listed(browser: Client, ada: User) -> None:
    words = {"success_kw": "done", "failure_kw": "ERROR, no space", "filter_http_body": True}
    checks = [
        check("Backup", slug="backup", tags="db night", desc="Call Ada", grace=600),
        check("Mails", schedule="*/5 * * * *", tz="Europe/Berlin", **words, filter_default_fail=True),
    ]
    page = imported(browser, ada, checks).content.decode()
    mails, backup = Watch.objects.order_by("-name")
    assert (backup.period, backup.grace, backup.slug, backup.tags) == (86400, 600, "backup", ["db", "night"])
    assert (backup.description, backup.state, backup.deadline) == ("Call Ada", "new", None)
    assert (mails.kind, mails.rule, mails.time_zone) == ("cron", {"expression": "*/5 * * * *"}, "Europe/Berlin")
    assert (mails.success_words, mails.failure_words) == (["done"], ["ERROR", "no space"])
    assert [one.user for one in (*mails.channels.all(), *backup.channels.all())] == [ada, ada]
    assert backup.slug_url
    for text in ("Backup", backup.url, backup.slug_url, mails.url):
        assert text in page
    again = imported(browser, ada, {"checks": checks}).content.decode()
    assert Watch.objects.count() == 2
    assert re.findall("/ping/[^<]+", again) == re.findall("/ping/[^<]+", page)
    assert "Nothing to import" in shown(browser, checks).content.decode()


def test_an_import_writes_all_watches_in_a_few_statements(browser: Client, ada: User) -> None:
    two = [str(make_channel(ada, provider).id) for provider in ("inbox", "webhook")]

    def statements(checks: list[dict[str, Any]]) -> int:
        with CaptureQueriesContext(connection) as captured:
            imported(browser, ada, checks, channels=two)
        return len(captured)

    imported(browser, ada, [check("First", slug="first")], channels=two)
    few = statements([check("A", slug="a"), check("B", slug="b")])
    many = statements([check(f"C{number}", slug=f"c{number}") for number in range(22)])
    assert many - few == 2 * 20  # the channels that its form offers, and whether its slug is taken
    assert [watch.channels.count() for watch in Watch.objects.all()] == [2] * 25


def test_channels_have_an_order_and_one_is_needed(browser: Client, ada: User) -> None:
    first, second = make_channel(ada), make_channel(ada, "webhook", label="Phone")
    none = imported(browser, ada, [check("Backup")], channels=[])
    assert none.context["form"].errors.keys() == {"channels"} and not Watch.objects.exists()
    order = {"one_by_one": "order", f"position_{second.id.hex}": "1", "escalate_after": "5", "urgent": "on"}
    imported(browser, ada, [check("Backup")], channels=[str(first.id), str(second.id)], **order)
    watch = Watch.objects.get()
    assert (watch.channel_order, watch.escalate_after, watch.urgent) == ([second.id, first.id], 5, True)


def test_what_is_not_understood_is_named_by_check_and_field(browser: Client, ada: User) -> None:
    checks = [
        check("Posts", methods="POST", colour="red", start_kw="go"),
        check("Words", success_kw="done", failure_kw="ERROR", filter_subject=True),
        check("Fails", filter_http_body=True, filter_default_fail=True),
        check("Calm", success_kw="done", filter_http_body=True),
        check("Often", timeout=5, grace="1"),
        check("Short", timeout=5),
        check("Calendar", schedule="Mon..Fri 9:00", tz="UTC"),
        check("Mars", schedule="0 9 * * *", tz="Mars/Olympus"),
        check("x" * 81, slug="Not a slug"),
        "Backup",
    ]
    page = shown(browser, checks)
    assert left_out(page) == [
        ("Posts", "colour"),
        ("Posts", "methods"),
        ("Posts", "start_kw"),
        ("Words", "failure_kw"),
        ("Words", "filter_subject"),
        ("Words", "success_kw"),
        ("Fails", "filter_default_fail"),
        ("Calm", "success_kw"),
        ("Often", "grace"),
        ("Short", "timeout"),
        ("Calendar", "schedule"),
        ("Mars", "tz"),
        ("x" * 80, "name"),
        ("x" * 80, "slug"),
        ("Backup", ""),
    ]
    imported(browser, ada, checks)
    made = Watch.objects.order_by("id").values_list("name", "success_words", "failure_words")
    assert list(made) == [(name, [], []) for name in ("Posts", "Words", "Fails", "Calm")]


def test_no_more_are_made_than_a_person_may_have(browser: Client, ada: User, settings: Settings) -> None:
    settings.MOST_WATCHES = 2
    make_watch(ada)
    page = imported(browser, ada, [check("One"), check("Two")], channels=[])
    assert (len(page.context["new"]), left_out(page)) == (1, [("Two", "")])
    imported(browser, ada, [check("One"), check("Two")])
    assert Watch.objects.filter(user=ada).count() == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"checks": [', "This is not a JSON file that can be read"),
        (b"\xff", "This is not a JSON file that can be read"),
        (b'{"channels": []}', "no list of checks"),
        (b"5", "no list of checks"),
        (json.dumps([{}] * (MOST + 1)).encode(), "more than 2,000 entries"),
        (b" " * (LARGEST + 1), "larger than 4 MB"),
    ],
)
def test_a_file_that_cannot_be_taken_says_why(browser: Client, ada: User, content: bytes, said: str) -> None:
    answer = shown(browser, content)
    assert (answer.status_code, said in answer.content.decode()) == (422, True)


def test_only_a_json_file_is_read(browser: Client) -> None:
    assert browser.post(PATH, {}).status_code == 422
    assert browser.post(PATH, {"file": SimpleUploadedFile("checks.csv", b"[]")}).status_code == 422


def test_texts_that_no_page_could_show_are_named(browser: Client, ada: User) -> None:
    make_channel(ada)
    words = {"failure_kw": "no\u001bspace", "filter_http_body": True}
    page = shown(browser, [check("Back\u0007up"), check("Tags", tags="d\u0007b"), check("Words", **words)])
    assert left_out(page) == [("Back\u0007up", "name"), ("Tags", "tags"), ("Words", "failure_kw")]
    assert page.context["new"] == []


def test_tags_may_stand_between_commas(browser: Client, ada: User) -> None:
    make_channel(ada)
    page = shown(browser, [check("Backup", tags="db, night,prod")])
    assert left_out(page) == []
    [(one, _when)] = page.context["new"]
    assert one.watch.tags == ["db", "night", "prod"]
