"""Staff announce something, watch how far it has come, and a reader stops it, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import fits
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser


def test_an_announcement_its_progress_and_how_a_reader_stops_it(page: Page, site: Installation) -> None:
    address = "batches@example.org"
    sign_up(page, site, address)
    site.rows("UPDATE people_user SET is_staff = true, is_superuser = true WHERE email = %s RETURNING id", address)

    page.goto(f"{site.url}/batches/")
    expect(page.get_by_role("heading", name="No batches yet")).to_be_visible()
    fits(page)
    page.goto(f"{site.url}/reminders/new/")
    expect(page.get_by_label("On each reader’s clock")).to_be_hidden()
    page.get_by_label("Title", exact=True).fill("The server moves on Sunday")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("For", exact=True).select_option("everybody:")
    expect(page.get_by_role("group", name="Channels")).to_be_hidden()
    page.get_by_role("radio", name="Daily").check()
    page.get_by_label("On each reader’s clock").check()
    expect(page.get_by_label("Time zone", exact=True)).to_be_hidden()
    expect(page.locator("#preview")).to_contain_text("on each reader’s clock")
    expect(page.locator("#preview")).to_contain_text("It reaches")
    fits(page)
    page.get_by_role("button", name="Create reminder").click()
    expect(page.get_by_role("heading", name="For Everybody")).to_be_visible()
    fits(page)

    page.get_by_text("Run now…").click()
    page.get_by_role("button", name="Tell them now").click()
    page.get_by_role("link", name="How many it reached").click()
    expect(page.locator("#progress")).to_contain_text("Ended", timeout=60_000)
    expect(page.locator("#progress")).to_contain_text("100 %")
    fits(page)
    page.get_by_role("link", name="← Batches").click()
    expect(page.get_by_role("link", name="The server moves on Sunday")).to_be_visible()
    fits(page)

    page.goto(f"{site.url}/history/")
    page.get_by_role("link", name="The server moves on Sunday").first.click()
    page.get_by_role("button", name="Stop these announcements").click()
    expect(page.get_by_role("button", name="Get them again")).to_be_visible()
    fits(page)
