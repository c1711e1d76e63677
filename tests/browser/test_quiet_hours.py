"""Quiet hours say beforehand what they will hold, and until when; what waits says why."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation, wait_until
from tests.browser.conftest import accessible
from tests.browser.test_browser import in_berlin
from tests.browser.test_channels import add_own_email, sign_up

pytestmark = pytest.mark.browser


def test_quiet_hours_are_said_in_preview_list_page_and_explanation(page: Page, site: Installation) -> None:
    sign_up(page, site, "quiet@example.org")
    add_own_email(page, site, "quiet@example.org")
    rings, until = (f"{in_berlin(timedelta(hours=hours)):%H:%M}" for hours in (1, 3))
    page.goto(f"{site.url}/settings/")
    page.get_by_label("Quiet from").fill(f"{in_berlin(timedelta(hours=-1)):%H:%M}")
    page.get_by_label("Quiet until").fill(until)
    page.get_by_role("main").get_by_role("button", name="Save").first.click()

    page.goto(f"{site.url}/reminders/new/")
    page.get_by_label("Title").fill("Back up the disk")
    page.get_by_label("Daily", exact=True).check()
    page.locator("#id_time").fill(rings)
    page.get_by_role("checkbox", name="Email").check()
    page.get_by_role("checkbox", name="Inbox").uncheck()
    held = f"Held until {until} by your quiet hours; make it urgent to ring at {rings}"
    preview = page.get_by_label("Next times")
    expect(preview).to_contain_text(held)
    urgent = page.get_by_role("checkbox", name="Urgent")
    urgent.check()
    expect(preview).not_to_contain_text("Held until")
    urgent.uncheck()
    expect(preview).to_contain_text(held)
    page.get_by_role("button", name="Create reminder").click()
    expect(page.locator("#coming")).to_contain_text(held)
    reminder = page.url
    page.goto(f"{site.url}/reminders/")
    expect(page.locator("#reminders .row")).to_contain_text(f"quiet hours: held until {until}")
    page.goto(f"{reminder}explain/")
    why = page.locator(".why")
    expect(why).to_contain_text("It has not been due yet. It rings")
    expect(page.get_by_label("Upcoming")).to_contain_text(held)

    [due] = site.rows(
        "UPDATE schedules_schedule SET next_fire_at = now() WHERE title = 'Back up the disk' RETURNING id"
    )
    waits = "SELECT 1 FROM notifications_delivery d JOIN notifications_notification n ON n.id = d.notification_id"
    wait_until(lambda: site.rows(f"{waits} WHERE n.origin_id = %s", due["id"]), "the firing", within=180)
    page.reload()
    expect(why).to_contain_text(re.compile(r"It was due .* Email:\s+Waits until .*: your quiet hours\.", re.DOTALL))
    accessible(page)
    page.goto(reminder)
    expect(page.locator("#past-times")).to_contain_text("waiting")
    page.get_by_role("link", name="Details").click()
    expect(page.get_by_role("main")).to_contain_text(re.compile("Waits until .*: your quiet hours."))
