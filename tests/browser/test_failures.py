"""A request of a page's part that fails says why where its reader is looking, and is gone once it works."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Browser, Locator, Page, Route, expect

from demo.installation import Installation
from tests.browser.conftest import fits, opened
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

LOCK = "SELECT FROM people_user WHERE email = %s FOR NO KEY UPDATE"


@pytest.fixture
def email(request: pytest.FixtureRequest) -> str:
    return f"failures{abs(hash(request.node.name))}@example.org"


@pytest.fixture
def page(browser: Browser, site: Installation, email: str) -> Iterator[Page]:
    """Of a person of its own. The browser's console may complain here."""
    with opened(browser, 360) as page:
        sign_up(page, site, email)
        yield page


def is_seen(said: Locator, text: str) -> None:
    expect(said).to_contain_text(text)
    expect(said).to_be_in_viewport()
    fits(said.page)


def test_a_person_who_changes_something_elsewhere_is_told_beside_the_button(
    page: Page, site: Installation, email: str
) -> None:
    page.goto(f"{site.url}/channels/")
    test, said = page.get_by_role("button", name="Send a test"), page.locator("[role=alert]")
    with psycopg.connect(site.database_url) as elsewhere:
        elsewhere.execute(LOCK, [email])
        test.click()
        is_seen(said, "You are changing something elsewhere. Nothing was changed by this request")
    test.click()
    expect(page.locator(".row-test")).to_contain_text("delivered")
    expect(said).to_have_count(0)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_the_server_says_is_shown_in_place_of_the_preview(page: Page, site: Installation, status: int) -> None:
    page.goto(f"{site.url}/reminders/new/")
    expect(page.locator("#preview")).to_contain_text("Next times")
    preview = "**/reminders/preview/"
    refusal = render_to_string(f"{status}.html")
    page.route(preview, lambda route: route.fulfill(status=status, body=refusal, content_type="text/html"))
    page.get_by_label("Daily").check()
    said = page.locator("#preview [role=alert]")
    expect(said).to_contain_text(
        page.evaluate(
            "html => new DOMParser().parseFromString(html, 'text/html').querySelector('h1').textContent", refusal
        )
    )
    page.unroute(preview)
    page.get_by_label("Weekly").check()
    expect(said).to_have_count(0)


def test_a_lost_network_and_an_answer_without_a_page_are_told_too(page: Page, site: Installation) -> None:
    page.goto(f"{site.url}/rules/new/")
    add, said = page.locator("#add-condition"), page.locator("#add-condition + [role=alert]")
    page.context.set_offline(True)
    add.click()
    is_seen(said, "The server cannot be reached. Try again.")
    page.context.set_offline(False)

    def refuse(route: Route) -> None:
        route.fulfill(status=418, body="teapot") if route.request.method == "POST" else route.continue_()

    page.route("**/rules/new/", refuse)
    add.click()
    is_seen(said, "This failed. Try again.")
