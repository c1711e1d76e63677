"""A person makes a reminder that checks first in a real browser, checks now, and sees what became of each check."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from demo.receivers import HTTPReceiver, Reply
from tests.browser.conftest import accessible, fits
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser


@pytest.fixture
def shop() -> Iterator[HTTPReceiver]:
    with HTTPReceiver(lambda request: Reply(body=b"<p class=price>89.90 EUR</p>")) as shop:
        yield shop


def test_a_reminder_that_checks_first_is_tried_made_and_explained(
    page: Page, site: Installation, shop: HTTPReceiver
) -> None:
    sign_up(page, site, "jobs@example.org")
    page.goto(f"{site.url}/reminders/new/")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Category").fill("prices")
    page.get_by_label("Remind me", exact=True).select_option("github_streak")
    expect(page.get_by_label("Title if there are contributions")).to_be_hidden()
    page.get_by_label("Send it", exact=True).select_option("always")
    expect(page.get_by_label("Title if there are contributions")).to_be_visible()
    page.get_by_label("Remind me", exact=True).focus()
    page.get_by_label("Remind me", exact=True).select_option("web_value")
    expect(page.get_by_label("Title", exact=True)).to_have_value("It is {value}")
    expect(page.get_by_label("Remind me", exact=True)).to_be_focused()
    page.get_by_role("button", name="Check now").click()
    checked = page.locator("#checked")
    expect(checked).to_contain_text("Address: Enter the address to check")
    page.get_by_label("Address", exact=True).fill(f"{shop.url}/offers")
    page.get_by_label("Find", exact=True).fill(".price")
    page.get_by_label("Remind me of it").select_option("below")
    page.get_by_label("Value", exact=True).fill("90")
    page.locator("#id_body").fill("Now {value}.")
    page.get_by_role("button", name="Check now").click()
    expect(checked).to_contain_text("It would say:")
    expect(checked).to_contain_text("It is 89.90 EUR")
    accessible(page)

    page.locator("label.segment", has_text="Daily").click()
    page.get_by_label("Title").press("Enter")
    expect(page.get_by_role("heading", name="Checks")).to_be_visible()
    expect(page.get_by_label("Checks")).to_contain_text("If the check fails: stay silent, and tell me once a day.")
    page.get_by_role("button", name="Check now").click()
    expect(page.locator("#checked")).to_contain_text("It is 89.90 EUR")
    page.get_by_role("button", name="Run now").click()
    for _ in range(60):
        if "Message sent." in page.content():
            break
        page.wait_for_timeout(500)
        page.reload()
    expect(page.get_by_label("Last times")).to_contain_text("Checked 127.0.0.1")
    fits(page)
    page.goto(f"{site.url}/job-kinds/")
    expect(page.get_by_role("heading", name="Value on the web")).to_be_visible()
    accessible(page)
