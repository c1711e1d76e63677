"""One line fills the form of a reminder in a real browser, and a field that is corrected is no longer marked."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible, fits
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser


def test_a_line_above_the_list_and_the_agenda_creates_a_reminder(page: Page, site: Installation) -> None:
    sign_up(page, site, "quick@example.org")
    for view in ("", "week/", "month/"):
        page.goto(f"{site.url}/reminders/{view}")
        page.keyboard.press("n")
        line = page.get_by_label("Quick add").get_by_role("textbox")
        expect(line).to_be_focused()
        page.keyboard.type("call the bank tomorrow at 5pm")
        understood = page.locator("#understood")
        expect(understood.locator("mark")).to_have_text("tomorrow at 5pm")
        expect(understood).to_contain_text("tomorrow, ")
        accessible(page)
        page.keyboard.press("Enter")
        added = page.get_by_role("status").filter(has_text="“call the bank” is created.")
        expect(added).to_be_visible()
        accessible(page)
        added.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("status").filter(has_text="“call the bank” is deleted.")).to_be_visible()


def test_a_refused_line_takes_back_what_an_earlier_one_filled_in(page: Page, site: Installation) -> None:
    sign_up(page, site, "refused@example.org")
    page.goto(f"{site.url}/reminders/new/")
    at = page.get_by_label("Date and time").input_value()
    line, title = page.get_by_label("Quick add").get_by_role("textbox"), page.get_by_label("Title")
    line.fill("yoga every Monday 18:00")
    expect(title).to_have_value("yoga")
    expect(page.get_by_label("Weekly", exact=True)).to_be_checked()
    line.fill("yoga at the studio")
    expect(title).to_have_value("")
    expect(page.get_by_label("Once", exact=True)).to_be_checked()
    expect(page.get_by_label("Date and time")).to_have_value(at)
    line.fill("")
    title.fill("call the bank tomorrow at 5pm")
    page.get_by_role("button", name="Create reminder").click()
    expect(page.get_by_role("alert")).to_contain_text("the title names another time")
    accessible(page)
    page.get_by_role("button", name="Use “").click()
    expect(page.get_by_role("heading", name="call the bank", exact=True)).to_be_visible()


def test_one_line_fills_the_form(page: Page, site: Installation) -> None:
    sign_up(page, site, "cleo@example.org")
    page.goto(f"{site.url}/reminders/new/")
    upcoming = page.get_by_label("Next times")
    expect(upcoming).to_contain_text("Once, on")

    line = page.get_by_label("Quick add").get_by_role("textbox")
    expect(line).to_be_focused()
    line.fill("beer every blursday")
    line.press("Enter")
    expect(page.locator("#understood")).to_contain_text("“every blursday” is not understood.")
    line.fill("beer Friday at 6")
    line.press("Enter")
    page.get_by_role("button", name="18:00").click()
    expect(page.get_by_label("Title")).to_have_value("beer")
    expect(page.get_by_label("Date and time")).to_have_value(re.compile("T18:00"))
    page.get_by_text("More", exact=True).click()
    page.locator("#id_body").fill("With the team.")
    line.fill("beer every 2 months on the last Friday 16:00 until March 2090")
    line.press("Enter")
    expect(page.get_by_label("Title")).to_have_value("beer")
    expect(upcoming).to_contain_text("On the last Friday of every 2 months at 16:00, Berlin time")
    expect(page.get_by_label("Repeat every")).to_have_value("2")
    expect(page.get_by_label("Day of the week")).to_be_visible()
    expect(page.get_by_label("Day of the month")).to_be_hidden()
    expect(page.locator("#id_ends_at")).to_have_value("2090-02-28T23:59")
    expect(page.locator("#id_body")).to_have_value("With the team.")
    fits(page)

    zone = page.get_by_label("Time zone")
    zone.fill("GMT+2")
    expect(page.locator("#id_time_zone_error")).to_contain_text("Etc/GMT-2")
    zone.fill("")
    expect(page.locator("#id_time_zone_error")).to_contain_text("Choose a time zone")
    zone.fill("Europe/Berlin")
    expect(page.locator("#id_time_zone_error")).to_have_count(0)

    page.get_by_label("Cron", exact=True).check()
    page.locator("#id_expression").fill("@daily")
    expect(upcoming).to_contain_text("00:00")
    page.get_by_label("Advanced", exact=True).check()
    page.locator("#id_rule").fill("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29")
    expect(upcoming).to_contain_text("29 Feb 2028")

    title = page.get_by_label("Title")
    title.fill("")
    zone.fill("")
    page.get_by_role("button", name="Create it").click()
    expect(title).to_have_attribute("aria-invalid", "true")
    expect(zone).to_have_attribute("aria-invalid", "true")
    zone.fill("Europe/Berlin")
    page.get_by_label("Title").press("B")
    expect(page.locator("#id_title_error")).to_have_count(0)
    expect(title).not_to_have_attribute("aria-invalid", "true")

    page.get_by_label("Once", exact=True).check()
    page.get_by_role("button", name="Tomorrow morning").click()
    expect(page.get_by_label("Date and time")).to_have_value(re.compile("T09:00"))
    expect(page.get_by_label("Title")).to_have_value("B")
    expect(upcoming).to_contain_text("at 09:00, Berlin time")
    accessible(page)
    page.get_by_role("button", name="Create reminder").click()
    expect(page.get_by_role("status")).to_contain_text("“B” is created.")
