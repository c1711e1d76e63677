"""Many reminders in a real browser: chosen, tagged, archived and undone; and a holiday that keeps them silent."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.axe import WIDTHS
from tests.browser.conftest import accessible, fits
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser


def make_reminder(page: Page, site: Installation, title: str, tags: str) -> None:
    page.goto(f"{site.url}/reminders/new/")
    page.get_by_label("Title").fill(title)
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Tags").fill(tags)
    page.get_by_role("button", name="Create reminder").click()
    expect(page.get_by_role("status")).to_contain_text(f"“{title}” is created.")


def test_many_at_once(page: Page, site: Installation) -> None:
    sign_up(page, site, "many@example.org")
    make_reminder(page, site, "Plants", "Home")
    make_reminder(page, site, "Rent", "home, money")
    page.goto(f"{site.url}/reminders/")
    pause = page.get_by_role("form", name="Chosen reminders").get_by_role("button", name="Pause")
    expect(pause).to_be_hidden()
    page.get_by_label("Choose Rent").check()
    expect(page.get_by_text("Chosen: 1")).to_be_visible()
    accessible(page)
    page.get_by_label("Select all on this page").check()
    expect(page.get_by_text("Chosen: 2")).to_be_visible()
    pause.click()
    expect(page.get_by_role("status")).to_contain_text("2 reminders are paused.")
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("Undone for 2 reminders.")

    page.get_by_label("Choose Plants").check()
    page.get_by_label("Tag", exact=True).last.fill("garden")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("1 reminder has the tag “garden” now.")
    page.get_by_role("main").get_by_role("link", name="garden").click()
    expect(page.get_by_role("heading", name="Rent")).to_have_count(0)
    page.get_by_role("link", name="Plants", exact=True).click()
    page.get_by_role("button", name="Duplicate").click()
    expect(page.get_by_label("Title")).to_have_value("Plants (copy)")
    page.goto(f"{site.url}/reminders/")
    page.get_by_label("Order", exact=True).select_option("Name")  # submits
    titles = page.locator("#reminders h3")
    expect(titles).to_have_text(["Plants", "Plants (copy)", "Rent"])
    expect(page.locator("#reminders .row").nth(1)).to_contain_text("paused")
    page.get_by_label("Choose Plants (copy)").check()
    page.get_by_role("form", name="Chosen reminders").get_by_role("button", name="Archive").click()
    expect(titles).to_have_text(["Plants", "Rent"])
    page.get_by_label("State", exact=True).select_option("Archived")
    expect(titles).to_have_text(["Plants (copy)"])
    page.get_by_label("Choose Plants (copy)").check()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status")).to_contain_text("1 reminder is deleted.")
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(titles).to_have_text(["Plants (copy)"])

    first = datetime.now(ZoneInfo("Europe/Berlin")).date()
    last = first + timedelta(days=14)
    page.goto(f"{site.url}/holidays/")
    page.get_by_label("Nothing from").fill(first.isoformat())
    page.get_by_label("To and including").fill(last.isoformat())
    page.get_by_label("Only reminders with these tags").fill("garden")
    page.get_by_role("button", name="Save the holiday").click()
    expect(page.get_by_text("on now")).to_be_visible()
    accessible(page)
    page.goto(f"{site.url}/reminders/?q=plants")
    expect(page.get_by_text("Nothing is sent: holiday from")).to_be_visible()
    fits(page)


def test_a_long_title_keeps_its_warning_beside_it_and_has_the_line_for_itself(page: Page, site: Installation) -> None:
    title = "Renew the passport before the trip to Argentina and check the visa requirements"
    sign_up(page, site, "long@example.org")
    page.goto(f"{site.url}/reminders/")
    page.get_by_label("Quick add").get_by_role("textbox").fill(f"{title} every day 9:00")
    page.keyboard.press("Enter")
    shown = page.locator("#reminders h3")
    expect(shown).to_have_text(title)
    # The channels that a person with many has.
    more = "icons => icons.append(...[1, 2, 3].map(() => icons.firstElementChild.cloneNode(true)))"
    page.locator(".row-channels").evaluate(more)
    shown.evaluate("title => title.insertAdjacentHTML('beforebegin', '<span class=\\'dot nobody\\'></span>')")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        dot, beside = page.locator(".dot").bounding_box(), shown.bounding_box()
        assert dot and beside and beside["y"] < dot["y"] < beside["y"] + 16 and dot["x"] < beside["x"]
    page.keyboard.press("Control+k")
    page.keyboard.type("passport")
    kind = page.get_by_role("dialog").locator("li .help")
    lines = "one => { const text = new Range(); text.selectNode(one.firstChild); return text.getClientRects().length; }"
    assert kind.evaluate(lines) == 1
    tomorrow = datetime.now(ZoneInfo("Europe/Berlin")).date() + timedelta(days=1)
    page.goto(f"{site.url}/reminders/day/?date={tomorrow}")
    page.set_viewport_size({"width": 360, "height": 800})
    entry = page.locator(".entry-main").bounding_box()
    assert entry and entry["width"] > 200
    on_call = "<p class='on-call'>On call nobody, 22:00 Bea Brandt</p>"
    page.locator(".day-head").evaluate("(head, shown) => head.insertAdjacentHTML('beforeend', shown)", on_call)
    day, add = page.locator(".day-head h3").bounding_box(), page.locator(".day-head .add").bounding_box()
    assert day and add and add["y"] < day["y"] + day["height"]


def test_twelve_reminders_stand_on_the_first_screen(page: Page, site: Installation) -> None:
    sign_up(page, site, "twelve@example.org")
    page.goto(f"{site.url}/reminders/")
    line, rows = page.get_by_label("Quick add").get_by_role("textbox"), page.locator("#reminders .row")
    for number in range(14):
        line.fill(f"water the plants every day 9:{number + 10}")
        line.press("Enter")
        expect(rows).to_have_count(number + 1)
    page.goto(f"{site.url}/reminders/")
    accessible(page)
    # No day of the week is wider, and tomorrow may be any of them.
    page.locator("#reminders .row-next time").evaluate_all(
        "days => { for (const day of days) day.textContent = 'Wed 30 Nov, 09:10'; }"
    )
    for width, highest in ((360, 84), (1280, 36)):
        page.set_viewport_size({"width": width, "height": 800})
        assert max(rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)")) <= highest
    last = rows.nth(11).bounding_box()
    assert last and last["y"] + last["height"] <= 800
