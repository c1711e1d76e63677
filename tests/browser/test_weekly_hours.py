"""Hours by weekday and public holidays on the settings page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser


def test_hours_by_weekday_are_typed_refused_and_saved(page: Page, site: Installation) -> None:
    sign_up(page, site, "hours@example.org")
    page.goto(f"{site.url}/settings/")
    page.get_by_text("Hours by weekday instead").first.click()
    for day in ("Monday", "Tuesday"):
        page.get_by_label(f"{day}, from").fill("08:00")
    page.get_by_label("Monday, until").fill("18:00")
    page.get_by_label("Public holidays of").fill("de-by")
    save = page.get_by_role("main").get_by_role("button", name="Save").first
    save.click()
    expect(page.get_by_role("main")).to_contain_text("Tuesday: enter both times")
    accessible(page)
    page.get_by_label("Tuesday, until").fill("12:00")
    save.click()
    expect(page.get_by_label("Tuesday, until")).to_have_value("12:00")
    expect(page.get_by_label("Public holidays of")).to_have_value("DE-BY")
