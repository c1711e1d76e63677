"""What would not ring says so at a glance, with the remedy."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

COLOUR = "element => getComputedStyle(element).backgroundColor"


def test_a_reminder_says_beforehand_that_it_will_not_ring(page: Page, site: Installation) -> None:
    sign_up(page, site, "truth@example.org")
    page.goto(f"{site.url}/channels/new/queue/")
    page.get_by_label("Name", exact=False).last.fill("Pager")
    page.get_by_role("main").get_by_role("button", name="Add").click()

    page.goto(f"{site.url}/reminders/new/")
    page.get_by_label("Title").fill("Water the plants")
    page.get_by_label("Daily", exact=True).check()
    page.locator("#id_time").fill("12:00")
    page.get_by_role("checkbox", name="Pager").check()
    page.get_by_role("button", name="Create reminder").click()
    expect(page.get_by_role("status")).to_contain_text("is created")
    page.get_by_role("link", name="Reminders", exact=True).first.click()
    row = page.locator("#reminders .row")
    expect(row).not_to_contain_text("Reaches nobody")
    expect(page.locator("footer")).not_to_contain_text("scheduler")

    [pager] = site.rows(
        "UPDATE notifications_channel c SET failing_since = now() FROM people_user u"
        " WHERE u.id = c.user_id AND u.email = 'truth@example.org' AND c.provider = 'queue' RETURNING c.id"
    )
    page.reload()
    fault, partly = page.locator(".fault"), row.locator(".dot.partly")
    expect(partly).to_have_text("Not every channel works:")
    expect(fault).to_contain_text("The last message to “Pager” failed. 1 reminder here uses it.")
    expect(fault.get_by_role("link", name="See what happened to Pager")).to_be_visible()
    accessible(page)
    amber = partly.evaluate(COLOUR)
    row.get_by_role("link", name="Edit Water the plants").click()
    page.get_by_role("checkbox", name="Inbox").uncheck()
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status")).to_contain_text("saved")
    page.goto(f"{site.url}/channels/{pager['id']}/remove/")
    page.get_by_role("main").get_by_role("button", name=re.compile("^Remove")).click()
    page.get_by_role("link", name="Reminders that need attention: 1").click()
    nobody = row.locator(".dot.nobody")
    expect(nobody).to_have_text("Reaches nobody:")
    expect(fault).to_contain_text("“Pager” was removed. 1 reminder here uses it. 1 reaches nobody.")
    assert nobody.evaluate(COLOUR) != amber
    accessible(page)
    row.get_by_role("link", name="Water the plants", exact=True).click()
    expect(page.get_by_role("main")).to_contain_text("Reaches nobody")
    expect(page.get_by_role("link", name="Why did it not ring?")).to_be_visible()

    page.get_by_text("Snooze…").click()
    page.get_by_label("Snooze Water the plants until").fill(f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%d}T09:00")
    page.get_by_role("button", name="Snooze", exact=True).click()
    page.goto(f"{site.url}/reminders/")
    expect(row).to_contain_text("snoozed until")
    row.get_by_role("button", name="Pause").click()
    expect(row).to_contain_text("paused")
    expect(page.locator(".attention")).to_have_count(0)

    page.goto(f"{site.url}/channels/new/webhook/")
    page.locator("#id_url").fill("https://10.0.0.9/hook")
    page.get_by_role("main").get_by_role("button", name="Add").click()
    expect(page.locator("#id_url_error")).to_contain_text("ALLOWED_NETWORKS")
