"""Scripts on the sites in API_ORIGINS may call the API; without the setting, none may."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from tests.db.api.conftest import Api

pytestmark = pytest.mark.django_db

SITE = "https://app.example.org"


def cors(answer: HttpResponse) -> set[str]:
    return {name.lower() for name in answer.headers if name.lower().startswith("access-control-")}


def names(answer: HttpResponse, header: str) -> set[str]:
    return set(answer[f"Access-Control-{header}"].split(", "))


def preflight(path: str = "/api/v1/schedules", origin: str = SITE) -> HttpResponse:
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    return Client().options(path, headers=asked)


def test_without_the_setting_there_are_no_such_headers(api: Api) -> None:
    for answer in (preflight(), api.get("/me", Origin=SITE)):
        assert cors(answer) == set()
    assert preflight().status_code == 204


def test_a_site_that_is_named_may_ask_send_and_read(api: Api, settings: Settings) -> None:
    settings.API_ORIGINS = [SITE]
    asked = preflight()
    assert (asked.status_code, asked["Access-Control-Allow-Origin"], asked["Vary"]) == (204, SITE, "Origin")
    assert {"GET", "POST"} <= names(asked, "Allow-Methods")
    assert {"Authorization", "Content-Type", "Idempotency-Key"} <= names(asked, "Allow-Headers")
    answer = api.get("/schedules", Origin=SITE)
    assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (200, SITE)
    assert {"ETag", "Link", "Location", "X-Request-ID"} <= names(answer, "Expose-Headers")


def test_problems_can_be_read_too(settings: Settings) -> None:
    settings.API_ORIGINS = [SITE]
    for path, status in (("/api/v1/me", 401), ("/api/v1/nothing", 404)):
        answer = Client().get(path, headers={"Origin": SITE})
        assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (status, SITE)


def test_no_other_site_may_and_no_cookie_counts(api: Api, browser: Client, settings: Settings) -> None:
    settings.API_ORIGINS = [SITE]
    for answer in (preflight(origin="https://evil.example.org"), api.get("/me", Origin="null"), api.get("/me")):
        assert cors(answer) == set()
        assert "Origin" in answer["Vary"].split(", ")
    answer = browser.get("/api/v1/me", headers={"Origin": SITE})
    assert answer.status_code == 401
    assert "access-control-allow-credentials" not in cors(answer)


def test_pages_are_not_the_api(browser: Client, settings: Settings) -> None:
    settings.API_ORIGINS = [SITE]
    assert cors(browser.get("/reminders/", headers={"Origin": SITE})) == set()
