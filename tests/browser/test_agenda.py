"""The calendar in a real browser: a reminder is made on a day, dragged to another, moved by keyboard, and undone."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible, fits
from tests.browser.hands import Keyboard
from tests.browser.test_browser import in_berlin
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

TODAY = in_berlin(timedelta()).date()
# Of the next month, whatever day it is.
NEXT = (TODAY.replace(day=1) + timedelta(days=31)).replace(day=1)
TENTH, TWELFTH = NEXT.replace(day=10), NEXT.replace(day=12)


def day(page: Page, wanted: date) -> Locator:
    return page.locator(f"[data-day='{wanted}']")


def add(page: Page, title: str) -> None:
    page.get_by_label("Title").fill(title)
    expect(page.get_by_label("Date and time")).to_have_value(f"{TENTH}T09:00")
    page.get_by_role("button", name="Create reminder").click()
    expect(page.get_by_role("status")).to_contain_text(f"“{title}” is created.")


@pytest.mark.parametrize("page", [1280], indirect=True, ids=["1280px"])
def test_a_reminder_is_dragged_to_another_day_and_back(page: Page, site: Installation) -> None:
    sign_up(page, site, "dora@example.org")
    page.get_by_role("navigation", name="Reminders").get_by_role("link", name="Calendar").click()
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("heading", level=2)).to_have_text(f"{NEXT:%B %Y}")
    accessible(page)
    day(page, TENTH).click(position={"x": 60, "y": 90})
    add(page, "Dentist")

    page.goto(f"{site.url}/reminders/month/?date={NEXT}")
    entry = day(page, TENTH).locator(".entry")
    expect(entry).to_contain_text("09:00")
    entry.drag_to(day(page, TWELFTH))
    moved = page.get_by_role("status")
    expect(moved).to_contain_text(re.compile(rf"“Dentist” is moved to \w+ 12 {NEXT:%B}, 09:00\."))
    expect(day(page, TWELFTH)).to_contain_text("Dentist")
    fits(page)
    accessible(page)
    moved.get_by_role("button", name="Undo").click()
    expect(day(page, TENTH)).to_contain_text("Dentist")

    page.goto(f"{site.url}/reminders/month/?date={TODAY.replace(day=15)}")
    fits(page)
    page.get_by_role("link", name="See this in your calendar program").click()
    page.get_by_role("button", name="Make a calendar address").click()
    address = page.locator("#address").inner_text()
    accessible(page)
    assert "SUMMARY:Dentist" in page.request.get(address).text()


def test_a_reminder_is_moved_by_keyboard(page: Page, site: Installation) -> None:
    sign_up(page, site, "emil@example.org")
    page.goto(f"{site.url}/reminders/week/?date={TENTH}")
    accessible(page)
    page.get_by_role("link", name=re.compile(rf"New reminder on \w+ 10 {NEXT:%B}")).click()
    add(page, "Dentist")

    page.goto(f"{site.url}/reminders/week/?date={TENTH}")
    fits(page)
    keys = Keyboard()
    keys.press(page, page.locator(".move summary"))
    to = page.get_by_label("New day of Dentist")
    keys.reach(page, to)
    to.fill(str(NEXT.replace(day=20)))
    accessible(page)
    fits(page)
    keys.press(page, page.get_by_role("button", name="Move", exact=True))
    expect(page.get_by_role("status")).to_contain_text(re.compile(rf"is moved to \w+ 20 {NEXT:%B}, 09:00\."))
    expect(day(page, NEXT.replace(day=20))).to_contain_text("Dentist")
    page.get_by_role("navigation", name="Reminders").get_by_role("link", name="Calendar").click()
    page.goto(f"{site.url}/reminders/month/?date={NEXT}")
    expect(day(page, NEXT.replace(day=20))).to_contain_text("Dentist")
    expect(day(page, TENTH)).to_be_hidden()
    fits(page)
    accessible(page)
    yesterday = TODAY - timedelta(days=1)
    page.locator(".move summary").click()
    to.evaluate("(field, day) => { field.removeAttribute('min'); field.value = day }", str(yesterday))
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("“Dentist” was not moved: this day or time has passed.")
