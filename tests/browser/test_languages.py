"""A browser that asks for German sees German; an account chooses another language for itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from demo.installation import Installation
from tests.browser.conftest import PATIENCE, fits

pytestmark = pytest.mark.browser


@pytest.fixture
def german(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 360, "height": 800}, locale="de-DE", timezone_id="Europe/Berlin")
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def test_the_browser_chooses_until_the_account_does(german: Page, site: Installation) -> None:
    html, page = german.locator("html"), german
    page.goto(f"{site.url}/account/signup/")
    expect(html).to_have_attribute("lang", "de")
    page.locator("[name=email]").fill("deutsch@example.org")
    page.locator("[name=password1]").fill("a long enough passphrase")
    page.locator("main button.primary").click()
    expect(page.locator("nav").first).to_be_visible()
    expect(html).to_have_attribute("lang", "de")
    # Weeks that come are named as the reader names their days.
    page.goto(f"{site.url}/reminders/new/")
    page.locator("[name=title]").fill("Blumen gießen")
    page.locator("[name=repeat][value=daily], [name=kind][value=daily]").first.check()
    page.locator("main button.primary").last.click()
    expect(page.locator("main time").first).to_contain_text(". ")
    page.evaluate("showUnread(4)")
    fits(page)

    page.goto(f"{site.url}/settings/")
    page.locator("[name=language]").select_option("es")
    page.locator("main form button.primary").first.click()
    expect(html).to_have_attribute("lang", "es")
    page.context.clear_cookies()
    page.goto(f"{site.url}/account/login/")
    expect(html).to_have_attribute("lang", "de")
