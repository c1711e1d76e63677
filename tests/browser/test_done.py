"""Done and Snooze by keys and by mouse, the page of what is done, and its undo; on a narrow screen.

test_daily_use does so on a wide one.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_channels import sign_up
from tests.browser.test_push import remind

pytestmark = pytest.mark.browser


def test_a_message_is_done_undone_and_snoozed_by_keys(page: Page, site: Installation) -> None:
    sign_up(page, site, "done@example.org")
    remind(page, site, "Water the plants")
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("status")).to_contain_text("is on its way")
    page.goto(f"{site.url}/inbox/")
    row = page.locator("#inbox .row")
    expect(row).to_contain_text("Water the plants")  # by its own refresh, where it has not arrived yet

    page.keyboard.press("j")
    page.keyboard.press("s")
    expect(row.get_by_role("button", name="10 minutes")).to_be_focused()
    accessible(page)
    page.keyboard.press("d")
    said = page.get_by_role("status")
    expect(said).to_contain_text("“Water the plants” is done.")
    accessible(page)
    page.keyboard.press("z")
    expect(said).to_contain_text("“Water the plants” is open again.")

    page.goto(f"{site.url}/inbox/")
    page.keyboard.press("j")
    page.keyboard.press("d")
    said.get_by_role("link", name="Show what is done").click()
    listed = page.locator("main .row")
    expect(listed).to_contain_text("done on a page")
    accessible(page)
    listed.get_by_role("button", name="Undo Water the plants").click()
    expect(page.get_by_role("main")).to_contain_text("Nothing is done yet")

    page.goto(f"{site.url}/inbox/")
    page.keyboard.press("j")
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    expect(said).to_contain_text("“Water the plants” is snoozed until")

    page.goto(f"{site.url}/reminders/")
    card = page.get_by_role("region", name="Hear it ring")
    card.get_by_role("button", name="Send a test").click()
    expect(card).to_contain_text("delivered")
    accessible(page)
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_role("checkbox", name="Choose Water the plants")).to_be_checked()
    page.keyboard.press("j")
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="10 minutes")).to_be_focused()
    page.get_by_role("button", name="Tomorrow, 08:00").click()
    expect(said).to_contain_text("“Water the plants” is snoozed until")
