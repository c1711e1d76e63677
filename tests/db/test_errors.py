"""Pages for when something is wrong, in the same frame as the rest."""

from __future__ import annotations

import pytest
from django.template.loader import render_to_string
from django.test import Client

from people import tokens
from people.models import User
from tests.make import signed_in


def test_an_unknown_address_has_a_page_of_ours(client: Client) -> None:
    answer = client.get("/nowhere/")
    assert answer.status_code == 404
    assert "This page does not exist" in answer.content.decode()


def test_a_form_without_its_token_is_refused_in_words(ada: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    answer = strict.post("/settings/", {"name": "Eve", "time_zone": "UTC"})
    assert answer.status_code == 403
    assert "This form has expired" in answer.content.decode()


@pytest.mark.parametrize("template", ["400.html", "403.html", "403_csrf.html", "404.html", "500.html", "503.html"])
def test_an_error_page_needs_no_request_and_no_database(template: str) -> None:
    page = render_to_string(template)
    assert page.count("<h1>") == 1 and "carillon.css" in page


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("a planted secret")


def test_an_error_of_ours_shows_nothing_of_itself_and_is_in_the_log(
    ada: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = signed_in(ada)
    client.raise_request_exception = False
    monkeypatch.setattr(tokens, "valid_tokens", broken)
    monkeypatch.setattr(tokens, "find", broken)
    page = client.get("/settings/")
    problem = client.get("/api/v1/schedules", headers={"authorization": "Bearer carillon_nonsense"})
    assert (page.status_code, problem.status_code, problem["Content-Type"]) == (500, 500, "application/problem+json")
    for answer in (page, problem):
        assert not any(word in answer.content.decode() for word in ("planted", "Traceback", "RuntimeError", ".py"))
    assert caplog.text.count("RuntimeError: a planted secret") == 2
