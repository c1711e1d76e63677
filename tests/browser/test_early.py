"""A reminder that also rings ahead of its time: added in a line, shown, changed and heard."""

from __future__ import annotations

import re

import psycopg
import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

DUE = """
UPDATE schedules_schedule s SET next_early_at = now() - interval '1 second', next_fire_at = now() + interval '1 hour'
  FROM people_user u WHERE u.id = s.user_id AND u.email = %s
"""


def test_it_is_typed_shown_changed_and_rings(page: Page, site: Installation) -> None:
    email = "early@example.org"
    sign_up(page, site, email)
    page.goto(f"{site.url}/reminders/")
    page.get_by_label("Quick add").get_by_role("textbox").fill("dentist in 2 days 09:00, also 1 day and 1 hour before")
    expect(page.locator("#understood")).to_contain_text("also 1 day and 1 hour before")
    page.keyboard.press("Enter")
    expect(page.locator("main .row").first).to_contain_text("Also 1 day and 1 hour before")
    accessible(page)
    page.get_by_role("link", name="dentist").first.click()
    page.get_by_role("link", name="Edit").click()
    expect(page.locator("details.further > summary")).to_contain_text("Also before: 1 day, 1 hour")
    page.locator("details.further > summary").click()
    page.get_by_label("Also before").fill("soon")
    page.get_by_role("button", name="Save").last.click()
    expect(page.get_by_label("Also before")).to_have_attribute("aria-invalid", "true")
    accessible(page)
    page.get_by_label("Also before").fill("1 day, 1 hour, 10 minutes")
    page.get_by_role("button", name="Save").last.click()
    expect(page.locator("main")).to_contain_text("also 1 day, 1 hour and 10 minutes before")
    accessible(page)
    with psycopg.connect(site.database_url, autocommit=True) as database:
        database.execute(DUE, [email])
    page.goto(f"{site.url}/inbox/")
    expect(page.locator("main")).to_contain_text(re.compile(r"In (1 hour|\d+ minutes): dentist"), timeout=90_000)
    accessible(page)
