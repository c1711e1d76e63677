"""The command palette finds pages and reminders, by keys alone; on a narrow and on a wide screen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_channels import sign_up
from tests.browser.test_push import remind

pytestmark = pytest.mark.browser


def test_the_palette_opens_a_page_and_a_reminder(page: Page, site: Installation) -> None:
    sign_up(page, site, "palette@example.org")
    remind(page, site, "Water the plants")
    page.goto(f"{site.url}/settings/")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Find a page or a reminder")
    expect(palette.get_by_role("link", name="Inbox")).to_be_visible()
    accessible(page)
    page.keyboard.type("plants the")
    page.keyboard.press("Enter")  # also before the answer is there
    expect(page).to_have_title(re.compile("Water the plants"))

    page.keyboard.press("Control+k")
    page.keyboard.type("zzz")
    expect(palette).to_contain_text("No page and no reminder has this in its name.")
    page.keyboard.press("Control+a")
    page.keyboard.type("connect")
    expect(palette.get_by_role("link")).to_have_text("Connections")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}/connections/")
    expect(page.get_by_role("navigation", name="Main").locator("[aria-current]")).to_have_text("Automation")
    page.get_by_role("button", name="Find").click()
    expect(palette).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
