"""The wording of pages: words that they do not say, and where to find an email that goes to a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from people.models import User
from tests.db.every_url import every_url, values_of
from tests.make import signed_in

ANNA = {"name": "Anna", "email": "anna@example.org", "password1": "bell-tower-42", "time_zone": "Europe/Rome"}


def words_of(page: str) -> str:
    """What people read of a page: its text, and the attributes that are shown or spoken."""
    spoken = re.findall(r'\b(?:placeholder|aria-label|title|alt|value)="([^"]*)"', page)
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join([re.sub(r"<[^>]*>", " ", bare), *spoken])


# "e-mail"; the codes of states, which only the API and the types of events show; words of earlier pages.
_NOT_SAID = r"""(?ix)
    (?<![.\w])
    (?: e-mails?\b | fir(?:es|ed|ings?)\b | pending\b | dead\b(?!\ letters?) | no\ beat\ was\ seen
      | make\ (?:a|the)\ (?:token|team|address|rule)
      | every\ slot | why\ and\ when | nothing\ speaks | if\ it\ is\ missed )
"""


def test_no_page_says_what_people_do_not(client: Client, ada: User) -> None:
    values = values_of(ada)
    ada.is_staff = ada.is_superuser = True
    ada.save()
    staff = signed_in(ada)
    pages, wrong = 0, []
    # Not the names of permissions, which Django keeps in rows.
    for url in [
        url
        for url in every_url()
        if not url.name.endswith("logout") and url.name != "api-reference" and "auth_group" not in url.name
    ]:
        for anybody in (client, staff):
            answer = anybody.get(url.path(values))
            if answer.status_code < 400 and answer["Content-Type"].startswith("text/html"):
                pages += 1
                words = words_of(answer.content.decode())
                for found in re.finditer(_NOT_SAID, words):
                    wrong.append((url.name, words[max(found.start() - 40, 0) : found.end() + 40]))
    assert wrong == []
    assert pages > 100


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("/account/login/", {"login": "nobody", "password": "x"}),
        ("/account/signup/", {"email": "nobody", "password1": "bell-tower-42"}),
        ("/account/password/reset/", {"email": "nobody"}),
    ],
)
def test_a_malformed_address_is_refused_in_plain_words(client: Client, path: str, typed: dict[str, str]) -> None:
    assert "Enter a valid email address." in client.post(path, typed).content.decode()


def test_signing_up_marks_what_one_may_leave_out(client: Client) -> None:
    assert client.get("/account/signup/").content.count(b">optional<") == 1


def test_signing_up_says_nothing_of_a_link_where_no_server_sends_it(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = tmp_path / "var" / "mail"
    page = client.post("/account/signup/", ANNA, follow=True).content.decode()
    assert "confirmation link" not in page
    assert "var/mail" in client.post("/account/password/reset/", {"email": ANNA["email"]}, follow=True).content.decode()


def test_signing_up_says_nothing_of_files_where_a_server_sends_mail(client: Client) -> None:
    page = client.post("/account/signup/", ANNA, follow=True).content.decode()
    assert "We sent a confirmation link" in page and "emails are saved" not in page
