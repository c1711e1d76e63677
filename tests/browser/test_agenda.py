"""The calendar in a real browser: a reminder is made on a day, dragged to another, moved by keyboard, and undone."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible, fits
from tests.browser.hands import Keyboard, drag
from tests.browser.test_browser import in_berlin
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

TODAY = in_berlin(timedelta()).date()
# Of the next month, whatever day it is.
NEXT = (TODAY.replace(day=1) + timedelta(days=31)).replace(day=1)
TENTH, TWELFTH = NEXT.replace(day=10), NEXT.replace(day=12)


def day(page: Page, wanted: date) -> Locator:
    return page.locator(f"[data-day='{wanted}']")


def hour(page: Page, wanted: date, hour: int) -> Locator:
    return day(page, wanted).locator(f"[data-at='{hour:02}:00']")


def add(page: Page, title: str) -> None:
    page.get_by_label("Title").fill(title)
    expect(page.get_by_label("Date and time")).to_have_value(f"{TENTH}T09:00")
    page.get_by_role("button", name="Create reminder").click()
    expect(page.get_by_role("status")).to_contain_text(f"“{title}” is created.")


@pytest.mark.parametrize("page", [1280], indirect=True, ids=["1280px"])
def test_a_reminder_is_dragged_to_another_day_and_back(page: Page, site: Installation) -> None:
    sign_up(page, site, "dora@example.org")
    page.goto(f"{site.url}/reminders/month/?date={TODAY}")
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("heading", level=2)).to_have_text(f"{NEXT:%B %Y}")
    accessible(page)
    day(page, TENTH).click(position={"x": 60, "y": 90})
    add(page, "Dentist")

    page.goto(f"{site.url}/reminders/month/?date={NEXT}")
    entry = day(page, TENTH).locator(".entry")
    expect(entry).to_contain_text("09:00")
    drag(entry, day(page, TWELFTH))
    moved = page.get_by_role("status")
    expect(moved).to_contain_text(re.compile(rf"“Dentist” is moved to \w+ 12 {NEXT:%B}, 09:00\."))
    expect(day(page, TWELFTH)).to_contain_text("Dentist")
    accessible(page)
    moved.get_by_role("button", name="Undo").click()
    expect(day(page, TENTH)).to_contain_text("Dentist")

    page.goto(f"{site.url}/reminders/month/?date={TODAY.replace(day=15)}")
    fits(page)
    page.get_by_role("link", name="See this in your calendar program").click()
    page.get_by_role("button", name="Create a calendar address").click()
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
    keys.press(page, page.get_by_role("link", name="Move… Dentist"))
    to = page.get_by_label("Day")
    expect(to).to_be_focused()
    to.fill(str(NEXT.replace(day=20)))
    accessible(page)
    keys.press(page, page.get_by_role("button", name="Move", exact=True))
    expect(page.get_by_role("status")).to_contain_text(re.compile(rf"is moved to \w+ 20 {NEXT:%B}, 09:00\."))
    expect(day(page, NEXT.replace(day=20))).to_contain_text("Dentist")
    page.get_by_role("navigation", name="Reminders").get_by_role("link", name="Month").click()
    page.goto(f"{site.url}/reminders/month/?date={NEXT}")
    expect(day(page, NEXT.replace(day=20))).to_contain_text("Dentist")
    expect(day(page, TENTH)).to_be_hidden()
    accessible(page)
    yesterday = TODAY - timedelta(days=1)
    page.get_by_role("link", name="Move… Dentist").click()
    to.fill(str(yesterday))
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("“Dentist” was not moved: this day or time has passed.")


@pytest.mark.parametrize("page", [1280], indirect=True, ids=["1280px"])
def test_a_week_has_hours_to_click_and_to_drag_to(page: Page, site: Installation) -> None:
    sign_up(page, site, "grid@example.org")
    week = f"{site.url}/reminders/week/?date={TENTH}"
    page.goto(week)
    accessible(page)
    hour(page, TENTH, 14).click()
    page.get_by_label("Title").fill("Dentist")
    expect(page.get_by_label("Date and time")).to_have_value(f"{TENTH}T14:00")
    page.get_by_role("button", name="Create reminder").click()
    page.goto(week)
    drag(hour(page, TENTH, 14).locator(".entry"), hour(page, TWELFTH, 9))
    moved = page.get_by_role("status")
    expect(moved).to_contain_text(re.compile(rf"“Dentist” is moved to \w+ 12 {NEXT:%B}, 09:00\."))
    expect(hour(page, TWELFTH, 9)).to_contain_text("Dentist")
    moved.get_by_role("button", name="Undo").click()
    expect(hour(page, TENTH, 14)).to_contain_text("Dentist")


@pytest.mark.parametrize("page", [1280], indirect=True, ids=["1280px"])
def test_of_what_repeats_one_time_is_moved_or_all(page: Page, site: Installation) -> None:
    sign_up(page, site, "often@example.org")
    week = f"{site.url}/reminders/week/?date={TENTH}"
    page.goto(week)
    line = page.get_by_role("textbox", name="Quick add")
    line.fill("stretch every day at 11:00")
    line.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("stretch")
    page.goto(week)
    drag(hour(page, TENTH, 11).locator(".entry"), hour(page, TENTH, 9))
    expect(page.get_by_label("Time")).to_have_value("09:00")
    accessible(page)
    page.get_by_role("button", name="Only this one").click()
    expect(hour(page, TENTH, 9)).to_contain_text("stretch")
    expect(hour(page, TENTH, 11)).to_contain_text("skipped")
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("“stretch” is back on")
    expect(hour(page, TENTH, 11)).not_to_contain_text("skipped")
    hour(page, TWELFTH, 11).get_by_role("link", name="Move…").click()
    page.get_by_label("Time").fill("12:30")
    page.get_by_role("button", name="All of them").click()
    expect(hour(page, TWELFTH, 12)).to_contain_text("12:30")
    expect(hour(page, NEXT.replace(day=11), 12)).to_contain_text("stretch")
    accessible(page)
