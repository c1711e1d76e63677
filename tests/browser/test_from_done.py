"""A reminder that is counted from Done: added in a line, rung, done on its page by key, undone."""

from __future__ import annotations

import psycopg
import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

DUE = """
UPDATE schedules_schedule s SET next_fire_at = date_trunc('minute', now())
  FROM people_user u WHERE u.id = s.user_id AND u.email = %s
"""


def test_it_awaits_done_and_counts_from_then(page: Page, site: Installation) -> None:
    email = "from-done@example.org"
    sign_up(page, site, email)
    page.goto(f"{site.url}/reminders/")
    page.get_by_label("Quick add").get_by_role("textbox").fill("water the plants every! 3 days 09:00")
    expect(page.locator("#understood")).to_contain_text("Every 3 days at 09:00, counted from Done")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="water the plants").first.click()
    page.get_by_role("link", name="Edit").click()
    expect(page.locator("details.further > summary")).to_contain_text("Count from Done")
    page.locator("details.further > summary").click()
    expect(page.get_by_label("Count from Done")).to_be_checked()
    accessible(page)
    page.get_by_role("link", name="Cancel").click()
    with psycopg.connect(site.database_url, autocommit=True) as database:
        database.execute(DUE, [email])
    expect(page.locator("#state")).to_contain_text("awaiting Done")
    page.reload()
    expect(page.locator("#coming")).to_contain_text("Awaiting Done. The next time is counted from that.")
    accessible(page)
    for path, place in (("/reminders/", "main .row"), ("/reminders/week/", "main [role=note]")):
        page.goto(f"{site.url}{path}")
        expect(page.locator(place).first).to_contain_text("waiting Done")
        accessible(page)
    page.goto(f"{site.url}/reminders/")
    page.get_by_role("link", name="water the plants").first.click()
    expect(page.get_by_role("button", name="Done", exact=True)).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("d")
    expect(page.get_by_role("status")).to_contain_text("“water the plants” is done. It rings again on")
    expect(page.locator("#state")).to_contain_text("active")
    page.goto(f"{site.url}/done/")
    page.get_by_role("button", name="Undo water the plants").click()
    page.goto(f"{site.url}/reminders/?state=awaiting")
    expect(page.locator("main .row")).to_contain_text("water the plants")
